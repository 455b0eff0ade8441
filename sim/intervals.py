"""How sure a mean over repetitions is: 95 % intervals, and whether two means differ.

Intervals of what is measured once per repetition are Student's t. What is a quantile within a
repetition is skewed over them, so its mean has a bootstrap interval: repetitions are drawn anew,
and each draw is studentised by its own deviation (bootstrap-t: Efron and Tibshirani, An
Introduction to the Bootstrap, 1993, section 12.5). Of means of n = 5 from normal, lognormal (sigma
0.5) and exponential laws it covers 95, 94 and 94 %, Student's t 95, 92 and 89 %, and the percentile
or BCa bootstrap 80 to 85 %, as neither leaves the range of the values. Below five repetitions
too many draws have no deviation, so Student's t stands in and is named.

The interval of the theses, 1.96 s / sqrt(n), covers 81 % at n = 3, 88 % at n = 5 and 92 % at
n = 10. It is here under its own name, for comparison with what they print. Nothing here reads a
trace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]

Z_95 = 1.96  # as in the theses


@dataclass(frozen=True)
class Interval:
    """Bounds of a mean and how they were found, "t" or "bootstrap"; NaN for fewer than two."""

    low: float
    high: float
    method: str

    def within(self, low: float, high: float) -> Interval:
        """Return the part between `low` and `high`.

        Where all values are between them their true mean is, too, so what is cut off cannot hold
        it: the interval covers it as often as before.
        """
        low, high = (min(max(of, low), high) for of in (self.low, self.high))
        return Interval(low, high, self.method)


@dataclass(frozen=True)
class Mean:
    """A mean of `n` values with its standard error, which is 0 where one value tells none."""

    value: float
    standard_error: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Return the mean of values, and its error from their scatter."""
        half = normal_ci95(values)
        return cls(float(np.mean(values)), half / Z_95 if half > 0 else 0.0, len(values))


def student_t(values: Array | Sequence[float]) -> Interval:
    """Return the mean -+ t s / sqrt(n), t the quantile 0.975 with n - 1 degrees of freedom."""
    n = len(values)
    if n < _TWO:
        return Interval(math.nan, math.nan, "t")
    mean, half = float(np.mean(values)), _t(n - 1) * _standard_error(values)
    return Interval(mean - half, mean + half, "t")


def bootstrap_t(values: Array | Sequence[float], draws: np.random.Generator) -> Interval:
    """Return the studentised bootstrap interval of the mean, of `_RESAMPLES` draws.

    Where values are too few, or so many of them equal that draws without a deviation reach the
    bounds, return what `student_t` does.
    """
    known = np.asarray(values, dtype=float)
    n = known.size
    if n < _FEWEST:
        return student_t(known)
    drawn = known[draws.integers(0, n, (_RESAMPLES, n))]
    off, error = drawn.mean(axis=1) - known.mean(), drawn.std(axis=1, ddof=1) / math.sqrt(n)
    alike = np.ptp(drawn, axis=1) == 0
    t = np.divide(off, error, out=np.copysign(math.inf, off), where=~alike)
    least, most = np.quantile(t, (0.025, 0.975), method="inverted_cdf")
    mean, scale = float(known.mean()), _standard_error(known)
    found = Interval(mean - float(most) * scale, mean - float(least) * scale, "bootstrap")
    return found if math.isfinite(found.high - found.low) else student_t(known)


def normal_ci95(values: Array | Sequence[float]) -> float:
    """Return half the interval of the theses, 1.96 s / sqrt(n); NaN for fewer than two values.

    For comparison with what they print; too narrow for an interval of five repetitions.
    """
    return Z_95 * _standard_error(values) if len(values) >= _TWO else math.nan


def agree(one: Mean, other: Mean, tolerance: float = 0.0) -> bool:
    """Return whether two means are as close as 95 of 100 pairs with one true mean are.

    Welch's test: their difference is within t standard errors of it, t the quantile 0.975 with
    the degrees of freedom of Welch and Satterthwaite. `tolerance` is added for rounding.
    Without the error of the one, only 76 % of pairs of n = 5 are within the other's 1.96 errors.
    """
    off = abs(one.value - other.value)
    squares = [of.standard_error**2 for of in (one, other)]
    if not sum(squares):
        return off <= tolerance
    spread = [
        square**2 / (of.n - 1) for square, of in zip(squares, (one, other), strict=True) if square
    ]
    return off <= _t(sum(squares) ** 2 / sum(spread)) * math.sqrt(sum(squares)) + tolerance


def _standard_error(values: Array | Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _t(degrees: float) -> float:
    from scipy import special  # scipy.stats.t.ppf is this, and takes three times as long to import

    return float(special.stdtrit(degrees, 0.975))


_TWO = 2  # a sample deviation needs two
_FEWEST = (
    5  # one draw of 625 has no deviation; of four repetitions one of 64, and of three one of 9
)
_RESAMPLES = 9999
