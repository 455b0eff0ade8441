"""How far two runs differ in a metric, how sure that is, and how many repetitions would tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base.errors import UserError
from pocketsim.sim.base.student import quantile
from pocketsim.sim.metrics.intervals import student_t
from pocketsim.sim.scenario.resolved import streams_number

if TYPE_CHECKING:
    from pocketsim.results import Run

    Array = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class Difference:
    """The second run's mean of a metric less the first's, with a 95 % interval of Student's t.

    `is_paired` where both have the same seed, and so random numbers in common, repetition by
    repetition, as far as both have as many. The interval is that of the differences then, of Welch
    otherwise, and infinite where there are fewer than two values. `deviation` is what scatters: the
    standard deviation of the differences, or of a value of each run taken from one another; nan
    where values are too few.
    """

    metric: str
    first_mean: float
    second_mean: float
    difference: float
    ci95_low: float
    ci95_high: float
    is_paired: bool
    deviation: float

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


def compare(first: Run, second: Run, metric: str) -> Difference:
    """Return by how much `second` differs from `first` in a metric of docs/metrics.md.

    Raises UserError where one of them lacks the metric, or any value of it.
    """
    ours, theirs = _values(first, metric), _values(second, metric)
    one, other = first.resolved["run"], second.resolved["run"]
    in_common = one["seed"] == other["seed"] and streams_number(one, 0) == streams_number(other, 0)
    pairs = min(ours.size, theirs.size)
    both = ~(np.isnan(ours[:pairs]) | np.isnan(theirs[:pairs]))
    is_paired = in_common and bool(both.any())
    if is_paired:
        ours, theirs = ours[:pairs][both], theirs[:pairs][both]
        found = student_t(theirs - ours)
        low, high, deviation = found.low, found.high, _deviation(theirs - ours)
    else:
        ours, theirs = ours[~np.isnan(ours)], theirs[~np.isnan(theirs)]
        low, high = _welch(ours, theirs)
        deviation = math.hypot(_deviation(ours), _deviation(theirs))
    means = float(ours.mean()), float(theirs.mean())
    return Difference(metric, *means, means[1] - means[0], low, high, is_paired, deviation)


def _deviation(values: Array) -> float:
    return float(values.std(ddof=1)) if values.size >= _TWO else math.nan


def _values(run: Run, metric: str) -> Array:
    found = np.array([math.nan if one is None else one for one in run.values(metric)], float)
    if np.isnan(found).all():
        raise UserError(f"{run.name} has no value of {metric!r}")
    return found


def _welch(ours: Array, theirs: Array) -> tuple[float, float]:
    from scipy import stats

    if min(ours.size, theirs.size) < _TWO:
        return -math.inf, math.inf
    if ours.var() == theirs.var() == 0:
        exact = float(theirs.mean() - ours.mean())
        return exact, exact
    found = stats.ttest_ind(theirs, ours, equal_var=False).confidence_interval(0.95)
    return float(found.low), float(found.high)


_TWO = 2  # values that have a variance
_MOST = 1 << 20
