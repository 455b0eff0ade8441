"""Intervals of time of many phones as columns, and what is common to them or not.

A phone may have any number. What comes out of a function here is sorted by phone and time, and
intervals of one phone neither overlap nor touch. What they mean is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.plan.churn import Transitions, in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.sim.base.streams import Floats

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Intervals:
    """Columns of one length: whose, from when, and until before when."""

    phone: Indices
    begin_s: Floats
    end_s: Floats

    def among(self, chosen: npt.NDArray[np.bool_] | Indices) -> Intervals:
        """Return the chosen rows, by whether they are or by their numbers."""
        return Intervals(self.phone[chosen], self.begin_s[chosen], self.end_s[chosen])

    def total_s(self, phones: int) -> Floats:
        """Return how long they are together, of each phone."""
        total_s: Floats = np.bincount(self.phone, self.end_s - self.begin_s, phones).astype(float)
        return total_s


def everyone(phones: int, begin_s: float, end_s: float) -> Intervals:
    """Return one interval for each phone, from the first on."""
    return Intervals(np.arange(phones), np.full(phones, begin_s), np.full(phones, end_s))


def stacked(several: Sequence[Intervals]) -> Intervals:
    """Return all rows of several, one after the other."""
    empty = Intervals(np.empty(0, np.int64), np.empty(0), np.empty(0))
    every = [empty, *several]
    return Intervals(
        np.concatenate([one.phone for one in every]),
        np.concatenate([one.begin_s for one in every]),
        np.concatenate([one.end_s for one in every]),
    )


def union(*several: Intervals) -> Intervals:
    """Return when any of them holds."""
    rows = stacked(several)
    return _where(rows, np.ones(rows.phone.size, dtype=np.int64), 1)


def both(one: Intervals, other: Intervals) -> Intervals:
    """Return when both hold; the intervals of each are apart."""
    rows = stacked((one, other))
    return _where(rows, np.ones(rows.phone.size, dtype=np.int64), 2)


def without(one: Intervals, other: Intervals) -> Intervals:
    """Return when one holds and the other does not; the intervals of each are apart."""
    rows = stacked((one, other))
    return _where(rows, np.repeat([1, -1], [one.phone.size, other.phone.size]), 1)


def _where(rows: Intervals, weight: Indices, least: int) -> Intervals:
    """Return when the weights of the intervals that hold come to at least so much, above 0."""
    # What begins comes before what ends at the same time: intervals that touch are one.
    phone = np.concatenate((rows.phone, rows.phone))
    time_s = np.concatenate((rows.begin_s, rows.end_s))
    order = np.lexsort((time_s, phone))
    phone, time_s = phone[order], time_s[order]
    holds = np.cumsum(np.concatenate((weight, -weight))[order]) >= least
    # Weights of a phone add up to 0, so that none holds before the first row of the next.
    before = np.append(False, holds[:-1])[: holds.size]
    begins, ends = holds & ~before, before & ~holds
    found = Intervals(phone[begins], time_s[begins], time_s[ends])
    return found.among(found.end_s > found.begin_s)


def transitions(on: Intervals, phones: int, begin_s: float, end_s: float) -> Transitions:
    """Return the changes of phones, counted from 0, that are on in intervals apart, and then only.

    Times are from `begin_s` on, and before `end_s`.
    """
    waiting = np.ones(phones, dtype=bool)
    waiting[on.phone[(on.begin_s <= begin_s) & (on.end_s > begin_s)]] = False
    off = np.flatnonzero(waiting)
    comes = (on.begin_s > begin_s) & (on.begin_s < end_s)
    goes = (on.end_s > begin_s) & (on.end_s < end_s)
    time_s = np.concatenate((on.begin_s[comes], on.end_s[goes])) - begin_s
    return in_order(
        np.concatenate((np.zeros(off.size), time_s)),
        np.concatenate((off, on.phone[comes], on.phone[goes])),
        np.repeat([False, True, False], [off.size, comes.sum(), goes.sum()]),
    )
