"""From the samples of one case to a mean, its standard error and the spread of executions.

Pure functions of numbers; robust, so that a few samples that the system interrupted move little:

* a sample is the mean over the `iterations_per_sample` executions that were timed together;
* the sigma of a sample is half the distance of the quantiles 15.9 % and 84.1 % of its logarithm;
* of samples that resemble their predecessor it is that of the differences between neighbours, over
  the root of 2: what lasts longer is no scatter of executions;
* the mean is median * exp(sigma^2 / 2), that of a lognormal, which is what the simulator draws.
  A median alone would be too low for operations that are timed one by one;
* the standard error of a median is half its 68 % interval from order statistics (quantiles
  1/2 -+ 1/2 / sqrt(n)), which sketches have as well as raw samples. Samples in order of time that
  resemble their predecessor count as fewer: n (1 - r) / (1 + r), with r their rank correlation;
* rounds, between which the device did something else, may disagree by more than that: each has a
  mean of its own, and where that of the case is asked for alone, their scatter is the error;
* the clock's resolution is a further, uniform error of each timing.

What does not live here: cases with different sizes (`calibration.fit.lines`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.probe_report import Samples

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Estimate:
    """The mean of a quantity, how sure it is, and the sigma of one sample's logarithm.

    `independent` is how many independent samples they are worth, for the error of that sigma; or
    `differences`, where that is of differences of neighbours.
    Of the standard error, `own_error` is what the samples of a round leave and `clock_error` the
    clock's, which is that of every round; `rounds` are the means of several, if there are.
    """

    mean: float
    standard_error: float
    sample_sigma: float
    samples: int
    iterations: int = 1
    own_error: float = 0.0
    clock_error: float = 0.0
    rounds: tuple[float, ...] = ()
    independent: float = 1.0
    differences: float = 0.0


def estimate(
    samples: Samples,
    resolution: float = 0.0,
    iterations: int = 1,
    round_medians: Sequence[float] = (),
    round_samples: Sequence[int] = (),
) -> Estimate:
    """Return what `samples` say about the mean of their quantity.

    `resolution` is the clock's step, in the quantity's unit; each sample is the mean over
    `iterations`; `round_medians` may be those of a quantity in proportion to this one, and
    `round_samples` say where one round ends in samples in order of time.
    Quantities that reach zero or below have no logarithm. Those that nearly do, as differences,
    have one whose sigma says little: above `_WIDEST` the mean of a lognormal is 90 times its
    median. Of both it is the plain mean with its standard error, and a sigma of 0.
    """
    rounding = resolution / iterations / math.sqrt(12)  # of a uniform error
    points, weights = _points(samples)
    if points[0] <= 0:
        return _plain(samples, iterations, rounding)
    logs = np.log(points)
    low, middle, high = _quantiles(logs, weights, (_LOWER, 0.5, 1 - _LOWER))
    sigma = float(high - low) / 2
    if sigma > _WIDEST:
        return _plain(samples, iterations, rounding)
    n = _independent(samples)
    half = 0.5 / math.sqrt(n)
    below, above = _quantiles(logs, weights, (0.5 - half, 0.5 + half))
    # The second term: sigma has an error too, and enters the mean by sigma^2 / 2.
    own = math.hypot((above - below) / 2, sigma**2 / math.sqrt(2 * n))
    relative = max(own, _between_rounds(round_medians))
    rounds = _rounds(samples, math.exp(middle + sigma**2 / 2), round_medians, round_samples)
    mean = float(np.mean(rounds))
    sigma, differences = _of_executions(samples, sigma, n)
    return Estimate(
        mean=mean,
        standard_error=math.hypot(relative * mean, rounding),
        sample_sigma=sigma,
        samples=samples.count,
        iterations=iterations,
        own_error=own * mean,
        clock_error=rounding,
        rounds=rounds if len(rounds) > 1 else (),
        independent=n,
        differences=differences,
    )


def _plain(samples: Samples, iterations: int, rounding: float) -> Estimate:
    error = math.hypot(samples.standard_deviation / math.sqrt(samples.count), rounding)
    return Estimate(samples.mean, error, 0.0, samples.count, iterations, error, rounding)


@dataclass(frozen=True)
class Sigma:
    """That of a lognormal, and its standard error."""

    value: float
    standard_error: float


def mean_estimate(told: Sequence[Estimate]) -> Estimate:
    """Return the mean of estimates of one kernel, with the samples of the first."""
    mean = math.fsum(one.mean for one in told) / len(told)
    error = math.hypot(*(one.standard_error for one in told)) / len(told)
    return Estimate(mean, error, 0.0, told[0].samples)


def execution_sigma(estimates: Sequence[Estimate]) -> Sigma:
    """Return the sigma of single executions behind samples that are means over several.

    The variance of a sample is a + b / iterations: b differs from execution to execution, a is
    shared by those of one sample (the clock frequency at that moment). Cases of one kernel with
    different iterations tell them apart, by least squares with neither negative. Where all have
    the same, executions are taken to be independent: a = 0. The result is that of a lognormal
    whose squared coefficient of variation is a + b. Its error is that of variances between two
    quantiles, of so many samples, and larger where the cases are further apart than that (Birge,
    Phys. Rev. 40, 1932, 207).
    """
    from scipy.optimize import nnls

    iterations = np.array([one.iterations for one in estimates], dtype=float)
    sigmas = np.array([one.sample_sigma for one in estimates])
    variances = np.expm1(sigmas**2)
    if not variances.any():
        return Sigma(0.0, 0.0)
    # The standard error of a variance is in proportion to it.
    weights = 1 / np.maximum(variances, variances.max() * _SMALLEST_VARIANCE)
    design = np.column_stack([np.ones_like(iterations), 1 / iterations])
    if iterations.min() == iterations.max():
        design[:, 0] = 0.0
    scaled, target = design * weights[:, None], variances * weights
    parts, _ = nnls(scaled, target)
    found = math.sqrt(math.log1p(parts.sum()))
    errors = 2 * sigmas**2 * np.exp(sigmas**2) * weights * _SIGMA_ERROR
    errors /= np.sqrt([one.differences or one.independent for one in estimates])
    inverse = np.linalg.pinv(scaled[:, parts > 0])
    error = math.sqrt(float(((inverse.sum(axis=0) * errors) ** 2).sum()))
    apart, freedom = (target - scaled @ parts)[errors > 0] / errors[errors > 0], inverse.shape
    left = int(freedom[1] - freedom[0])
    widening = max(1.0, float(apart @ apart) / left) if left > 0 else 1.0
    own = error * math.sqrt(widening) / (2 * found * (1 + float(parts.sum())))
    return Sigma(found, own)


def sigma_of(estimates: Sequence[Estimate], mean: float) -> Sigma:
    """Return the sigma of executions of one `mean` that deviate by as much as all these did.

    By as much in the quantity's unit: what is left of times without their priced parts differs from
    report to report, and what a trip varies by does not in proportion to that. Every sample counts
    alike; each is of one execution. The error is that of deviations between two quantiles, of so
    many samples, and larger where the estimates are further apart than that.
    """
    sigmas = np.array([one.sample_sigma for one in estimates])
    shares = np.array([one.samples for one in estimates]) / sum(one.samples for one in estimates)
    squares = (np.array([one.mean for one in estimates]) / mean) ** 2 * np.expm1(sigmas**2)
    variance = float(shares @ squares)
    if not variance:
        return Sigma(0.0, 0.0)
    value = math.sqrt(math.log1p(variance))
    known = np.array([one.differences or one.independent for one in estimates])
    own = math.sqrt(float(((2 * _SIGMA_ERROR * shares * squares) ** 2 / known).sum()))
    count = len(estimates)
    apart = math.sqrt(float((shares**2 @ (squares - variance) ** 2) * count / max(1, count - 1)))
    return Sigma(value, max(own, apart) / (2 * value * (1 + variance)))


def _between_rounds(medians: Sequence[float]) -> float:
    """Return the relative standard error of the mean of the rounds' medians."""
    if len(medians) < 2 or min(medians) <= 0:  # noqa: PLR2004 - one round scatters around nothing
        return 0.0
    return float(np.std(np.log(medians), ddof=1)) / math.sqrt(len(medians))


