"""Days of persons: at home, at work, and in shops where they pay, with the ways between.

A person is in a shop because they pay there: payments are drawn first (`sim.plan.town`), and a
person comes to the shop before each and leaves after. Work takes what is left of working hours, and
home the rest. Nobody is in two places: a person who pays again before they could have come to
another shop pays in the same one. What a person does hangs on their own draws alone, so another
phone moves nobody's day, but for where shops and workplaces are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.streams import Floats, Streams, pick_bucket
from pocketsim.sim.plan.churn import lengths
from pocketsim.sim.plan.population import ROLES, Indices, by_share
from pocketsim.sim.plan.stays import KINDS, Places, Stays

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pocketsim.sim.plan.population import Population
    from pocketsim.sim.plan.town import Payments
    from pocketsim.sim.scenario import resolved as given

    Way = Callable[[int, int], float]
    """Seconds from a place to another, by their numbers."""


class Stay(NamedTuple):
    """A stay at a place, by its number, that somebody has or wants to have."""

    place: int
    begin_s: float
    end_s: float


class Errand(NamedTuple):
    """A payment in a shop: when, how long before they come, the shop, and the payment's row."""

    paid_s: float
    before_s: float
    place: int
    row: int


@dataclass(frozen=True)
class Addresses:
    """Places, and those of each phone by number: -1 of who has none."""

    places: Places
    home: Indices
    work: Indices
    shop: Indices

    def access_points(
        self, people: Population, work_access: Indices, outside: int
    ) -> Callable[[Indices, Indices], Indices]:
        """Return what tells the place of a phone's access point on a network; -1: of no place.

        `work_access` is the network of each phone at work, `outside` the one of those on the way.
        """

        def place(phone: Indices, access: Indices) -> Indices:
            found = np.where(access == work_access[phone], self.work[phone], -1)
            found = np.where(access == people.access[phone], self.home[phone], found)
            return np.where(access == outside, -1, found)

        return place


@dataclass(frozen=True)
class Lived:
    """What the days of a repetition come to.

    `payee` is whom each payment goes to, as the payer's day allows.
    """

    addresses: Addresses
    stays: Stays
    payee: Indices


def lived(
    law: given.Days, streams: Streams, people: Population, paid: Payments, duration_s: float
) -> Lived:
    """Return the days of all persons, with the visits that their payments to shops cause."""
    addresses = _addresses(law, streams, people)
    way = _way(addresses.places, law["speed_m_per_s"])
    errands = _errands(law, streams, people, paid, addresses.shop)
    hours = _working_hours(law, streams, people.lane, addresses.work >= 0, duration_s)
    payee, keeper = paid.to_phone.copy(), np.flatnonzero(addresses.shop >= 0)
    first_shop = addresses.places.kind.size - keeper.size
    found: list[tuple[int, Stay]] = []
    homes, works, shops = (
        column.tolist() for column in (addresses.home, addresses.work, addresses.shop)
    )
    for phone, home in enumerate(homes):
        if home >= 0:
            visits, rows = visited(errands.get(phone, []), way)
            for row, place in rows:
                payee[row] = keeper[place - first_shop]
            working = at_work(works[phone], hours.get(phone, []), visits, way)
            wanted = sorted(visits + working, key=lambda stay: stay.begin_s)
            found += [(phone, stay) for stay in day(wanted, home, way, duration_s)]
        elif shops[phone] >= 0:
            found.append((phone, Stay(shops[phone], 0.0, duration_s)))
    return Lived(addresses, _columns(found, addresses.places), payee)


def visited(errands: Sequence[Errand], way: Way) -> tuple[list[Stay], list[tuple[int, int]]]:
    """Return the visits of a person's errands, and rows of payments with the shop each is in.

    Errands are in order of time. Who cannot come to another shop in time stays, and pays there.
    """
    visits: list[Stay] = []
    rows = []
    for errand in errands:
        come_s = max(errand.paid_s - errand.before_s, 0.0)
        end_s = errand.paid_s + AFTER_PAYING_S
        if visits:
            last = visits[-1]
            earliest_s = last.end_s + way(last.place, errand.place)
            if earliest_s > errand.paid_s:
                visits[-1] = last._replace(end_s=max(last.end_s, end_s))
                rows.append((errand.row, last.place))
                continue
            come_s = max(come_s, earliest_s)
        visits.append(Stay(errand.place, come_s, end_s))
        rows.append((errand.row, errand.place))
    return visits, rows


