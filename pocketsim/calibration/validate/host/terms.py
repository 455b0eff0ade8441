"""What fitted points say of what the probe does not measure: how long a hop of the loopback takes.

One link term. The scheduler's part, waiting for a core after a datagram is there, is as long for
every datagram too, so points cannot tell it from the link's: the term has both.
"""

from __future__ import annotations

import math
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
    """Return the time of a hop with the smallest sum of absolute log ratios; the least of none.

    Points that are not known do not count. A round trip grows by it once for each hop, which holds
    where nothing queues. The sum has its minimum where one of the points is met, or at the least.
    """
    known = [point for point in points if point.is_known]

    def off(hop: float) -> float:
        rtts_s = [one.simulated_s + one.hops * (hop - LEAST_HOP_S) for one in known]
        pairs = zip(rtts_s, known, strict=True)
        return sum(abs(math.log(rtt_s / one.measured_s)) for rtt_s, one in pairs)

    met = [LEAST_HOP_S + (one.measured_s - one.simulated_s) / one.hops for one in known]
    tried = [min(max(hop, LEAST_HOP_S), MOST_HOP_S) for hop in [0.0, *met]]
    return min(tried, key=lambda hop: (off(hop), hop))
