"""How sure a mean over repetitions is: 95 % intervals, and whether two means differ.

Intervals of what is measured once per repetition are Student's t. Values that are equal by chance
have none of width zero:

* a share has Wilson's interval (`wilson`), whose width depends on the trials behind it;
* counts that are all equal have the interval of `equal_counts`;
* rates, times and sizes keep bounds that are equal where all values are. Repetitions draw
  differently, so a continuous quantity that comes out equal does not depend on what is drawn.

What is a quantile within a repetition is pooled (`sim.metrics.pooled_quantiles`). Where only the
quantiles of repetitions are known, their mean has a bootstrap interval: repetitions are drawn anew,
and the quantiles of the drawn means are those that make it as wide as Student's t where the law is
normal (the expanded percentile interval: Hesterberg, The American Statistician 69(4), 2015). It
never leaves the range of the values. Of means of n = 5 from normal, lognormal (sigma 0.5) and
exponential laws it covers 93, 91 and 85 %, of n = 10 94, 91 and 91 %: about what Student's t does.
A studentised bootstrap covers 94 % at n = 5, by bounds up to a thousand times as wide. Below five
repetitions the range of the values is too narrow, so Student's t stands in and is named.

The interval of the theses, 1.96 s / sqrt(n), covers 81 % at n = 3, 88 % at n = 5 and 92 % at
n = 10. It is here under its own name, for comparison with what they print. Nothing here reads a
trace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base.t_interval import quantile, satterthwaite
from pocketsim.sim.metrics import beta_binomial

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]

Z_95 = 1.96  # as in the theses


@dataclass(frozen=True)
class Interval:
    """Bounds of a mean and how they were found; NaN for fewer than two values.

    `method` is "t", "bootstrap", "wilson" or "equal_counts".
    """

    low: float
    high: float
    method: str

    def within(self, low: float, high: float) -> Interval:
        """Return the part between `low` and `high`.

        Where all values are between them their true mean is, too, so what is cut off cannot hold
        it: the interval covers it as often as before.
        """
        low, high = (min(max(bound, low), high) for bound in (self.low, self.high))
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
    mean, half = float(np.mean(values)), quantile(n - 1) * _standard_error(values)
    return Interval(mean - half, mean + half, "t")


def wilson(share: float, trials: float) -> Interval:
    """Return Wilson's score interval of a share of so many independent trials.

    Recommended with Jeffreys's for few trials by Brown, Cai and DasGupta (Statistical Science
    16(2), 2001, 101-133).
    """
    square = _NORMAL_95**2 / trials
    middle = (share + square / 2) / (1 + square)
    variance = max(share * (1 - share), 0.0) / trials  # a share may be rounded to above 1
    half = _NORMAL_95 * math.sqrt(variance + (square / _NORMAL_95 / 2) ** 2) / (1 + square)
    low, high = min(middle - half, share), max(middle + half, share)  # but for rounding
    return Interval(low, high, "wilson").within(0.0, 1.0)


def of_runs(values: Array | Sequence[float]) -> Interval:
    """Return the interval of a share of repetitions: each value is 0 or 1.

    Wilson's, whose bounds are no narrower than Clopper and Pearson's of 8 % on one side. Near 0 and
    1 Wilson's alone covers 83 % at worst. So at least 91 % of studies are covered, whatever the
    share and the number of repetitions: at n = 5 and 20 93.4 and 93.9 % where the share is 0.37,
    and 94.0 % at n = 20 where it is 0.02 or 0.98. At n = 5 that is 99.6 %: none of five is 90.4 %
    of studies, at most one of five 99.6 %, and there is nothing between. All by sums of binomials.
    """
    n = len(values)
    if n < _TWO:
        return Interval(math.nan, math.nan, "wilson")
    hits, found = float(np.sum(values)), wilson(float(np.mean(values)), n)
    low, high = _exact_low(hits, n), 1 - _exact_low(n - hits, n)
    return Interval(min(found.low, low), max(found.high, high), "wilson")


def _exact_low(hits: float, trials: float) -> float:
    """Return the share of which so many hits or more are `_EXACT_TAIL` of studies."""
    from scipy import special

    return float(special.betaincinv(hits, trials - hits + 1, _EXACT_TAIL)) if hits > 0 else 0.0


def of_shares(shares: Array | Sequence[float], trials: Array | Sequence[float]) -> Interval:
    """Return the interval of the mean of shares, each of so many trials of one repetition.

    Wilson's, of the effective number of trials: as many as would scatter as the shares do. What
    they scatter beyond independent trials is known from n repetitions only and takes Student's t
    (Korn and Graubard, Survey Methodology 24(2), 1998, 193-201, have it for all). The bound towards
    a half is no nearer than that of `beta_binomial.upper_bound`: scatter says little of what
    hardly a repetition showed.

    At n = 5 and 20 times 25 or 400 trials, and shares of 0.02, 0.37 and 0.98, it covers 94 to 98 %
    of independent trials, 92 to 98 % where their correlation within repetitions is 0.02, and 90 to
    99 % where it is 0.3. Most are covered near 0 and 1 at n = 5: what few hits there are do not
    tell whether trials are independent. What no repetition showed is in none of this: of whole
    repetitions that fail in 1 of 20, five show none in 77 of 100 studies. Shares of such
    repetitions have `of_runs`.
    """
    if len(shares) < _TWO:
        return Interval(math.nan, math.nan, "wilson")
    given, each = np.asarray(shares, dtype=float), np.asarray(trials, dtype=float)
    mean = float(np.mean(given))
    found = wilson(mean, _effective_trials(given, each))
    if mean <= _HALF:
        high = beta_binomial.upper_bound(given, each)
        return Interval(found.low, max(found.high, high), "wilson")
    low = 1 - beta_binomial.upper_bound(1 - given, each)
    return Interval(min(found.low, low), found.high, "wilson")


def _effective_trials(shares: Array, trials: Array) -> float:
    """Return how many independent trials would tell as much as shares of repetitions do."""
    n, mean = len(shares), float(np.mean(shares))
    variance = max(mean * (1 - mean), 0.0)
    every = n**2 / float(np.sum(1 / trials))
    beyond = max(_standard_error(shares) ** 2 - variance / every, 0.0)
    if not variance or not beyond:
        return every
    return max(variance / (variance / every + beyond * (quantile(n - 1) / _NORMAL_95) ** 2), 1.0)


def equal_counts(values: Array | Sequence[float]) -> Interval:
    """Return the interval of the mean of counts, Student's t unless all are equal.

    Of n equal counts, the share of repetitions with another one is at most Wilson's upper bound of
    none in n. These are taken to differ by one: 0 accusations in 5 runs are 0 to 0.43 in the mean.
    """
    if len(values) < _TWO or np.ptp(values) > 0:
        return student_t(values)
    half = wilson(0.0, len(values)).high
    return Interval(float(values[0]) - half, float(values[0]) + half, "equal_counts")


def bootstrap(values: Array | Sequence[float], draws: np.random.Generator) -> Interval:
    """Return the expanded percentile interval of the mean, of `_RESAMPLES` draws.

    Of fewer than five values, return what `student_t` does.
    """
    known = np.asarray(values, dtype=float)
    n = known.size
    if n < _FEWEST:
        return student_t(known)
    share = _normal_below(-math.sqrt(n / (n - 1)) * quantile(n - 1))
    means = _drawn_means(known, draws)
    low, high = np.quantile(means, (share, 1 - share), method="inverted_cdf")
    return Interval(float(low), float(high), "bootstrap")


def _drawn_means(known: Array, draws: np.random.Generator) -> Array:
    """Return the means of `_RESAMPLES` draws, a part at a time: memory must not grow with them."""
    rows = max(1, _DRAWN_AT_ONCE // known.size)
    parts = [
        known[draws.integers(0, known.size, (min(rows, _RESAMPLES - start), known.size))].mean(
            axis=1
        )
        for start in range(0, _RESAMPLES, rows)
    ]
    return np.concatenate(parts)


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
    squares = [mean.standard_error**2 for mean in (one, other)]
    if not sum(squares):
        return off <= tolerance
    # One value has no error, and then no freedom.
    degrees = satterthwaite(squares, [max(1, mean.n - 1) for mean in (one, other)])
    return off <= quantile(degrees) * math.sqrt(sum(squares)) + tolerance


def _standard_error(values: Array | Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _normal_below(deviations: float) -> float:
    from scipy import special

    return float(special.ndtr(deviations))


_NORMAL_95 = 1.959963984540054  # quantile 0.975 of the normal law
_EXACT_TAIL = 0.08  # 8 % on one side keep 92 %; 2.5 % would keep 95 % and cover 98 % on average
_HALF = 0.5
_TWO = 2  # a sample deviation needs two
_FEWEST = 5  # of four, the mean of a normal law is out of their range in one of eight cases
_RESAMPLES = 9999
_DRAWN_AT_ONCE = 1_000_000
