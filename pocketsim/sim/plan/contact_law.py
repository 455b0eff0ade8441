"""Contacts drawn from a law: people who share a place, and meet some of the others on some days.

Whether two meet on a day is a threshold on a normal score, the sum of what each of them, the pair
and the day bring. Two who meet have a number of contacts, with gaps between; who has more has
shorter gaps. Nothing begins once one of them has left, but for their first contact.

Every draw is of a pair or of a person, and of a day. Places are filled in the order of phones, so a
phone added last moves no other pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.plan import plan
from pocketsim.sim.plan.population import ROLES
from pocketsim.sim.plan.quantile_law import PiecewiseLognormal
from pocketsim.sim.plan.town import kinds_of_link, link_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pocketsim.sim.base.streams import Floats, Integers, Streams
    from pocketsim.sim.plan.population import Indices, Population
    from pocketsim.sim.scenario import resolved as given


@dataclass(frozen=True)
class Met:
    """Contacts as columns of one length, those of a pair and day after each other.

    `one` and `other` count people from 0, `one` < `other`; times are since the midnight before a
    Monday; `pair_day` are the bits that key the draws of a pair on a day, `number` counts its
    contacts from 0.
    """

    one: Indices
    other: Indices
    begin_s: Floats
    end_s: Floats
    pair_day: Integers
    number: Indices


def drawn(
    near: given.ContactsLaw, streams: Streams, people: Population, duration_s: float
) -> plan.Proximity:
    """Return the contacts of all phones but the tokens' authority, with their kinds of link."""
    phones = np.flatnonzero(people.role != ROLES.index("authority"))
    origin_s = near["origin_s"]
    met = meetings(near["law"], streams, people.lane[phones], (origin_s, origin_s + duration_s))
    time_s = np.maximum(met.begin_s - origin_s, 0.0)
    until_s = met.end_s - origin_s
    one, other = phones[met.one], phones[met.other]
    link = kinds_of_link(
        near["links"], streams.of("contact links").uniform(met.pair_day, met.number)
    )
    in_run = np.flatnonzero((until_s > 0) & (time_s < duration_s))
    order = in_run[np.lexsort((other[in_run], one[in_run], time_s[in_run]))]
    return {
        "links": link_columns(near["links"]),
        "time_s": plan.floats(time_s[order]),
        "duration_s": plan.floats((until_s - time_s)[order]),
        "phone_a": plan.numbers(one[order]),
        "phone_b": plan.numbers(other[order]),
        "link": plan.numbers(link[order]),
    }


def meetings(
    law: given.ContactLaw, streams: Streams, lane: Integers, between_s: tuple[float, float]
) -> Met:
    """Return the contacts of people with these lanes, on every day that is partly `between_s`.

    Times are since the midnight before a Monday.
    """
    begin_s, end_s = between_s
    days = range(math.floor(begin_s / _DAY_S), math.ceil(end_s / _DAY_S))
    places = range(0, lane.size, law["people"])
    found = [
        met
        for first in places
        for met in _of_place(
            law, streams, lane, (first, min(first + law["people"], lane.size)), days
        )
    ]
    none = np.empty(0, np.int64)
    empty = Met(none, none, np.empty(0), np.empty(0), np.empty(0, np.uint64), none)
    columns = ("one", "other", "begin_s", "end_s", "pair_day", "number")
    return Met(
        *(np.concatenate([getattr(met, name) for met in (empty, *found)]) for name in columns)
    )


def _of_place(
    law: given.ContactLaw,
    streams: Streams,
    lane: Integers,
    members: tuple[int, int],
    days: range,
) -> Iterator[Met]:
    """Yield what those from a first to before a last meet, day by day."""
    from scipy import special

    first, last = members
    one, other = (first + part for part in np.triu_indices(last - first, 1))
    pair = streams.of("contact pairs").bits(lane[one], lane[other])
    meets = law["meets"]
    of_person, of_pair = meets["same_person_correlation"], meets["same_pair_correlation"]
    person = special.ndtri(streams.of("contact people").uniform(lane[first:last], 0))
    known = math.sqrt(of_person) * (person[one - first] + person[other - first])
    own = special.ndtri(streams.of("contact ties").uniform(pair, 0))
    known += math.sqrt(of_pair - 2 * of_person) * own
    least = special.ndtri(1 - meets["probability"])
    needs: Floats = special.ndtr((least - known) / math.sqrt(1 - of_pair))
    for day in days:
        of_day = streams.of("contact presence").uniform(lane[first:last], day)
        there = of_day < law["there"][day % 7]
        chance = streams.of("contact days").uniform(pair, day)
        meet = np.flatnonzero((chance > needs) & there[one - first] & there[other - first])
        if meet.size:
            pair_day = streams.of("contact pair days").bits(pair[meet], day)
            yield _on_day(law, streams, (one[meet], other[meet]), pair_day, day)


