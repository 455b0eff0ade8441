"""What fitted points say of what the probe does not measure: how long a hop of the loopback takes.

One link term. The scheduler's part, waiting for a core after a datagram is there, is as long for
every datagram too, so points cannot tell it from the link's: the term has both.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_HOP_S = 1e-6
"""Of a host where nothing is fitted: what the kernel takes is in the costs of sending already."""
MOST_HOP_S = 1e-3


@dataclass(frozen=True)
class Fitted:
    """Medians of round trips of a point, measured and simulated with the least hop, s.

    NaN stands for what nothing defines, where no repetition stored anything.
    """

    point: str
    measured_s: float
    simulated_s: float
    hops: float
    """Hops of the loopback in a round trip."""

    @property
    def is_known(self) -> bool:
        """Whether it says anything of a hop."""
        return all(0 < one < math.inf for one in (self.measured_s, self.simulated_s, self.hops))


def hop_s(points: Sequence[Fitted]) -> float:
    """Return the median of what points say that a hop takes; the least of none.

    Points that are not known do not count. A round trip grows by it once for each hop, which holds
    where nothing queues. Each point has one vote, however often its carrier crosses: in a sum of
    errors, a file of TFTP has twenty hops to be wrong by, and whatever it lacks becomes a hop.
    """
    known = [point for point in points if point.is_known]
    if not known:
        return LEAST_HOP_S
    met = [LEAST_HOP_S + (one.measured_s - one.simulated_s) / one.hops for one in known]
    return min(max(statistics.median(met), LEAST_HOP_S), MOST_HOP_S)
