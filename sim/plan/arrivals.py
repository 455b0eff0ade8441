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

from sim.base.streams import Floats, Lanes, pick_bucket
from sim.plan.churn import Transitions, is_on

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Arrivals:
    """Proposals as columns of one length, sorted by time."""

    time_s: Floats
    from_phone: npt.NDArray[np.int64]
    to_phone: npt.NDArray[np.int64]


def sender_loop(
    workload: Mapping[str, Any], overshoot: Mapping[str, Any], duration_s: float
) -> dict[str, Any]:
    """Return the benchmark loop in which phone 0 proposes to phone 1.

    `overshoot` is the app's law of phone 0: base + slope * ln(interval / 1 ms), seconds.
    """
    law = {key: number["value"] for key, number in overshoot.items()}
    interval_s = workload["interval_s"]
    overshoot_s = law["base"] + law["slope"] * math.log(interval_s / _SHORTEST_SLEEP_S)
    return {
        "from_phone": 0,
        "to_phone": 1,
        "start_s": workload["start_s"],
        "duration_s": duration_s - workload["start_s"],
        "interval_s": interval_s,
        "overshoot_s": max(0.0, overshoot_s),
        "overshoot_sigma": law["spread_sigma"],
        "payload_bytes": workload["payload_bytes"],
    }


def poisson_arrivals(
    workload: Mapping[str, Any],
    streams: tuple[Lanes, Lanes],
    lane: npt.NDArray[np.uint64],
    changes: Transitions,
    duration_s: float,
) -> Arrivals:
    """Return every phone's Poisson arrivals before `duration_s` at which it is on.

    `streams` are those of the times and of the peers. A peer is uniform among the other phones; a
    phone added at the end takes its share of arrivals and leaves all others as they were.
    """
    times, peers = streams
    time_s, phone, number = poisson_times(
        workload["rate_per_s"], (workload["start_s"], duration_s), times, lane
    )
    happens = is_on(changes, phone, time_s)
    time_s, phone, number = time_s[happens], phone[happens], number[happens]
    peer = pick_bucket(peers.bits(lane[phone], number), lane.size - 1)
    peer += peer >= phone
    order = np.lexsort((phone, time_s))
    return Arrivals(time_s[order], phone[order], peer[order])


def poisson_times(
    rate_per_s: float,
    between_s: tuple[float, float],
    times: Lanes,
    lane: npt.NDArray[np.uint64],
) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return times, phones and draw numbers of every phone's Poisson process, unsorted."""
    blocks = []
    for first in range(0, lane.size, _PHONES_PER_BLOCK):
        phones = np.arange(first, min(first + _PHONES_PER_BLOCK, lane.size))
        blocks.append(_block(rate_per_s, between_s, times, lane, phones))
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
