"""App standby: how long an app's jobs may run, by how long ago somebody used it.

Android puts an app into a bucket by the time since its last use. While the phone is not charging,
the jobs of an app in a bucket run for 10 min in any window of the length that the bucket has
(AOSP: AppStandbyController, QuotaController). An app runs whenever it may: that uses its quota as
early as possible. Who has used it up waits until half a minute of it is free again.

Left out: limits on the number of jobs and sessions, and the thresholds of screen time (1 h, 2 h
and 6 h since the last use), which people who look at their phones for two hours a day have passed
by the time of the others.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pocketsim.sim.plan.intervals import Intervals, both, stacked, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pocketsim.sim.base.streams import Floats
    from pocketsim.sim.plan.intervals import Indices


class Bucket(NamedTuple):
    """From how long after the last use it holds, and the window of its quota; seconds."""

    after_s: float
    window_s: float


BUCKETS = {
    "active": Bucket(0.0, 600.0),
    "working_set": Bucket(43_200.0, 7200.0),
    "frequent": Bucket(86_400.0, 28_800.0),
    "rare": Bucket(172_800.0, 86_400.0),
    "restricted": Bucket(691_200.0, 86_400.0),
}
"""By name; the quota of the first is as long as its window, and so no limit."""
QUOTA_S = 600.0


def by_use(phone: Indices, used_s: Floats) -> dict[str, Intervals]:
    """Return when phones that use an app have it in which bucket, from their first use on."""
    order = np.lexsort((used_s, phone))
    phone, used_s = phone[order], used_s[order]
    again_s = np.full(phone.size, np.inf)
    again_s[:-1][phone[1:] == phone[:-1]] = used_s[1:][phone[1:] == phone[:-1]]
    names = list(BUCKETS)
    ends_s = [*(BUCKETS[name].after_s for name in names[1:]), np.inf]
    found = {}
    for name, after_s in zip(names, ends_s, strict=True):
        begin_s = used_s + BUCKETS[name].after_s
        end_s = np.minimum(used_s + after_s, again_s)
        found[name] = union(Intervals(phone, begin_s, end_s).among(begin_s < end_s))
    return found


def in_jobs(allowed: Intervals, buckets: dict[str, Intervals]) -> Intervals:
    """Return when jobs run of those times that they may, by the app's buckets."""
    parts = {name: both(allowed, when) for name, when in buckets.items()}
    free = parts.pop("active", stacked(()))
    rows = stacked(list(parts.values()))
    window_s = np.repeat(
        [BUCKETS[name].window_s for name in parts], [part.phone.size for part in parts.values()]
    )
    order = np.lexsort((rows.begin_s, rows.phone))
    return union(free, _limited(rows.among(order), window_s[order]))


def _limited(rows: Intervals, window_s: Floats) -> Intervals:
    """Return when jobs run in these intervals, which are sorted by phone and time."""
    edges = np.flatnonzero(np.diff(rows.phone)) + 1
    bounds = [0, *edges.tolist(), rows.phone.size]
    columns = list(zip(rows.begin_s.tolist(), rows.end_s.tolist(), window_s.tolist(), strict=True))
    phone, begin_s, end_s = [], [], []
    for first, last in pairwise(bounds):
        for at_s, until_s in _sessions(columns[first:last]):
            phone.append(rows.phone[first])
            begin_s.append(at_s)
            end_s.append(until_s)
    return Intervals(np.array(phone, np.int64), np.array(begin_s), np.array(end_s))


def _sessions(
    allowed: Iterable[tuple[float, float, float]],
) -> Iterator[tuple[float, float]]:
    """Yield when the jobs of one phone run that may from, until and by the quota of a window."""
    quota = _Quota()
    for begin_s, end_s, window_s in allowed:
        now_s = begin_s
        while now_s < end_s:
            now_s, free_s = quota.free(now_s, window_s)
            if now_s >= end_s:
                break
            until_s = min(end_s, now_s + free_s)
            quota.take(now_s, until_s)
            yield now_s, until_s
            now_s = until_s


class _Quota:
    """What of a quota the jobs of a phone have used, in order of time."""

    def __init__(self) -> None:
        self.begins_s: list[float] = []
        self.ends_s: list[float] = []
        self.first = 0  # the first session that is not over before the window
        self.used_s = 0.0  # by it and all after it
        self.window_s = 0.0

    def take(self, begin_s: float, end_s: float) -> None:
        """Count a session."""
        self.begins_s.append(begin_s)
        self.ends_s.append(end_s)
        self.used_s += end_s - begin_s

    def free(self, now_s: float, window_s: float) -> tuple[float, float]:
        """Return from when on jobs may run again, now or later, and for how long."""
        since_s = now_s - window_s
        if window_s != self.window_s:
            self.window_s, self.first = window_s, 0
            self.used_s = sum(self.ends_s) - sum(self.begins_s)
        while self.first < len(self.ends_s) and self.ends_s[self.first] <= since_s:
            self.used_s -= self.ends_s[self.first] - self.begins_s[self.first]
            self.first += 1
        if self.first == len(self.ends_s):
            return now_s, QUOTA_S
        over_s = max(since_s - self.begins_s[self.first], 0.0)
        free_s = QUOTA_S - self.used_s + over_s
        if free_s >= _LEAST_S:
            return now_s, free_s
        return self._when_free(over_s + _LEAST_S - free_s) + window_s, _LEAST_S

    def _when_free(self, wanted_s: float) -> float:
        """Return until when the window's first sessions have used so much."""
        for number in range(self.first, len(self.ends_s)):
            length_s = self.ends_s[number] - self.begins_s[number]
            if wanted_s <= length_s:
                return self.begins_s[number] + wanted_s
            wanted_s -= length_s
        return self.ends_s[-1]  # but for rounding there was one


_LEAST_S = 30.0
"""Jobs wait until so much of a quota is free (AOSP: IN_QUOTA_BUFFER_MS)."""
