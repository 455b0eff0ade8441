"""The stopping rule of `until` in a sweep: when a run has been repeated often enough.

If an interval were tested after each repetition, it would pass too often by chance. So it is tested
at 20 values first, and then after half as many again each time (20, 30, 45, 68, ...). Values that
are all equal do not stop a run, unless they are shares or counts, whose intervals have a width
then. With this rule, intervals of the mean at which a run stopped cover, of nominal 95 %:

* 92.5 to 97.9 % for shares of runs of 0.02, 0.05, 0.37 and 0.98, half widths of 0.03 to 0.2, by
  sums of binomials;
* 94 to 95 % for a normal law, 92.5 to 95 % for a lognormal one (sigma 0.5), 94 to 95 % for p95 of
  100 lognormal messages, half widths of 2 to 20 % of the mean.

From 5 values on, with the same steps, it would be 90 to 97.9 %, from 12 on 91 to 97.9 %, and where
equal values end it, shares of runs of 0.05 are covered in 21 of 100 studies. Nothing here runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pocketsim.sim.metrics.intervals import Interval
    from pocketsim.sim.run.sweep_document import Goal


def repetitions_to_add(
    count: int, known: int, mean: float, found: Interval, wanted: Goal, most: int
) -> int:
    """Return how many repetitions to add to the `count` there are; 0 where it is enough.

    `found` is the interval of the `mean` of the `known` ones, which have a value. The total never
    exceeds `most`.
    """
    half = (found.high - found.low) / 2
    if known >= FEWEST and half <= wanted.half_width_of(mean):
        return 0
    following = FEWEST if count < FEWEST else math.ceil(count * _GROWTH)
    return max(min(following, most) - count, 0)


FEWEST = 20
_GROWTH = 1.5