def _rounds(
    samples: Samples, mean: float, medians: Sequence[float], counts: Sequence[int]
) -> tuple[float, ...]:
    """Return the mean in each round; `mean` alone where rounds are not told apart.

    That of a case, for samples of which only quantiles are kept: in proportion to the medians.
    """
    if len(medians) < 2 or min(medians) <= 0:  # noqa: PLR2004 - one round is all there is
        return (mean,)
    if samples.values is None or sum(counts) != samples.count or min(counts, default=0) < 1:
        return tuple(mean * each / float(np.mean(medians)) for each in medians)
    parts = [np.sort(part) for part in np.split(np.log(samples.values), np.cumsum(counts)[:-1])]
    found = [_quantiles(each, np.linspace(0, 1, each.size), _ROUND_QUANTILES) for each in parts]
    low, middle, high = np.array(found).T
    within = float(np.average((high - low) ** 2, weights=counts)) / 4
    return tuple(np.exp(middle + within / 2).tolist())


def _points(samples: Samples) -> tuple[Array, Array]:
    """Return sorted numbers and the share of the samples below each."""
    points = np.sort(np.array(samples.values or samples.quantiles))
    return points, np.linspace(0, 1, points.size)


def _quantiles(points: Array, shares: Array, wanted: Sequence[float]) -> Array:
    return np.interp(wanted, shares, points)


