"""A trace of presence: when each of some phones was on while it was watched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pocketsim.sim.plan.presence import DAY_S

if TYPE_CHECKING:
    from pocketsim.sim.plan.churn import Transitions

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class WatchedPhones:
    """Intervals in which phones were on, and the stretch in which each was watched, in seconds.

    `phone`, `on_s` and `off_s` have an entry for each interval, in order of phone and time;
    `begin_s` and `end_s` one for each phone. Intervals of a phone do not overlap, last longer than
    0 s and lie in its stretch.
    """

    phone: Indices
    on_s: Floats
    off_s: Floats
    begin_s: Floats
    end_s: Floats

    @classmethod
    def of_intervals(
        cls, phone: Indices, on_s: Floats, off_s: Floats, begin_s: Floats, end_s: Floats
    ) -> WatchedPhones:
        """Return intervals in any order, cut to the stretches in which phones were watched."""
        on_s, off_s = np.maximum(on_s, begin_s[phone]), np.minimum(off_s, end_s[phone])
        kept = np.flatnonzero(off_s > on_s)
        order = kept[np.lexsort((on_s[kept], phone[kept]))]
        return cls(phone[order], on_s[order], off_s[order], begin_s, end_s)

    @classmethod
    def of_transitions(cls, changes: Transitions, watched_s: Floats) -> WatchedPhones:
        """Return what transitions of phones 0, 1, ... tell, each watched from 0 for so long."""
        phones, until_s = watched_s.size, float(watched_s.max(initial=0.0))
        first = np.arange(phones)  # every phone is on before its first change
        phone = np.concatenate((first, changes.phone))
        time_s = np.concatenate((np.zeros(phones), changes.time_s))
        on = np.concatenate((np.ones(phones, dtype=bool), changes.on))
        order = np.lexsort((time_s, phone))  # stable: what is there from the start comes first
        phone, time_s, on = phone[order], time_s[order], on[order]
        ends_s = np.append(time_s[1:], until_s)
        ends_s[np.append(phone[1:] != phone[:-1], True)] = until_s
        return cls.of_intervals(phone[on], time_s[on], ends_s[on], np.zeros(phones), watched_s)

    def of_phones(self, chosen: npt.NDArray[np.bool_]) -> WatchedPhones:
        """Return those phones alone, numbered anew."""
        number = np.cumsum(chosen) - 1
        kept = chosen[self.phone]
        return WatchedPhones(
            number[self.phone[kept]],
            self.on_s[kept],
            self.off_s[kept],
            self.begin_s[chosen],
            self.end_s[chosen],
        )

    def days(self) -> Floats:
        """Return how many days each phone was watched."""
        days: Floats = (self.end_s - self.begin_s) / DAY_S
        return days

    def came_on(self) -> npt.NDArray[np.bool_]:
        """Tell of each phone whether it was ever on."""
        return np.bincount(self.phone, minlength=self.begin_s.size) > 0

    def sessions_per_day(self) -> Floats:
        """Return how often each phone was on, in a day."""
        per_day: Floats = np.bincount(self.phone, minlength=self.begin_s.size) / self.days()
        return per_day

    def availability(self) -> Floats:
        """Return the share of time in which each phone was on."""
        on_s = np.bincount(self.phone, self.off_s - self.on_s, minlength=self.begin_s.size)
        share: Floats = on_s / (self.end_s - self.begin_s)
        return share

    def sessions_s(self) -> Floats:
        """Return the lengths of all sessions."""
        return self.off_s - self.on_s

    def gaps_s(self) -> Floats:
        """Return the lengths of all gaps between two sessions of a phone."""
        same = self.phone[1:] == self.phone[:-1]
        gaps_s: Floats = (self.on_s[1:] - self.off_s[:-1])[same]
        return gaps_s

    def begins_by_hour(self) -> Floats:
        """Return how often sessions began in each hour of the day, over the mean of the hours."""
        inside = self.on_s > self.begin_s[self.phone]
        hour = (self.on_s[inside] % DAY_S // _HOUR_S).astype(np.int64)
        count = np.bincount(hour, minlength=_HOURS)
        return _over_mean(count / self._watched_by_hour_s())

    def on_by_hour(self) -> Floats:
        """Return the share of phones on in each hour of the day, over the mean of the hours."""
        on_s = (_in_hours_s(self.off_s) - _in_hours_s(self.on_s)).sum(axis=1)
        return _over_mean(on_s / self._watched_by_hour_s())

    def days_without(self) -> float:
        """Return the share of whole days, counted from when a phone was watched, without a session.

        Of phones that were ever on.
        """
        seen = self.came_on()
        days = np.floor(self.days() + _ROUNDING).astype(np.int64) * seen
        first_day = np.concatenate(([0], np.cumsum(days)))
        since_s = self.begin_s[self.phone]
        begins, ends = ((at_s - since_s) / DAY_S for at_s in (self.on_s, self.off_s))
        used = np.zeros(first_day[-1], dtype=bool)
        for day in range(int(days.max(initial=0))):
            is_on = (begins < day + 1) & (ends > day) & (days[self.phone] > day)
            used[first_day[self.phone[is_on]] + day] = True
        return float(1 - used.mean()) if used.size else 1.0

    def _watched_by_hour_s(self) -> Floats:
        watched_s: Floats = (_in_hours_s(self.end_s) - _in_hours_s(self.begin_s)).sum(axis=1)
        return watched_s


def _in_hours_s(until_s: Floats) -> Floats:
    """Return the seconds before a time that lie in each hour of the day: 24 rows."""
    day, rest_s = np.divmod(until_s, DAY_S)
    first_s = np.arange(_HOURS)[:, None] * _HOUR_S
    inside: Floats = day * _HOUR_S + np.clip(rest_s - first_s, 0, _HOUR_S)
    return inside


def _over_mean(values: Floats) -> Floats:
    scaled: Floats = values / values.mean()
    return scaled


_HOURS, _HOUR_S = 24, 3600.0
_ROUNDING = 1e-6
