"""Who proposes what, when: the theses' sender loop, and Poisson arrivals over many phones.

Times are known before the run, except for the pace of a sender loop, which the engine finds as it
goes. Random draws come from one lane per phone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.engine_facts import SLEEPS
from pocketsim.sim.base.streams import Floats, Lanes, pick_bucket
from pocketsim.sim.plan import near, plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.sim.base.graphs import Neighbours
    from pocketsim.sim.devices.contents import Shipped
    from pocketsim.sim.scenario import resolved as given


@dataclass(frozen=True)
class Arrivals:
    """Proposals as columns of one length, sorted by time."""

    time_s: Floats
    from_phone: npt.NDArray[np.integer[Any]]
    to_phone: npt.NDArray[np.integer[Any]]


def sender_loop(
    workload: given.Paced,
    device: Shipped,
    duration_s: float,
    outstanding_max: int,
    *,
    until_drained: bool = False,
) -> plan.SenderLoop:
    """Return the benchmark loop in which phone 0 proposes to phone 1.

    Sleeps of phone 0, a `device`, are too long by base + slope * ln(interval / 1 ms), seconds. That
    is until its thread goes on, so it has what the phone computes for it.
    While `outstanding_max` proposals have no answer none is made; 0: without a limit. Where that
    holds `until_drained`, a proposal whose connection still drains has its place, too. Who never
    sleeps would look for room for ever, in no time: such a loop has no limit.
    """
    overshoot = device["scheduler"]["sleep_overshoot"]
    base_s, slope_s = overshoot["base_s"]["value"], overshoot["slope_s"]["value"]
    costs = [device["operations"].get(name) for name in SLEEPS]
    computed_s = sum(cost["cpu_s"] for cost in costs if cost)
    interval_s = workload["interval_s"]
    # Who never sleeps cannot sleep too long.
    unpaced = workload["pacing"] == "unpaced"
    overshoot_s = 0.0 if unpaced else base_s + slope_s * math.log(interval_s / _SHORTEST_SLEEP_S)
    return {
        "from_phone": 0,
        "to_phone": 1,
        "start_s": workload["start_s"],
        "duration_s": duration_s - workload["start_s"],
        "interval_s": interval_s,
        "by_clock": workload["pacing"] == "by_clock",
        "overshoot_s": max(0.0, overshoot_s - computed_s),
        "overshoot_sigma": overshoot["spread_sigma"]["value"],
        "payload_bytes": workload["payload_bytes"],
        "outstanding_max": 0 if unpaced else outstanding_max,
        "outstanding_until_drained": until_drained and not unpaced and outstanding_max > 0,
    }


def none(loops: Sequence[plan.SenderLoop] = ()) -> plan.Workload:
    """Return a workload without open arrivals."""
    return {
        "time_s": plan.floats([]),
        "from_phone": plan.numbers([]),
        "to_phone": plan.numbers([]),
        "payload_bytes": plan.numbers([]),
        "amount_cents": plan.numbers([]),
        "conduct": plan.numbers([]),
        "loops": list(loops),
    }


def proposals(found: Arrivals, payload_bytes: npt.ArrayLike) -> plan.Workload:
    """Return arrivals as proposals of one size, or of one size each."""
    return {
        **none(),
        "time_s": plan.floats(found.time_s),
        "from_phone": plan.numbers(found.from_phone),
        "to_phone": plan.numbers(found.to_phone),
        "payload_bytes": plan.numbers(np.broadcast_to(payload_bytes, found.time_s.shape)),
    }


def poisson_arrivals(
    rate_per_s: Floats,
    streams: tuple[Lanes, Lanes],
    lane: npt.NDArray[np.uint64],
    between_s: HoursClock | tuple[float, float],
    partners: Neighbours | None = None,
    proximity: plan.Proximity | None = None,
) -> Arrivals:
    """Return every phone's Poisson arrivals in a stretch of time, whether it is on or off.

    Of a clock they follow the hours of the day.
    `rate_per_s` and `lane` are by phone; `streams` are those of the times and of the peers. A peer
    is uniform among a phone's partners, with `proximity` among those near it, without either among
    the other phones; a phone added at the end takes its share of arrivals and leaves all others as
    they were. Of whom nobody is near, nothing arrives.
    """
    times, peers = streams
    time_s, phone, number = (
        between_s.times(rate_per_s, times, lane)
        if isinstance(between_s, HoursClock)
        else poisson_times(rate_per_s, between_s, times, lane)
    )
    bits = peers.bits(lane[phone], number)
    if proximity is not None:
        peer = near.chosen(proximity, phone, time_s, bits)
        time_s, phone, peer = time_s[peer >= 0], phone[peer >= 0], peer[peer >= 0]
    elif partners is None:
        peer = pick_bucket(bits, lane.size - 1)
        peer += peer >= phone
    else:
        peer = partners.node[partners.start[phone] + pick_bucket(bits, partners.degree()[phone])]
    order = np.lexsort((phone, time_s))
    return Arrivals(time_s[order], phone[order], peer[order])


@dataclass(frozen=True)
class HoursClock:
    """A clock that goes as fast as people ask, by the hours of the day.

    A process of constant rate runs on it; turning the clock's times back into seconds keeps draws
    and order. `clock_s` are its knots, `second_s` the seconds of the run that they stand for.
    """

    clock_s: Floats
    second_s: Floats

    @classmethod
    def of_run(
        cls,
        hours: Sequence[float],
        start_s: float,
        duration_s: float,
        time_of_day_s: float = 0.0,
    ) -> HoursClock:
        """Return the clock of a run that begins `time_of_day_s` after midnight.

        `hours` are the rate in each hour of the day over its mean. Nothing is asked for before
        `start_s`, at which the clock begins.
        """
        start_s, duration_s = start_s + time_of_day_s, duration_s + time_of_day_s
        whole_s = np.arange(math.ceil(duration_s / _HOUR_S)) * _HOUR_S
        second_s = np.concatenate(([start_s], whole_s[whole_s > start_s], [duration_s]))
        weight = np.array(hours)[(second_s[:-1] // _HOUR_S).astype(np.int64) % len(hours)]
        clock_s = np.concatenate(([0.0], np.cumsum(weight * np.diff(second_s))))
        return cls(clock_s, second_s - time_of_day_s)

    def times(
        self, rate_per_s: Floats, times: Lanes, lane: npt.NDArray[np.uint64]
    ) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return what `poisson_times` does, of processes of these mean rates by the hours."""
        between_s = (0.0, float(self.clock_s[-1]))
        clock_s, phone, number = poisson_times(rate_per_s, between_s, times, lane)
        return np.interp(clock_s, self.clock_s, self.second_s), phone, number


