"""How far two runs differ in a metric, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base.errors import UserError
from pocketsim.sim.metrics.intervals import student_t
from pocketsim.sim.scenario.resolved import streams_number

if TYPE_CHECKING:
    from pocketsim.results import Run


@dataclass(frozen=True)
class Difference:
    """The second run's mean of a metric less the first's, with a 95 % interval of Student's t.

    `is_paired` where both have the same seed and first repetition, and so random numbers in common,
    repetition by repetition. The interval is that of the differences then, of Welch otherwise, and
    infinite where there are fewer than two values.
    """

    metric: str
    first_mean: float
    second_mean: float
    difference: float
    ci95_low: float
    ci95_high: float
    is_paired: bool

    @property
    def ratio(self) -> float:
        """The difference as a ratio of the first run's mean; nan where that is 0."""
        return self.difference / self.first_mean if self.first_mean else math.nan


def compare(first: Run, second: Run, metric: str) -> Difference:
    """Return by how much `second` differs from `first` in a metric of docs/metrics.md.

    Raises UserError where one of them lacks the metric, or any value of it.
    """
    ours, theirs = _values(first, metric), _values(second, metric)
    one, other = first.resolved["run"], second.resolved["run"]
    both = ~(np.isnan(ours) | np.isnan(theirs)) if ours.size == theirs.size else np.array([])
    in_common = one["seed"] == other["seed"] and streams_number(one, 0) == streams_number(other, 0)
    is_paired = in_common and bool(both.any())
    if is_paired:
        ours, theirs = ours[both], theirs[both]
        found = student_t(theirs - ours)
        low, high = found.low, found.high
    else:
        ours, theirs = ours[~np.isnan(ours)], theirs[~np.isnan(theirs)]
        low, high = _welch(ours, theirs)
    means = float(ours.mean()), float(theirs.mean())
    return Difference(metric, *means, means[1] - means[0], low, high, is_paired)


def _values(run: Run, metric: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = np.array([math.nan if one is None else one for one in run.values(metric)], float)
    if np.isnan(found).all():
        raise UserError(f"{run.name} has no value of {metric!r}")
    return found


def _welch(
    ours: np.ndarray[tuple[int], np.dtype[np.float64]],
    theirs: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[float, float]:
    from scipy import stats

    if min(ours.size, theirs.size) < _TWO:
        return -math.inf, math.inf
    if ours.var() == theirs.var() == 0:
        exact = float(theirs.mean() - ours.mean())
        return exact, exact
    found = stats.ttest_ind(theirs, ours, equal_var=False).confidence_interval(0.95)
    return float(found.low), float(found.high)


_TWO = 2  # values that have a variance
