"""How much wider an interval is for what a model leaves out: a deviation of log ratios, estimated.

A simulated interval has what is not known of its numbers, and what differs between repetitions.
That the simulator leaves things out is in neither (Kennedy and O'Hagan, Journal of the Royal
Statistical Society B 63, 2001, section 2.1). How such a deviation is estimated is calibration's
business; here it is applied.
"""

from __future__ import annotations

import math


def half_log(sigma: float, degrees_of_freedom: float) -> float:
    """Return half an interval of 90 % of log ratios with this deviation, by Student's t.

    0 where there is no deviation, or no degree of freedom to know it with.
    """
    if sigma <= 0 or degrees_of_freedom <= 0:
        return 0.0
    from scipy import special

    return float(special.stdtrit(degrees_of_freedom, _SHARE_BELOW)) * sigma


def widened(low: float, middle: float, high: float, half: float) -> tuple[float, float]:
    """Return an interval around `middle` with half an interval of log ratios in it.

    On either side the two distances are added as squares, in logarithms. What is at 0 has no
    logarithm: a bound there stays, and so does an interval whose middle is not above 0.
    """
    if not 0 <= low <= middle <= high or middle <= 0:
        return low, high
    above = math.hypot(math.log(high / middle), half)
    if low == 0:
        return low, middle * math.exp(above)
    below = math.hypot(math.log(middle / low), half)
    return middle * math.exp(-below), middle * math.exp(above)


_SHARE_BELOW = 0.95  # so that 90 % are between both bounds