def at_work(
    place: int, hours: Sequence[tuple[float, float]], visits: Sequence[Stay], way: Way
) -> list[Stay]:
    """Return what a person's visits of shops leave of the working hours, without what is short."""
    found = []
    for begin_s, end_s in hours:
        since_s = begin_s
        for visit in visits:
            leaves_s = visit.begin_s - way(place, visit.place)
            back_s = visit.end_s + way(visit.place, place)
            if back_s <= since_s or leaves_s >= end_s:
                continue
            if leaves_s - since_s >= WORTH_GOING_S:
                found.append(Stay(place, since_s, leaves_s))
            since_s = back_s
        if end_s - since_s >= WORTH_GOING_S:
            found.append(Stay(place, since_s, end_s))
    return found


def day(wanted: Sequence[Stay], home: int, way: Way, duration_s: float) -> list[Stay]:
    """Return the stays of a person who wants these, in their order, and is else at home.

    Between two of them the person goes home where that is worth it, else stays until it is time to
    go. The last stay is at home, and may begin after the run's end.
    """
    stays = [Stay(home, 0.0, 0.0)]
    for stay in wanted:
        last = stays[-1]
        home_s = last.end_s + way(last.place, home)
        off_s = stay.begin_s - way(home, stay.place)
        if last.place != home and off_s - home_s >= WORTH_GOING_S:
            stays.append(Stay(home, home_s, off_s))
        elif last.place == stay.place:
            stays[-1] = last._replace(end_s=max(last.end_s, stay.end_s))
            continue
        else:
            leaves_s = stay.begin_s - way(last.place, stay.place)
            stays[-1] = last._replace(end_s=max(last.end_s, leaves_s))
        stays.append(stay)
    if len(stays) > 1 and stays[0].end_s <= 0:  # to be there in time one leaves before the run
        stays[:2] = [stays[1]._replace(begin_s=0.0)]
    last = stays[-1]
    if last.place == home:
        return [*stays[:-1], last._replace(end_s=max(last.end_s, duration_s))]
    home_s = last.end_s + way(last.place, home)
    return [*stays, Stay(home, home_s, max(home_s, duration_s))]


def moves(
    law: given.Days, streams: Streams, people: Population, made: Lived, networks: Sequence[str]
) -> tuple[Floats, Indices, Indices]:
    """Return when persons leave for which access network: times, phones, numbers of networks.

    On the way and in shops they are on the one outside. `networks` are names in order.
    """
    outside = networks.index(law["outside"])
    there = work_access(law, streams, people, networks)
    stays = made.stays
    mine = made.addresses.home[stays.phone] >= 0
    phone, kind = stays.phone[mine], made.addresses.places.kind[stays.place[mine]]
    by_kind = [people.access[phone], there[phone], np.full(phone.size, outside)]
    access: Indices = np.choose(kind, by_kind)
    time_s = np.concatenate([stays.begin_s[mine], stays.end_s[mine]])
    return time_s, np.tile(phone, 2), np.concatenate([access, np.full(phone.size, outside)])


def work_access(
    law: given.Days, streams: Streams, people: Population, networks: Sequence[str]
) -> Indices:
    """Return the number of the access network that each phone uses at work."""
    if law["work"] is None:
        return np.zeros(people.lane.size, dtype=np.int64)
    shares = sorted(law["work"]["access"].items())
    numbers = np.array([networks.index(name) for name, _ in shares])
    chance = streams.of("access at work").uniform(people.lane, 0)
    found: Indices = numbers[by_share([share for _, share in shares], chance)]
    return found


def _columns(found: Sequence[tuple[int, Stay]], places: Places) -> Stays:
    return Stays(
        np.array([phone for phone, _ in found], dtype=np.int64),
        np.array([stay.place for _, stay in found], dtype=np.int64),
        np.array([stay.begin_s for _, stay in found], dtype=np.float64),
        np.array([stay.end_s for _, stay in found], dtype=np.float64),
        places,
    )


