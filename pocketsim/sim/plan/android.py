"""Phones that are on when Android lets an app use the network in the background.

How people use, charge and carry their phones is drawn here, each from streams of its own. What
follows from it is computed: by `sim.plan.doze` when no app is kept from the network, and by
`sim.plan.standby` how long this one may use that. The draw starts a day before the run, so that
quotas are used up as they would be, and nobody is in an episode of anything then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.plan import charging, doze, episodes, standby
from pocketsim.sim.plan.churn import Transitions, together
from pocketsim.sim.plan.intervals import (
    Indices,
    Intervals,
    both,
    everyone,
    transitions,
    union,
    without,
)
from pocketsim.sim.plan.presence import DAY_S

if TYPE_CHECKING:
    import numpy.typing as npt

    from pocketsim.sim.base.streams import Floats, Streams
    from pocketsim.sim.plan import plan
    from pocketsim.sim.scenario import resolved as given


@dataclass(frozen=True)
class Moments:
    """Phones and times of one length, in seconds of the run."""

    phone: Indices
    time_s: Floats

    def among(self, phones: Indices) -> Moments:
        """Return those of some phones, which are sorted, counted from 0 in these."""
        place = np.minimum(np.searchsorted(phones, self.phone), phones.size - 1)
        kept = phones[place] == self.phone if phones.size else np.zeros(place.size, bool)
        return Moments(place[kept], self.time_s[kept])


@dataclass(frozen=True)
class Asked:
    """What the owners of phones use an app for, and when a phone is sent something."""

    used: Moments
    sent: Moments

    def among(self, phones: Indices) -> Asked:
        """Return what is asked of some phones, as `Moments.among` does."""
        return Asked(self.used.among(phones), self.sent.among(phones))


def asked(workload: plan.Workload, foreground: given.Foreground | None) -> Asked:
    """Return when the owners of phones use the app, and when it is sent something."""
    time_s = np.array(workload["time_s"])
    asker, peer = (np.array(workload[key], np.int64) for key in ("from_phone", "to_phone"))
    used, sent = Moments(asker, time_s), Moments(peer, time_s)
    if foreground is not None and foreground["whose"] == "both":
        used = Moments(np.concatenate((asker, peer)), np.concatenate((time_s, time_s)))
    return Asked(used, sent)


def drawn(
    law: given.AndroidChurn,
    streams: Streams,
    lane: npt.NDArray[np.uint64],
    duration_s: float,
    rows: Asked,
) -> Transitions:
    """Return the transitions of every phone before `duration_s`; none of an app that is exempt."""
    if law["exempt"]:
        return together([])
    found = []
    for first in range(0, lane.size, _AT_ONCE):
        phones = np.arange(first, min(first + _AT_ONCE, lane.size))
        some = _drawn(law, streams, lane[phones], duration_s, rows.among(phones))
        found.append(replace(some, phone=phones[some.phone]))
    return together(found)


def _drawn(
    law: given.AndroidChurn,
    streams: Streams,
    lane: npt.NDArray[np.uint64],
    duration_s: float,
    rows: Asked,
) -> Transitions:
    begin_s = law["time_of_day_s"]
    on = background(law, streams, lane, duration_s, rows.used)
    if law["push_s"]:
        at_s = rows.sent.time_s + begin_s
        on = union(on, Intervals(rows.sent.phone, at_s, at_s + law["push_s"]))
    return transitions(on, lane.size, begin_s, begin_s + duration_s)


def background(
    law: given.AndroidChurn,
    streams: Streams,
    lane: npt.NDArray[np.uint64],
    duration_s: float,
    used: Moments,
) -> Intervals:
    """Return when the app may use the network unasked, in seconds since the run's midnight."""
    begin_s = law["time_of_day_s"]
    from_s, until_s = begin_s - DAY_S, begin_s + duration_s
    screen = episodes.drawn(law["screen"], streams.of("screen"), lane, from_s, until_s)
    motion = episodes.drawn(law["motion"], streams.of("motion"), lane, from_s, until_s)
    plugged = charging.drawn(law["charging"], streams, lane, from_s, until_s)
    steps = doze.timetable(
        law["maintenance_s"], law["pre_idle_s"], small_battery=law["small_battery"]
    )
    every = everyone(lane.size, from_s, until_s)
    allowed = doze.windows(screen, plugged, motion, steps, every)
    unlimited = both(allowed, plugged)
    buckets = _buckets(law, streams, lane, used, every)
    return union(unlimited, standby.in_jobs(without(allowed, plugged), buckets))


def _buckets(
    law: given.AndroidChurn,
    streams: Streams,
    lane: npt.NDArray[np.uint64],
    used: Moments,
    every: Intervals,
) -> dict[str, Intervals]:
    """Return when the app is in which bucket, of each phone."""
    if law["bucket"] != "by_use":
        return {law["bucket"]: every}
    ago_s = -law["used_before_s"] * np.log(streams.of("used before").uniform(lane, 0))
    # Who has used it during the day before the run is taken to have done so all day.
    first_s = law["time_of_day_s"] - ago_s
    phone = np.concatenate((every.phone, every.phone, used.phone))
    early_s = np.minimum(every.begin_s, first_s)
    return standby.by_use(
        phone, np.concatenate((early_s, first_s, used.time_s + law["time_of_day_s"]))
    )


_AT_ONCE = 5000
"""Phones that are drawn together: a day of one takes 40 kB meanwhile."""
