"""How far two means differ, how sure that is, and how many repetitions would tell.

Values of a metric are told by what was drawn for them (seed and number of the streams), so that
those with random numbers in common are paired.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base.t_interval import quantile, satterthwaite
from pocketsim.sim.metrics.intervals import student_t

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Array = np.ndarray[tuple[int], np.dtype[np.float64]]
    Values = Mapping[tuple[int, int], float]


@dataclass(frozen=True)
class Difference:
    """The second run's mean of a metric less the first's, with a 95 % interval of Student's t.

    `is_paired` where both have the same seed, and so random numbers in common, repetition by
    repetition, as far as both have as many. The interval is that of the differences then, of Welch
    otherwise, and infinite where there are fewer than two values. Where nothing scatters, as shares
    that are 0 of all repetitions of one run and 1 of the other, it is of the runs' own intervals
    (Newcombe, Statistics in Medicine 17, 1998, 873-890, method 10). `deviation` is what scatters:
    the standard deviation of the differences, or of a value of each run taken from one another; nan
    where values are too few. `p_value` is of a difference of 0, two-sided, nan where it is unknown;
    `first_low` is the lower bound of the first mean, of Student's t.
    """

    metric: str
    first_mean: float
    second_mean: float
    difference: float
    ci95_low: float
    ci95_high: float
    is_paired: bool
    deviation: float
    p_value: float = math.nan
    first_low: float = math.nan

    @property
    def is_clear_of_0(self) -> bool:
        """Whether the interval does not hold 0."""
        return self.ci95_low > 0 or self.ci95_high < 0

    @property
    def has_base(self) -> bool:
        """Whether a ratio of the first mean says something: its interval does not hold 0."""
        return bool(self.first_mean) and not self.first_low <= 0

    @property
    def ratio(self) -> float:
        """The difference as a ratio of the first run's mean; nan where that is 0."""
        return self.difference / self.first_mean if self.first_mean else math.nan

    def repetitions_to_see(self, difference: float, power: float = 0.8) -> int | None:
        """Return how many repetitions of each run would show a difference of this size.

        So many that a test at 5 % finds it with probability `power`: of Student's t, by its
        noncentral distribution, with the `deviation` that was found (Cohen 1988, chapter 2). None
        where the deviation is not known, or more than a million would be needed.
        """
        if not math.isfinite(self.deviation) or not difference:
            return None
        found = _TWO
        while self._power(difference, found) < power:  # doubles, then halves the step
            found *= 2
            if found > _MOST:
                return None
        low = found // 2
        while found - low > 1 and found > _TWO:
            middle = (low + found) // 2
            low, found = (
                (low, middle) if self._power(difference, middle) >= power else (middle, found)
            )
        return found

    def _power(self, difference: float, repetitions: int) -> float:
        """Return with what probability that many repetitions show such a difference."""
        if self.deviation == 0:
            return 1.0
        from scipy import stats

        freedom = repetitions - 1 if self.is_paired else 2 * (repetitions - 1)
        bound = quantile(freedom)
        shift = abs(difference) * math.sqrt(repetitions) / self.deviation
        return float(stats.nct.sf(bound, freedom, shift) + stats.nct.cdf(-bound, freedom, shift))


def between(metric: str, ours: Values, theirs: Values) -> Difference:
    """Return by how much the mean of `theirs` differs from that of `ours`; nan is no value.

    Where nothing scatters the interval is the difference itself. Each side has a value.
    """
    pairs = [key for key in ours if key in theirs]
    both = [key for key in pairs if not math.isnan(ours[key] + theirs[key])]
    is_paired = bool(both) and len(pairs) == min(len(ours), len(theirs))
    if is_paired:
        one, other = (np.array([side[key] for key in both]) for side in (ours, theirs))
        deviation = _deviation(other - one)
    else:
        one, other = (_known(side) for side in (ours, theirs))
        deviation = math.hypot(_deviation(one), _deviation(other))
    means = float(one.mean()), float(other.mean())
    difference = means[1] - means[0]
    error, freedom = _error(one, other, is_paired=is_paired)
    half = quantile(freedom) * error if 0 < error < math.inf else error
    if half <= _ROUNDING * max(map(abs, means)):
        half = 0.0
    return Difference(
        *(metric, *means, difference, difference - half, difference + half, is_paired, deviation),
        p_value=_p_value(difference, error, freedom),
        first_low=student_t(one).low,
    )


def holm(found: Sequence[Difference]) -> list[float]:
    """Return p values of several metrics, so adjusted that any below 0.05 is wrong in 5 % of cases.

    Holm's (Scandinavian Journal of Statistics 6(2), 1979, 65-70): the k-th smallest of m is
    multiplied by m - k + 1, and none is below a smaller one. One that is not known stays nan.
    """
    known = sorted((one.p_value, place) for place, one in enumerate(found) if one.p_value >= 0)
    adjusted, most = [math.nan] * len(found), 0.0
    for rank, (p_value, place) in enumerate(known):
        most = max(most, min(1.0, p_value * (len(known) - rank)))
        adjusted[place] = most
    return adjusted


def _deviation(values: Array) -> float:
    return float(values.std(ddof=1)) if values.size >= _TWO else math.nan


def _known(side: Values) -> Array:
    return np.array([value for value in side.values() if not math.isnan(value)])


def _error(ours: Array, theirs: Array, *, is_paired: bool) -> tuple[float, float]:
    """Return the standard error of a difference of means, and its degrees of freedom by Welch.

    The error is infinite where there are fewer than two values.
    """
    if min(ours.size, theirs.size) < _TWO:
        return math.inf, 1.0
    if is_paired:
        return _deviation(theirs - ours) / math.sqrt(ours.size), float(ours.size - 1)
    squares = [_deviation(side) ** 2 / side.size for side in (ours, theirs)]
    return math.sqrt(sum(squares)), satterthwaite(squares, [ours.size - 1, theirs.size - 1])


def _p_value(difference: float, error: float, freedom: float) -> float:
    from scipy import special

    if not math.isfinite(error):
        return math.nan
    if not error:
        return float(difference == 0)
    return float(2 * special.stdtr(freedom, -abs(difference) / error))


_TWO = 2  # values that have a variance
_ROUNDING = 1e-12
_MOST = 1 << 20