def poisson_times(
    rate_per_s: Floats,
    between_s: tuple[float, float],
    times: Lanes,
    lane: npt.NDArray[np.uint64],
) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return times, phones and draw numbers of every phone's Poisson process, unsorted.

    `rate_per_s` and `lane` are by phone; of rate 0 there are none. Another rate stretches a phone's
    process and leaves its draws.
    """
    none = (np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
    blocks = [none]
    for rate in np.unique(rate_per_s[rate_per_s > 0]):
        asked = np.flatnonzero(rate_per_s == rate)
        for first in range(0, asked.size, _PHONES_PER_BLOCK):
            phones = asked[first : first + _PHONES_PER_BLOCK]
            blocks.append(_block(float(rate), between_s, times, lane, phones))
    return tuple(np.concatenate(column) for column in zip(*blocks, strict=True))  # type: ignore[return-value]


def _block(
    rate_per_s: float,
    between_s: tuple[float, float],
    times: Lanes,
    lane: npt.NDArray[np.uint64],
    phones: npt.NDArray[np.int64],
) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return times, phones and draw numbers of some phones' arrivals, unsorted."""
    start_s, duration_s = between_s
    expected = rate_per_s * (duration_s - start_s)
    # Nine phones in ten thousand need a second batch.
    batch = min(math.ceil(expected + 3 * math.sqrt(expected) + 3), _LARGEST_BATCH)
    last_s = np.full(phones.size, start_s)
    draws = np.arange(batch)
    columns = []
    while phones.size:
        gap_s = -np.log(times.uniform(lane[phones][:, None], draws[None, :])) / rate_per_s
        gap_s[:, 0] += last_s
        time_s = np.cumsum(gap_s, axis=1)
        row, column = np.nonzero(time_s < duration_s)
        columns.append((time_s[row, column], phones[row], draws[column]))
        unfinished = time_s[:, -1] < duration_s
        phones, last_s = phones[unfinished], time_s[unfinished, -1]
        draws = draws + batch
    return tuple(np.concatenate(column) for column in zip(*columns, strict=True))  # type: ignore[return-value]


_SHORTEST_SLEEP_S = 0.001  # the app sleeps for whole milliseconds
_PHONES_PER_BLOCK = 4096  # with the batch below, at most 32 MB at a time
_LARGEST_BATCH = 1024
_HOUR_S = 3600.0
