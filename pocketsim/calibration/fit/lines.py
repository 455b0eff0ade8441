"""Lines through cases, and means over reports, with errors that admit what they leave over.

One method serves both: every value has its own known variance and all share an unknown excess,
chosen so that the weighted squares of what is left equal the degrees of freedom (Paule and Mandel,
J. Res. NBS 87, 1982, 377; the same estimate of the variance between studies is used beside
DerSimonian and Laird's in meta-analysis). For a line through sizes the excess is lack of fit, for
reports it is what differs from run to run. Nothing here knows what is fitted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Line:
    """y = intercept + slope * x, neither negative, over the places that were measured."""

    intercept: float
    slope: float
    covariance: Array  # of intercept and slope, from the errors of y alone
    free_errors: tuple[float, float]  # of both, had neither been held at 0
    lack_of_fit: float  # standard deviation of y around the line, relative to y
    places: Array  # that differ
    weights: Array  # two rows, which make intercept and slope of y at the places

    def at(self, x: float) -> float:
        """Return y at `x`."""
        return self.intercept + self.slope * x

    def sampling_error(self, x: float) -> float:
        """Return the standard error of y at `x` without lack of fit."""
        design = np.array([1.0, x])
        return math.sqrt(max(0.0, float(design @ self.covariance @ design)))


def fit_line(x: Array, y: Array, standard_error: Array) -> Line:
    """Return the weighted least-squares line through `y` > 0 with its standard errors > 0.

    A line that would start or run below zero is fitted without that term. At one place only,
    the slope is 0.
    """
    x, y, variances = np.asarray(x, float), np.asarray(y, float), np.asarray(standard_error) ** 2
    terms = [0, 1] if np.ptp(x) > 0 else [0]
    full = np.column_stack([np.ones_like(x), x])
    fitted, covariance, inverse, lack = _fit(full[:, terms], y, variances)
    free = [*np.sqrt(np.diag(covariance)).tolist(), 0.0]
    if fitted.min() < 0:
        terms = [1] if fitted[0] < 0 else [0]
        fitted, covariance, inverse, lack = _fit(full[:, terms], y, variances)
    both, errors, weights = np.zeros(2), np.zeros((2, 2)), np.zeros((2, x.size))
    both[terms], weights[terms] = fitted, inverse
    errors[np.ix_(terms, terms)] = covariance
    return Line(
        intercept=float(both[0]),
        slope=float(both[1]),
        covariance=errors,
        free_errors=(free[0], free[1]),
        lack_of_fit=lack,
        places=np.unique(x),
        weights=weights,
    )


@dataclass(frozen=True)
class Mean:
    """A mean of positive numbers: weights that add up to 1, its standard error, the excess."""

    value: float
    standard_error: float
    excess: float  # standard deviation beyond the known errors
    weights: Array

    def relative_error(self) -> float:
        """Return the standard error relative to the mean."""
        return self.standard_error / self.value

    def between_sigma(self) -> float:
        """Return the excess as the sigma of a lognormal factor of mean 1."""
        return math.sqrt(math.log1p((self.excess / self.value) ** 2))


def combine(y: Array, standard_error: Array) -> Mean:
    """Return the mean of independent `y` whose errors are known but for a common excess.

    Where there is an excess, the standard error is that of the scatter too (Hartung and Knapp,
    Statistics in Medicine 20, 2001, 3875): that the two agree is how the excess was chosen.
    """
    y, variances = np.asarray(y, float), np.asarray(standard_error, float) ** 2
    ones = np.ones((y.size, 1))
    excess = excess_variance(ones, y, variances, ones[:, 0])
    weights = 1 / (variances + excess)
    total = weights.sum()
    mean = float(weights @ y / total)
    return Mean(mean, math.sqrt(1 / total), math.sqrt(excess), weights / total)


def excess_variance(design: Array, y: Array, variances: Array, scale: Array) -> float:
    """Return e >= 0 such that the residuals of y fit variances + e * scale^2; 0 when they do."""
    from scipy.optimize import brentq

    freedom = int(y.size - design.shape[1])

    def too_large(excess: float) -> float:
        total = variances + excess * scale**2
        fitted, _ = _solve(design, y, 1 / total)
        squares: Array = (y - design @ fitted) ** 2 / total
        return float(squares.sum()) - freedom

    if freedom <= 0 or too_large(0.0) <= 0:
        return 0.0
    upper = float((variances / scale**2).max())
    while too_large(upper) > 0:
        upper *= 4
    # Its own is absolute, and in s^2 that of costs of microseconds is smaller.
    return float(brentq(too_large, 0.0, upper, xtol=upper * _TOLERANCE))


def _fit(design: Array, y: Array, variances: Array) -> tuple[Array, Array, Array, float]:
    """Return coefficients, their covariance from `variances` alone, their weights and the lack."""
    excess = excess_variance(design, y, variances, y)
    fitted, inverse = _solve(design, y, 1 / (variances + excess * y**2))
    return fitted, inverse @ np.diag(variances) @ inverse.T, inverse, math.sqrt(excess)


def _solve(design: Array, y: Array, weights: Array) -> tuple[Array, Array]:
    """Return the weighted least-squares coefficients and the matrix that makes them of y."""
    # In units of the largest entry: sizes and seconds are ten orders of magnitude apart.
    scale = np.abs(design).max(axis=0)
    root = np.sqrt(weights / weights.max())[:, None]
    inverse = np.linalg.pinv(design / scale * root) * root.T / scale[:, None]
    return inverse @ y, inverse


_TOLERANCE = 1e-18  # of the bound, as the excess itself may be orders of magnitude below it
