"""Priors as a scale from 0 to 1: the share of the prior, between its bounds, below a value.

A search on that scale starts where the prior is and is as wide as it is; the bounds are its ends.
The prior is no part of a loss: what is found rests on rows alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pocketsim.calibration.inverse.document import Parameter
    from pocketsim.calibration.inverse.key_paths import Unit


@dataclass(frozen=True)
class Scale:
    """The scale of one parameter; values are in SI units."""

    low: float
    high: float
    _share: Callable[[float], float]
    _value: Callable[[float], float]

    def value(self, at: float) -> float:
        """Return the value at `at`, from 0 to 1, to six digits: what is tried can be written."""
        first, last = self._share(self.low), self._share(self.high)
        value = float(self._value(first + (last - first) * min(max(at, 0.0), 1.0)))
        return float(f"{min(max(value, self.low), self.high):.6g}")

    def at(self, value: float) -> float:
        """Return where a value lies."""
        first, last = self._share(self.low), self._share(self.high)
        inside = min(max(value, self.low), self.high)
        return float((self._share(inside) - first) / (last - first))


def scale(parameter: Parameter, unit: Unit, file: Path, place: str) -> Scale:
    """Return the scale of what is no choice; raises ScenarioError where there is none."""
    low = _number(unit, parameter.start, file, f"{place}.from")
    high = _number(unit, parameter.end, file, f"{place}.to")
    if low >= high:
        raise ScenarioError(file, f"{place}.to", "is not more than 'from'")
    law = _law(parameter.prior, unit, file, f"{place}.prior", (low, high))
    if not law.cdf(high) - law.cdf(low) > _LEAST_SHARE:
        raise ScenarioError(file, f"{place}.prior", "has nothing between the bounds")
    return Scale(low, high, law.cdf, law.ppf)


def _law(prior: Any, unit: Unit, file: Path, place: str, bounds: tuple[float, float]) -> Any:
    from scipy import stats

    if prior.kind == "lognormal":
        median = _number(unit, prior.median, file, f"{place}.median")
        if median <= 0:
            raise ScenarioError(file, f"{place}.median", "must be more than zero")
        return stats.lognorm(prior.sigma, scale=median)
    if prior.kind == "normal":
        mean = _number(unit, prior.mean, file, f"{place}.mean")
        sigma = _number(unit, prior.sigma, file, f"{place}.sigma")
        if sigma <= 0:
            raise ScenarioError(file, f"{place}.sigma", "must be more than zero")
        return stats.norm(mean, sigma)
    if prior.kind == "beta":
        if bounds[0] < 0 or bounds[1] > 1:
            raise ScenarioError(file, place, "a beta prior is of a number from 0 to 1")
        return stats.beta(prior.a, prior.b)
    return stats.uniform(bounds[0], bounds[1] - bounds[0])


def _number(unit: Unit, value: object, file: Path, place: str) -> float:
    try:
        found = unit.number(value)
    except ValueError as error:
        raise ScenarioError(file, place, str(error)) from None
    if not math.isfinite(found):
        raise ScenarioError(file, place, "must be a finite number")
    return found


_LEAST_SHARE = 1e-9
