"""Contacts of people over days, as a trace tells or a law draws them.

Times are seconds since a midnight before a Monday, multiples of a resolution. Contacts are sorted
by pair, and of a pair by time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan import contact_law
from pocketsim.sim.scenario import presence_files

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.base.streams import Streams
    from pocketsim.sim.scenario.resolved import ContactLaw

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Trace:
    """Contacts as columns of one length; people are numbered from 0 on, `one` < `other`."""

    one: Indices
    other: Indices
    begin_s: Floats
    end_s: Floats
    people: int

    @classmethod
    def of(cls, one: Indices, other: Indices, begin_s: Floats, end_s: Floats, people: int) -> Trace:
        """Return unsorted contacts as a trace: what of a pair overlaps or touches is one."""
        low, high = np.minimum(one, other), np.maximum(one, other)
        order = np.lexsort((end_s, begin_s, high, low))
        low, high, begin_s, end_s = low[order], high[order], begin_s[order], end_s[order]
        pair = low * people + high
        # Contacts of one pair may lie in each other: ends are the latest so far, pair by pair.
        shift = (pair - pair[:1]) * (2 * (end_s.max(initial=0.0) + 1))
        latest = np.maximum.accumulate(end_s + shift) - shift
        begins = np.r_[True, (pair[1:] != pair[:-1]) | (begin_s[1:] > latest[:-1])][: pair.size]
        ends = np.r_[begins[1:], True][: pair.size]
        return cls(low[begins], high[begins], begin_s[begins], latest[ends], people)

    def chosen(self, which: Flags) -> Trace:
        """Return some of the contacts."""
        return Trace(
            self.one[which], self.other[which], self.begin_s[which], self.end_s[which], self.people
        )

    def between(self, first_day: int, until_day: int) -> Trace:
        """Return the contacts that begin on days from a first one to before another."""
        return self.chosen((self.day >= first_day) & (self.day < until_day))

    def text(self) -> str:
        """Return what there is, for people."""
        days, contacts = np.unique(self.day), self.day.size
        who = np.unique(np.r_[self.one, self.other]).size
        span = f"days {days[0]} to {days[-1]} after the origin's midnight"
        return f"{contacts} contacts of {who} people on {days.size} days, {span}"

    @cached_property
    def day(self) -> Indices:
        """Return the day on which each contact begins, 0 for the first Monday."""
        return (self.begin_s // DAY_S).astype(np.int64)

    @cached_property
    def is_first(self) -> Flags:
        """Tell which contacts are the first of their pair on a day."""
        before = (self.one[1:] != self.one[:-1]) | (self.other[1:] != self.other[:-1])
        before |= self.day[1:] != self.day[:-1]
        found: Flags = np.r_[True, before][: self.day.size]
        return found

    def durations_s(self) -> Floats:
        """Return how long each contact lasts."""
        return self.end_s - self.begin_s

    def gaps_s(self, *, within_days: bool) -> Floats:
        """Return the times from a contact to the pair's next; within days, or over nights, too."""
        same = (self.one[1:] == self.one[:-1]) & (self.other[1:] == self.other[:-1])
        if within_days:
            same &= self.day[1:] == self.day[:-1]
        found: Floats = (self.begin_s[1:] - self.end_s[:-1])[same]
        return found

    def contacts_of_pair_days(self) -> Indices:
        """Return how many contacts each pair has on each day on which it meets."""
        return np.bincount(np.cumsum(self.is_first) - 1)


def read(path: Path, form: str, resolution_s: float, origin: float | str) -> Trace:
    """Return the contacts in a file in one of the formats of a scenario's contacts.

    `origin` is the time in the file of a midnight before a Monday. People are numbered in order of
    their ids. Raises ScenarioError, with the row where there is one, for what is no such file.
    """
    table = presence_files.contacts(path, form)
    one, other, begin_s, end_s = (table.columns[one.name] for one in presence_files.CONTACT)
    first_s = float(begin_s.min())
    since_s = math.floor(first_s / DAY_S) * DAY_S if origin == "first" else float(origin)
    if first_s < since_s:
        reason = f"has contacts before the origin, {table.time_text(since_s)}"
        raise ScenarioError(path, "", reason, table.time_text(first_s))
    begin_s = np.floor((begin_s - since_s) / resolution_s + _ROUNDING) * resolution_s
    end_s = np.ceil((end_s - since_s) / resolution_s - _ROUNDING) * resolution_s
    end_s = np.maximum(end_s, begin_s + resolution_s)
    people = int(max(one.max(), other.max())) + 1
    found = Trace.of(one.astype(np.int64), other.astype(np.int64), begin_s, end_s, people)
    return _who_meets(found)


def drawn(law: ContactLaw, streams: Streams, days: int) -> Trace:
    """Return what the people of one place meet by a law from a Monday on, as a run draws it."""
    lane = np.arange(law["people"], dtype=np.uint64)
    met = contact_law.meetings(law, streams, lane, (0.0, days * DAY_S))
    return Trace.of(met.one, met.other, met.begin_s, met.end_s, law["people"])


def _who_meets(trace: Trace) -> Trace:
    """Return a trace whose people are numbered without those who meet nobody."""
    known, number = np.unique(np.r_[trace.one, trace.other], return_inverse=True)
    one, other = number[: trace.one.size], number[trace.one.size :]
    return Trace(one, other, trace.begin_s, trace.end_s, known.size)


DAY_S = 86_400.0
RESOLUTION_MAX_S = 3600.0
_ROUNDING = 1e-6  # of a resolution: times of a file may be off by the last digit
