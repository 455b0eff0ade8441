"""A town that pays with tokens: who pays whom how much, when, and who is near whom for it.

Every draw has a stream of its own per person, so a phone added leaves what the others do as it
was, but for payments that come to it. What tokens are and how they are paid does not live here:
that is the engine's protocol.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sim.base.streams import Floats, Streams, pick_bucket
from sim.plan.arrivals import poisson_times
from sim.plan.churn import Lognormal, Transitions, is_on
from sim.plan.population import ROLES, Indices, Population

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Payments:
    """Payments as columns of one length, sorted by time.

    `number` counts the points of the payer's Poisson process; with the payer it keys the draws
    of what belongs to the payment.
    """

    time_s: Floats
    from_phone: Indices
    to_phone: Indices
    number: Indices
    amount_cents: Indices
    conduct: Indices


def payments(
    workload: Mapping[str, Any],
    streams: Streams,
    people: Population,
    changes: Transitions,
    duration_s: float,
) -> Payments:
    """Return what persons pay before `duration_s` while their phone is on."""
    persons = np.flatnonzero(people.role == ROLES.index("person"))
    time_s, person, number = _times(workload, streams, people.lane[persons], duration_s)
    happens = is_on(changes, persons[person], time_s)
    time_s, person, number = time_s[happens], person[happens], number[happens]
    order = np.lexsort((person, time_s))
    time_s, person, number = time_s[order], person[order], number[order]
    payer = persons[person]
    lane = people.lane[payer]
    return Payments(
        time_s,
        payer,
        _payees(workload, streams, people, person, number),
        number,
        _amounts(workload, streams, lane, number),
        _conducts(workload, streams, lane, number),
    )


def payment_columns(paid: Payments) -> dict[str, list[Any]]:
    """Return the arrivals of the plan's workload."""
    return {
        "time_s": paid.time_s.tolist(),
        "from_phone": paid.from_phone.tolist(),
        "to_phone": paid.to_phone.tolist(),
        "payload_bytes": [0] * paid.time_s.size,
        "amount_cents": paid.amount_cents.tolist(),
        "conduct": paid.conduct.tolist(),
    }


def contacts(
    law: Mapping[str, Any], streams: Streams, people: Population, paid: Payments
) -> dict[str, list[Any]]:
    """Return the contact of each payment: it opens `lead_s` before the payment is asked for."""
    lane = people.lane[paid.from_phone]
    names = sorted(law["links"])
    edges = np.cumsum([law["links"][name]["share"] for name in names])[:-1]
    chance = streams.of("contact links").uniform(lane, paid.number)
    link = np.searchsorted(edges, chance, side="right")
    share = streams.of("contact durations").uniform(lane, paid.number)
    time_s = np.maximum(paid.time_s - law["lead_s"], 0.0)
    duration_s = power_law_quantile(law["duration"], share)
    columns = ("bytes_per_s", "latency_s", "setup_s", "loss_ratio")
    # Payments are in order of time, and so are moments that lie a constant before them.
    return {
        "links": [{key: law["links"][name][key] for key in columns} for name in names],
        "time_s": time_s.tolist(),
        "duration_s": duration_s.tolist(),
        "phone_a": paid.from_phone.tolist(),
        "phone_b": paid.to_phone.tolist(),
        "link": link.tolist(),
    }


def power_law_quantile(law: Mapping[str, float], share: Floats) -> Floats:
    """Return the inverse of the distribution function of a density x^-alpha, in seconds.

    It is that from `shortest_s` to `longest_s` and nothing elsewhere.
    """
    power = 1 - law["alpha"]
    first, last = law["shortest_s"] ** power, law["longest_s"] ** power
    quantile: Floats = (first + share * (last - first)) ** (1 / power)
    return quantile


def _times(
    workload: Mapping[str, Any], streams: Streams, lane: npt.NDArray[np.uint64], duration_s: float
) -> tuple[Floats, Indices, Indices]:
    """Return a Poisson process per person whose rate follows the hours of the day.

    A process of constant rate runs on a clock that goes as fast as people pay, by the integral
    of the hours' weights; turning that clock's times back into seconds keeps draws and order.
    """
    clock_s, second_s = _paying_clock(workload["hours"], workload["start_s"], duration_s)
    between = (0.0, float(clock_s[-1]))
    paying_s, person, number = poisson_times(
        workload["rate_per_s"], between, streams.of("payments"), lane
    )
    return np.interp(paying_s, clock_s, second_s), person, number


def _paying_clock(hours: list[float], start_s: float, duration_s: float) -> tuple[Floats, Floats]:
    """Return the knots of the clock, and the seconds of the run that they stand for."""
    whole = np.arange(math.ceil(duration_s / _HOUR_S)) * _HOUR_S
    second_s = np.concatenate(([start_s], whole[whole > start_s], [duration_s]))
    weight = np.array(hours)[(second_s[:-1] // _HOUR_S).astype(np.int64) % len(hours)]
    clock_s = np.concatenate(([0.0], np.cumsum(weight * np.diff(second_s))))
    return clock_s, second_s


def _payees(
    workload: Mapping[str, Any],
    streams: Streams,
    people: Population,
    person: Indices,
    number: Indices,
) -> Indices:
    """Return whom each payment goes to: one of the payer's shops or of his acquaintances.

    Both sets are drawn once per person, with replacement: who is drawn twice is met twice as
    often. `person` counts persons only.
    """
    persons, shops = (np.flatnonzero(people.role == ROLES.index(of)) for of in ("person", "shop"))
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


def _member(
    streams: Streams, of: str, lane: npt.NDArray[np.uint64], place: Floats
) -> npt.NDArray[np.uint64]:
    """Return the bits that say who stands in a place of a person's set."""
    return streams.of(of).bits(lane, place.astype(np.uint64))


def _amounts(
    workload: Mapping[str, Any],
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


def _conducts(
    workload: Mapping[str, Any],
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


_HOUR_S = 3600.0