def _addresses(law: given.Days, streams: Streams, people: Population) -> Addresses:
    """Draw where places are and who has which: homes, workplaces and shops, in this order.

    Homes are anywhere in the rectangle; workplaces and shops are more often in its middle, at the
    mean of two uniform places, which is assumed.
    """
    persons = np.flatnonzero(people.role == ROLES.index("person"))
    keepers = np.flatnonzero(people.role == ROLES.index("shop"))
    inside = (people.lane[persons] & _IN_GROUP).astype(np.int64)
    place_in_group = np.floor(inside / law["household"]).astype(np.int64)
    key = people.group[persons] * (inside.max(initial=0) + 1) + place_in_group
    _, first, at = np.unique(key, return_index=True, return_inverse=True)
    workplaces = 0 if law["work"] is None else law["work"]["places"]
    home, work, shop = (np.full(people.lane.size, -1, dtype=np.int64) for _ in range(3))
    home[persons] = at
    if law["work"] is not None:
        has = streams.of("workers").uniform(people.lane[persons], 0) < law["work"]["share"]
        chosen = pick_bucket(streams.of("workplaces").bits(people.lane[persons], 0), workplaces)
        work[persons[has]] = first.size + chosen[has]
    shop[keepers] = first.size + workplaces + np.arange(keepers.size)
    homes = streams.of("places of homes"), people.lane[persons[first]]
    central = (
        (streams.of("places of work"), np.arange(workplaces, dtype=np.uint64)),
        (streams.of("places of shops"), people.lane[keepers]),
    )
    columns = []
    for axis, side_m in enumerate((law["width_m"], law["height_m"])):
        anywhere = homes[0].uniform(homes[1], axis)
        middle = [
            (lanes.uniform(lane, axis) + lanes.uniform(lane, axis + 2)) / 2
            for lanes, lane in central
        ]
        columns.append(side_m * np.concatenate([anywhere, *middle]))
    kind = np.repeat(np.arange(len(KINDS)), [first.size, workplaces, keepers.size])
    return Addresses(Places(kind, *columns), home, work, shop)


def _way(places: Places, speed_m_per_s: float) -> Way:
    x_m, y_m = places.x_m.tolist(), places.y_m.tolist()

    def seconds(start: int, end: int) -> float:
        return math.hypot(x_m[end] - x_m[start], y_m[end] - y_m[start]) / speed_m_per_s

    return seconds


def _errands(
    law: given.Days, streams: Streams, people: Population, paid: Payments, shop: Indices
) -> dict[int, list[Errand]]:
    """Return the payments in shops of each payer, in order of time."""
    rows = np.flatnonzero(shop[paid.to_phone] >= 0)
    payer = paid.from_phone[rows]
    chance = streams.of("visits").uniform(people.lane[payer], paid.number[rows])
    before_s = lengths(law["before_paying"]).quantile(chance)
    found: dict[int, list[Errand]] = {}
    columns = (payer, paid.time_s[rows], before_s, shop[paid.to_phone[rows]], rows)
    for phone, *errand in zip(*(column.tolist() for column in columns), strict=True):
        found.setdefault(phone, []).append(Errand(*errand))
    return found


def _working_hours(
    law: given.Days,
    streams: Streams,
    lane: npt.NDArray[np.uint64],
    has_work: npt.NDArray[np.bool_],
    duration_s: float,
) -> dict[int, list[tuple[float, float]]]:
    """Return begin and end of the working hours of each person on each day that they go, in order.

    A person has hours of their own, and is ten minutes early or late by chance each day, which is
    assumed.
    """
    work = law["work"]
    if work is None:
        return {}
    from scipy import special

    habits, days = streams.of("working hours"), streams.of("working days")
    begins_s = work["begins_s"] + work["begins_sd_s"] * special.ndtri(habits.uniform(lane, 0))
    stay_s = work["stay_s"] + work["stay_sd_s"] * special.ndtri(habits.uniform(lane, 1))
    found: dict[int, list[tuple[float, float]]] = {}
    for number in range(math.ceil(duration_s / _DAY_S)):
        if (_WEEK.index(law["first_day"]) + number) % len(_WEEK) >= _WORKING_DAYS:
            continue
        goes = days.uniform(lane, 2 * number) < work["attendance"]
        late_s = _LATE_S * special.ndtri(days.uniform(lane, 2 * number + 1))
        begin_s = number * _DAY_S + np.clip(begins_s + late_s, 0, _DAY_S - WORTH_GOING_S)
        end_s = np.clip(begin_s + stay_s, begin_s + WORTH_GOING_S, (number + 1) * _DAY_S)
        for phone in np.flatnonzero(goes & has_work).tolist():
            found.setdefault(phone, []).append((float(begin_s[phone]), float(end_s[phone])))
    return found


AFTER_PAYING_S = 60.0
"""How long a person stays in a shop after paying; assumed."""
WORTH_GOING_S = 900.0
"""People go home or to work for no shorter stay; assumed."""
_LATE_S = 600.0
_DAY_S = 86_400.0
_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WORKING_DAYS = 5
_IN_GROUP = np.uint64(2**32 - 1)