def _of_executions(samples: Samples, sigma: float, independent: float) -> tuple[float, float]:
    """Return the sigma of samples without what neighbours share, and its worth; 0 if of all.

    Differences of neighbours tell a variance as well as two thirds as many samples would
    (von Neumann, Ann. Math. Stat. 12, 1941, 367).
    """
    count = samples.count
    correlation = (count - independent) / (count + independent)
    if samples.values is None or correlation <= _BY_CHANCE / math.sqrt(count):
        return sigma, 0.0
    apart = np.sort(np.diff(np.log(samples.values)))
    low, high = _quantiles(apart, np.linspace(0, 1, apart.size), (_LOWER, 1 - _LOWER))
    return min(sigma, float(high - low) / 2 / math.sqrt(2)), count / 1.5


def _independent(samples: Samples) -> float:
    """Return how many independent samples these are worth."""
    if samples.values is None or samples.count < _FEWEST_TO_CORRELATE:
        return samples.count
    ranks = np.argsort(np.argsort(samples.values, kind="stable"), kind="stable")
    before, after = ranks[:-1] - ranks[:-1].mean(), ranks[1:] - ranks[1:].mean()
    spread = math.sqrt(float(before @ before) * float(after @ after))
    correlation = max(0.0, float(before @ after) / spread)
    return max(1.0, samples.count * (1 - correlation) / (1 + correlation))


FEWEST_SAMPLES = 5
"""Fewer say nothing of their own error: a case with less counts as not measured."""

_LOWER = 0.15865525393145707  # of a normal distribution, below one sigma under its middle
_WIDEST = 3.0
_ROUND_QUANTILES = (_LOWER, 0.5, 1 - _LOWER)
_BY_CHANCE = 2.0  # standard errors of a correlation of nothing
_FEWEST_TO_CORRELATE = 20  # below, a correlation is mostly chance
# Of the sigma of a normal distribution by those two quantiles, times the root of the samples: they
# vary by p (1 - p) / f^2 each and p^2 / f^2 together, with p of 15.9 % and the density f there.
_SIGMA_ERROR = 0.9617
_SMALLEST_VARIANCE = 1e-4  # of the largest: a case without any spread does not decide alone
