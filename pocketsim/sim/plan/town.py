"""A town that pays with tokens: who pays whom how much, when, and who is near whom for it.

Every draw has a stream of its own per person, so a phone added leaves what the others do as it
was, but for payments that come to it. What tokens are and how they are paid does not live here:
that is the engine's protocol.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.streams import Floats, Streams, pick_bucket
from pocketsim.sim.plan import near, plan
from pocketsim.sim.plan.arrivals import HoursClock
from pocketsim.sim.plan.churn import Lognormal
from pocketsim.sim.plan.population import ROLES, Indices, Population, by_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.scenario import resolved as given


@dataclass(frozen=True)
class Payments:
    """Payments as columns of one length, sorted by time.

    `number` counts the points of the payer's Poisson process, or its rows of a file; with the payer
    it keys the draws of what belongs to the payment.
    """

    time_s: Floats
    from_phone: Indices
    to_phone: Indices
    number: Indices
    amount_cents: Indices
    conduct: Indices


def nobody_meets() -> plan.Proximity:
    """Return no contacts."""
    return {
        "links": [],
        "time_s": plan.floats([]),
        "duration_s": plan.floats([]),
        "phone_a": plan.numbers([]),
        "phone_b": plan.numbers([]),
        "link": plan.numbers([]),
    }


def nobody_pays() -> Payments:
    """Return no payments."""
    none = np.zeros(0, dtype=np.int64)
    return Payments(np.zeros(0), none, none, none, none, none)


def payments(
    workload: given.Town, streams: Streams, people: Population, duration_s: float
) -> Payments:
    """Return what persons would pay before `duration_s`, by the rate of each, on or off."""
    persons = np.flatnonzero(people.role == ROLES.index("person"))
    time_s, person, number = _times(workload, streams, people, persons, duration_s)
    order = np.lexsort((person, time_s))
    time_s, person, number = time_s[order], person[order], number[order]
    payee = _payees(workload, streams, people, person, number)
    payer = persons[person]
    lane = people.lane[payer]
    return Payments(
        time_s,
        payer,
        payee,
        number,
        _amounts(workload, streams, lane, number),
        conducts(workload, streams, lane, number),
    )


def conducts(
    workload: given.Town | given.WorkloadTrace,
    streams: Streams,
    lane: npt.NDArray[np.uint64],
    number: Indices,
) -> Indices:
    """Return how payers behave, as numbers of the engine's `Conduct::ALL`."""
    cheats = streams.of("cheats").uniform(lane, 0) < workload["cheat_ratio"]
    chance = streams.of("conducts").uniform(lane, number)
    double_spends = chance < workload["double_spend_ratio"]
    replays = ~double_spends & (chance < workload["double_spend_ratio"] + workload["replay_ratio"])
    conduct: Indices = np.where(cheats, 1 * double_spends + 2 * replays, 0)
    return conduct


def columns(paid: Payments) -> plan.Workload:
    """Return payments as the plan's workload."""
    return {
        "time_s": plan.floats(paid.time_s),
        "from_phone": plan.numbers(paid.from_phone),
        "to_phone": plan.numbers(paid.to_phone),
        "payload_bytes": plan.numbers(np.zeros_like(paid.from_phone)),
        "amount_cents": plan.numbers(paid.amount_cents),
        "conduct": plan.numbers(paid.conduct),
        "loops": [],
    }


def contacts(
    law: given.Contacts, streams: Streams, people: Population, paid: Payments
) -> plan.Proximity:
    """Return the contact of each payment: it opens `lead_s` before the payment is asked for."""
    lane = people.lane[paid.from_phone]
    link = kinds_of_link(law["links"], streams.of("contact links").uniform(lane, paid.number))
    share = streams.of("contact durations").uniform(lane, paid.number)
    time_s = np.maximum(paid.time_s - law["lead_s"], 0.0)
    duration_s = power_law_quantile(law["duration"], share)
    # Payments are in order of time, and so are moments that lie a constant before them.
    return {
        "links": link_columns(law["links"]),
        "time_s": plan.floats(time_s),
        "duration_s": plan.floats(duration_s),
        "phone_a": plan.numbers(paid.from_phone),
        "phone_b": plan.numbers(paid.to_phone),
        "link": plan.numbers(link),
    }


def kinds_of_link(links: Mapping[str, given.ContactLink], chance: Floats) -> Indices:
    """Return the number of the kind of link, by share, for each number between 0 and 1."""
    return by_share([links[name]["share"] for name in sorted(links)], chance)


