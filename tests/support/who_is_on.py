"""Which phones are on when, by the transitions of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from pocketsim.sim.base.streams import Floats
    from pocketsim.sim.plan.churn import Transitions


def is_on(
    changes: Transitions, phone: npt.NDArray[np.int64], time_s: Floats
) -> npt.NDArray[np.bool_]:
    """Tell for each pair of phone and time whether that phone is on then."""
    if not changes.time_s.size:
        return np.ones(phone.size, dtype=bool)
    every_phone = np.concatenate([changes.phone, phone])
    every_time_s = np.concatenate([changes.time_s, time_s])
    order = np.lexsort((every_time_s, every_phone))
    is_change = order < changes.phone.size
    # The last change at or before each row, by position in the sorted order; -1 for none.
    last = np.maximum.accumulate(np.where(is_change, np.arange(order.size), -1))
    known = (last >= 0) & (every_phone[order][last] == every_phone[order])
    state = np.ones(order.size, dtype=bool)
    state[known] = changes.on[order[last[known]]]
    answer = np.empty(order.size, dtype=bool)
    answer[order] = state
    return answer[changes.phone.size :]
