"""Episodes that come now and then by hours of the day: screens that are on, chargers, motion.

Between two of a phone's there is an exponential time on a clock that goes by hours, with the mean
that leaves as many a day as the law says. Long ones in busy hours cost some: see docs/models.md. A
phone's own frequency is lognormal around that of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.plan.churn import lengths
from pocketsim.sim.plan.intervals import Intervals, stacked, union
from pocketsim.sim.plan.presence import DAY_S, DayClock

if TYPE_CHECKING:
    import numpy.typing as npt

    from pocketsim.sim.base.streams import Lanes
    from pocketsim.sim.scenario import resolved as given


def drawn(
    law: given.Episodes,
    lanes: Lanes,
    lane: npt.NDArray[np.uint64],
    begin_s: float,
    end_s: float,
) -> Intervals:
    """Return the episodes of every phone that begin in a time, in seconds since a midnight.

    None holds at its beginning. `lane` holds each phone's stream in `lanes`: draw 0 is its own
    frequency, the others are a time without and a length for each episode.
    """
    from scipy import special

    length, clock = lengths(law["length"]), DayClock(tuple(law["hours"]))
    score = special.ndtri(lanes.uniform(lane, 0))
    per_day = law["per_day"] * np.exp(law["spread"] * score - law["spread"] ** 2 / 2)
    between_s = np.maximum(DAY_S / per_day - length.mean_s(), _SHORTEST_S)
    phone, now_s = np.arange(lane.size), np.full(lane.size, begin_s)
    found = []
    draw = 1
    while phone.size:
        wait_s = -between_s[phone] * np.log(lanes.uniform(lane[phone], draw))
        at_s = clock.second(clock.reads(now_s) + wait_s)
        kept = at_s < end_s
        phone, at_s = phone[kept], at_s[kept]
        now_s = at_s + length.quantile(lanes.uniform(lane[phone], draw + 1))
        found.append(Intervals(phone, at_s, now_s))
        draw += 2
    return union(stacked(found))


_SHORTEST_S = 1.0
"""Between two episodes of a phone whose frequency leaves no time for any."""