def _on_day(
    law: given.ContactLaw,
    streams: Streams,
    who: tuple[Indices, Indices],
    pair_day: Integers,
    day: int,
) -> Met:
    """Return the contacts of pairs that meet on a day."""
    share = streams.of("contact numbers").uniform(pair_day, 0)
    contacts = _whole(PiecewiseLognormal.of_table(law["contacts"]).quantile(share))
    row = np.repeat(np.arange(pair_day.size), contacts)
    starts = np.cumsum(contacts) - contacts
    number = np.arange(row.size) - starts[row]
    gap, lasting = _lengths(law, streams, (pair_day[row], number), share[row])
    # What a pair has taken before a contact is its sum without those of the pairs before it; in
    # whole steps, which no sum rounds.
    before = np.cumsum(gap + lasting) - gap - lasting
    before -= before[starts][row]
    step_s = law["resolution_s"]
    leaves = streams.of("contact leaves").uniform(pair_day, 0)
    leaves_s = PiecewiseLognormal.of_table(law["leaves_s"]).quantile(leaves)
    spare_s = leaves_s - step_s * before[starts + contacts - 1]
    first = _first(law, streams.of("contact firsts").uniform(pair_day, 0), spare_s)
    begin = first[row] + before
    kept = (number == 0) | (step_s * begin < leaves_s[row])
    row, number, begin, lasting = row[kept], number[kept], begin[kept], lasting[kept]
    one, other = who
    begin_s, end_s = (day * _DAY_S + step_s * steps for steps in (begin, begin + lasting))
    end_s = np.minimum(end_s, (day + 1) * _DAY_S)
    return Met(one[row], other[row], begin_s, end_s, pair_day[row], number)


def _lengths(
    law: given.ContactLaw, streams: Streams, key: tuple[Integers, Indices], share: Floats
) -> tuple[Indices, Indices]:
    """Return the gap after each contact and how long it lasts, in steps of the resolution.

    `key` are the pair and day and the number of each contact, `share` the probability of at most
    as many contacts as its pair has on that day.
    """
    from scipy import special

    gaps, durations = (PiecewiseLognormal.of_table(law[table]) for table in ("gap_s", "duration_s"))
    of_activity = law["activity_correlation"]
    own = special.ndtri(streams.of("contact gaps").uniform(*key))
    score = math.sqrt(1 - of_activity**2) * own - of_activity * special.ndtri(share)
    lasting_s = durations.quantile(streams.of("contact durations").uniform(*key))
    step_s = law["resolution_s"]
    return _whole(gaps.at_score(score) / step_s), _whole(lasting_s / step_s)


def _first(law: given.ContactLaw, share: Floats, before_s: Floats) -> Indices:
    """Return the step of a day in which two meet first, by the hours' weights.

    It is before a time, or at the beginning of the first hour that has weight.
    """
    until = np.cumsum([0.0, *law["hours"]])
    edges_s = _HOUR_S * np.arange(until.size)
    opens = int(np.count_nonzero(until == 0)) - 1
    until, edges_s = until[opens:], edges_s[opens:]
    exact_s = np.interp(share * np.interp(before_s, edges_s, until), until, edges_s)
    step: Indices = np.floor(exact_s / law["resolution_s"] + _ROUNDING).astype(np.int64)
    return step


def _whole(number: Floats) -> Indices:
    """Return the next whole number, 1 at least; rounding may have left numbers just above one."""
    whole: Indices = np.maximum(np.ceil(number - _ROUNDING), 1.0).astype(np.int64)
    return whole


_DAY_S = 86_400.0
_HOUR_S = 3600.0
_ROUNDING = 1e-9
