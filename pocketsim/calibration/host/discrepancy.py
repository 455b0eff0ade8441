"""How far the model itself is off, as some points tell: what no draw of a profile varies.

An interval of simulations has what is not known of costs, and what differs between repetitions.
That the simulator leaves things out is in neither; without a term for it, intervals of a wrong
model get ever narrower with more reports (Kennedy and O'Hagan, "Bayesian calibration of computer
models", Journal of the Royal Statistical Society B 63, 2001, section 2.1). The term is a standard
deviation of log ratios, the one that is left of fitted points' errors when what their intervals and
their own repetitions say is taken off, by the estimator of Paule and Mandel ("Consensus values and
weighting factors", Journal of Research of the National Bureau of Standards 87, 1982). Held-out
points have no part in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.sim.base.model_error import half_log, widened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Discrepancy:
    """By how much the model is off: standard deviation of log ratios, and degrees of freedom.

    With none, nothing is known of it, and no interval grows.
    """

    sigma: float
    degrees_of_freedom: int

    def widened(
        self, low: float, middle: float, high: float, floor: float = 0.0
    ) -> tuple[float, float]:
        """Return an interval of 90 % around `middle` with this in it; as it is if not positive.

        What it is to hold is itself no surer than its `floor`, a log ratio: that is in it, too, as
        the validation uncertainty u_val of ASME V&V 20-2009 has that of what was measured, u_D.
        A floor that is not finite adds nothing.
        """
        if low <= 0:
            return low, high
        half = half_log(self.sigma, self.degrees_of_freedom)
        if math.isfinite(floor):
            half = math.hypot(half, _WIDTH_SIGMAS / 2 * floor / _FLOOR_SIGMAS)
        return widened(low, middle, high, half)


NOTHING_KNOWN = Discrepancy(0.0, 0)


def of_errors(told: Iterable[tuple[float, float, float, float]]) -> Discrepancy:
    """Return that of points: each one's log ratio, its interval of 90 %, low and high, and floor.

    A floor is by how much medians of halves of the repetitions are apart, a log ratio. Where an
    interval is as wide as the point is off, or real as far from real, the point says little. Points
    without a log ratio, a positive interval or a floor say nothing.
    """
    known = [
        (error**2, (math.log(high / low) / _WIDTH_SIGMAS) ** 2 + (floor / _FLOOR_SIGMAS) ** 2)
        for error, low, high, floor in told
        if math.isfinite(error + floor) and 0 < low <= high < math.inf
    ]
    if not known:
        return NOTHING_KNOWN
    return Discrepancy(math.sqrt(variance_left(known)), len(known))  # nothing else is fitted


def variance_left(
    known: Sequence[tuple[float, float]], weights: Sequence[float] | None = None
) -> float:
    """Return what is left of squared errors when each one's own variance is taken off.

    The variance with which the weighted mean of squares over variances is 1 (Paule and Mandel); 0
    where their own explain them. `known` are squares and variances, at least one; weights are equal
    if left out.
    """
    weighted = list(zip(weights or [1.0] * len(known), known, strict=True))
    wanted = sum(weight for weight, _ in weighted)

    def over(variance: float) -> float:
        """Return by how much the errors are larger than expected with so large a variance."""
        ratios = (
            weight * square / (own + variance or _NOTHING) for weight, (square, own) in weighted
        )
        return sum(ratios) - wanted

    if over(0.0) <= 0:
        return 0.0
    from scipy import optimize

    # With a variance as large as the mean of the squares the ratios are no more than as many.
    most = sum(weight * square for weight, (square, _) in weighted) / wanted
    # Where nothing has a width it is the root itself: rounding must not leave it inside.
    most *= 1 + 1e-9
    return float(optimize.brentq(over, 0.0, most, xtol=1e-12))


_WIDTH_SIGMAS = 2 * 1.6449  # of a normal law, between its 5 and 95 %
_FLOOR_SIGMAS = 2 * 0.6745
"""Of a median of all repetitions: each half's has twice the variance, what they differ by four
times, and half of all such differences of a normal law are below 0.6745 deviations."""
_NOTHING = 1e-18  # a variance of log ratios, of an interval without a width