def link_columns(links: Mapping[str, given.ContactLink]) -> list[plan.ProximityLink]:
    """Return the kinds of link in order of their names, in which they are numbered."""
    return [_link(links[name]) for name in sorted(links)]


def power_law_quantile(law: given.PowerLaw, share: Floats) -> Floats:
    """Return the inverse of the distribution function of a density x^-alpha, in seconds.

    It is that from `shortest_s` to `longest_s` and nothing elsewhere.
    """
    power = 1 - law["alpha"]
    first, last = law["shortest_s"] ** power, law["longest_s"] ** power
    quantile: Floats = (first + share * (last - first)) ** (1 / power)
    return quantile


def _link(link: given.ContactLink) -> plan.ProximityLink:
    return {
        "rate_bytes_per_s": link["rate_bytes_per_s"],
        "latency_s": link["latency_s"],
        "setup_s": link["setup_s"],
        "loss_ratio": link["loss_ratio"],
        "shares_air": link.get("shares_air", False),
    }


def _times(
    workload: given.Town,
    streams: Streams,
    people: Population,
    persons: Indices,
    duration_s: float,
) -> tuple[Floats, Indices, Indices]:
    """Return a Poisson process for each of `persons`, whose rate follows the hours of the day."""
    clock = HoursClock.of_run(workload["hours"], workload["start_s"], duration_s)
    rate_per_s = people.rate_per_s(workload["payments_per_s"])[persons]
    return clock.times(rate_per_s, streams.of("payments"), people.lane[persons])


def _payees(
    workload: given.Town,
    streams: Streams,
    people: Population,
    person: Indices,
    number: Indices,
) -> Indices:
    """Return whom each payment goes to: one of the payer's shops or acquaintances.

    Both sets are drawn once per person, with replacement: who is drawn twice is met twice as
    often. `person` counts persons only.
    """
    persons, shops = (
        np.flatnonzero(people.role == ROLES.index(role)) for role in ("person", "shop")
    )
    lane = people.lane[persons[person]]
    to_shop = streams.of("payee kinds").uniform(lane, number) < workload["to_shop_ratio"]
    chance = streams.of("payee choices").uniform(lane, number)
    payee = np.zeros(person.size, dtype=np.int64)
    visited = _member(streams, "shops", lane[to_shop], chance[to_shop] * workload["shops_visited"])
    payee[to_shop] = shops[pick_bucket(visited, shops.size)] if visited.size else visited
    met = _member(
        streams, "acquaintances", lane[~to_shop], chance[~to_shop] * workload["acquaintances"]
    )
    if met.size:
        other = pick_bucket(met, persons.size - 1)
        payee[~to_shop] = persons[other + (other >= person[~to_shop])]
    return payee


def to_who_is_near(
    proximity: plan.Proximity, streams: Streams, people: Population, paid: Payments
) -> Payments:
    """Return payments of which those to persons go to somebody near, or are not made."""
    is_person = people.role == ROLES.index("person")
    between = np.flatnonzero(is_person[paid.to_phone])
    payer, time_s = paid.from_phone[between], paid.time_s[between]
    bits = streams.of("near payees").bits(people.lane[payer], paid.number[between])
    payee = paid.to_phone.copy()
    payee[between] = near.chosen(proximity, payer, time_s, bits, is_person)
    columns = {**vars(paid), "to_phone": payee}
    return Payments(**{name: column[payee >= 0] for name, column in columns.items()})


def _member(
    streams: Streams, what: str, lane: npt.NDArray[np.uint64], place: Floats
) -> npt.NDArray[np.uint64]:
    """Return the bits that say who stands in a place of a person's set."""
    return streams.of(what).bits(lane, place.astype(np.uint64))


def _amounts(
    workload: given.Town,
    streams: Streams,
    lane: npt.NDArray[np.uint64],
    number: Indices,
) -> Indices:
    """Return amounts in cents: lognormal up to the largest, rounded, at least one step."""
    amount = workload["amount"]
    median = amount["mean_cents"] * math.exp(-(amount["sigma"] ** 2) / 2)
    law = Lognormal(median, amount["sigma"], amount["largest_cents"])
    exact = law.quantile(streams.of("amounts").uniform(lane, number))
    step = amount["rounding_cents"]
    rounded: Indices = np.maximum(np.rint(exact / step), 1).astype(np.int64) * step
    within: Indices = np.minimum(rounded, amount["largest_cents"] // step * step)
    return within
