"""Apps that people open: phones that are on around what their owners do, beside other times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.plan.churn import Transitions, in_order, lengths

if TYPE_CHECKING:
    import numpy.typing as npt

    from pocketsim.sim.base.streams import Floats, Streams
    from pocketsim.sim.plan import plan
    from pocketsim.sim.scenario import resolved as given


def opened(
    law: given.Foreground,
    changes: Transitions,
    workload: plan.Workload,
    streams: Streams,
    lane: npt.NDArray[np.uint64],
    duration_s: float,
) -> Transitions:
    """Return the transitions with the app open around every row of a workload.

    `lane` is by phone. A phone without transitions is on all the time and stays so. How long the
    app stays open is drawn by the asker and the number of the row among the asker's.
    """
    time_s, asker = np.array(workload["time_s"]), np.array(workload["from_phone"], dtype=np.int64)
    number = _numbers_within(asker)
    stay = lengths(law["stay"])
    phones, stays_s = [asker], [stay.quantile(streams.of("stays").uniform(lane[asker], number))]
    if law["whose"] == "both":
        phones.append(np.array(workload["to_phone"], dtype=np.int64))
        stays_s.append(stay.quantile(streams.of("peers' stays").uniform(lane[asker], number)))
    phone = np.concatenate(phones)
    begin_s = np.maximum(np.tile(time_s, len(phones)) - law["lead_s"], 0.0)
    end_s = np.tile(time_s, len(phones)) + np.concatenate(stays_s)
    moves = np.zeros(lane.size, dtype=bool)
    moves[changes.phone] = True
    kept = moves[phone]
    return joined(changes, (phone[kept], begin_s[kept], end_s[kept]), duration_s)


def joined(
    changes: Transitions, more: tuple[npt.NDArray[np.int64], Floats, Floats], duration_s: float
) -> Transitions:
    """Return transitions of phones that are also on in further intervals: phone, begin and end.

    Only phones that have transitions may have intervals. They may overlap, also each other.
    """
    every = np.unique(changes.phone)
    phone, begin_s, end_s = more
    # Each reason to be on counts one: that a phone is on at first, a change, an interval.
    time_s = np.concatenate((np.zeros(every.size), changes.time_s, begin_s, end_s))
    whose = np.concatenate((every, changes.phone, phone, phone))
    step = np.concatenate(
        (
            np.ones(every.size, dtype=np.int64),
            np.where(changes.on, 1, -1),
            np.ones(phone.size, dtype=np.int64),
            -np.ones(phone.size, dtype=np.int64),
        )
    )
    order = np.lexsort((time_s, whose))
    time_s, whose = time_s[order], whose[order]
    reasons = np.cumsum(step[order])
    first = _begins(whose)
    # A phone may end with a reason left: what is there before a phone's first row is not its own.
    place = np.maximum.accumulate(np.where(first, np.arange(first.size), 0))
    reasons -= (reasons - step[order])[place]
    # Of one moment the last row of a phone says what holds from then on.
    last = np.append(first[1:] | (time_s[1:] > time_s[:-1]), True)[: first.size]
    time_s, whose, on = time_s[last], whose[last], reasons[last] > 0
    before = np.append(True, on[:-1])[: on.size] | _begins(whose)
    changed = (on != before) & (time_s < duration_s)
    return in_order(time_s[changed], whose[changed], on[changed])


def _begins(whose: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Tell which rows are the first of their phone, in order of phones."""
    return np.append(True, whose[1:] != whose[:-1])[: whose.size]


def _numbers_within(phone: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many rows of the same phone come before each."""
    order = np.argsort(phone, kind="stable")
    ordered = phone[order]
    place = np.arange(phone.size)
    number = np.empty(phone.size, dtype=np.int64)
    number[order] = place - np.maximum.accumulate(np.where(_begins(ordered), place, 0))
    return number
