"""How people walk, in closed forms: what a limit expects of a walk, and what a plan draws from.

Lengths are in metres, times in seconds. Nothing here is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pocketsim.sim.base.streams import Floats


@dataclass(frozen=True)
class PowerLaw:
    """A density in proportion to x^-(1 + exponent) from `least`, above 0, to `most`.

    The exponent may be 0 or less.
    """

    exponent: float
    least: float
    most: float

    def mass(self) -> float:
        """Return the integral of x^-(1 + exponent) from least to most."""
        if self.exponent == 0:
            return self._octaves()
        power = math.pow(self.least, -self.exponent) / self.exponent
        return -power * math.expm1(-self.exponent * self._octaves())

    def mean(self, power: float = 1.0) -> float:
        """Return the mean of x^power."""
        return PowerLaw(self.exponent - power, self.least, self.most).mass() / self.mass()

    def quantile(self, share: Floats) -> Floats:
        """Return the inverse of the distribution function."""
        import numpy as np  # who checks a scenario draws nothing

        if self.exponent == 0:
            found: Floats = self.least * np.exp(share * self._octaves())
        else:
            within = math.expm1(-self.exponent * self._octaves())
            found = self.least * np.exp(-np.log1p(share * within) / self.exponent)
        return np.clip(found, self.least, self.most)

    def length_biased(self) -> PowerLaw:
        """Return the law of what is met at a random moment: of density x f(x) / mean."""
        return PowerLaw(self.exponent - 1, self.least, self.most)

    def _octaves(self) -> float:
        return math.log(self.most / self.least)


@dataclass(frozen=True)
class LegTimes:
    """Legs of a Levy walk, and how long they take: time_factor l^(1 - rho), but no faster than may.

    That is the fit of Rhee et al. (IEEE/ACM Transactions on Networking 19, 2011).
    """

    lengths: PowerLaw
    time_factor: float
    rho: float
    fastest_m_per_s: float

    def time_s(self, length_m: Floats) -> Floats:
        """Return how long legs take."""
        import numpy as np  # who checks a scenario draws nothing

        free_s = self.time_factor * length_m ** (1 - self.rho)
        taken_s: Floats = np.maximum(free_s, length_m / self.fastest_m_per_s)
        return taken_s

    def mean_s(self) -> float:
        """Return the mean over legs."""
        whole = self.lengths.mass()
        return math.fsum(factor * law.mass() for factor, law in self._met()) / whole

    def met_quantile_m(self, share: Floats) -> Floats:
        """Return the inverse distribution function of the length of the leg of a random moment.

        Its density is that of lengths times how long they take.
        """
        import numpy as np  # who checks a scenario draws nothing

        parts = self._met()
        weights = np.array([factor * law.mass() for factor, law in parts])
        edges = np.concatenate([[0.0], np.cumsum(weights / weights.sum())])
        found = np.empty_like(share)
        for (_, law), low, high in zip(parts, edges[:-1], edges[1:], strict=True):
            inside = (share >= low) & (share <= high)
            found[inside] = law.quantile((share[inside] - low) / (high - low))
        return found

    def _met(self) -> list[tuple[float, PowerLaw]]:
        """Return the parts of that density, each a factor and a power law."""
        law = self.lengths
        # Up to the edge the fit holds, beyond it the greatest speed.
        parts = (
            (self.time_factor, 1 - self.rho, law.least, min(law.most, self._edge_m())),
            (1 / self.fastest_m_per_s, 1.0, max(law.least, self._edge_m()), law.most),
        )
        return [
            (factor, PowerLaw(law.exponent - power, least, most))
            for factor, power, least, most in parts
            if least < most
        ]

    def _edge_m(self) -> float:
        """Return the length from which on legs are as fast as may be."""
        if self.rho == 0:
            return 0.0 if self.time_factor * self.fastest_m_per_s < 1 else math.inf
        return math.pow(self.time_factor * self.fastest_m_per_s, 1 / self.rho)


def mean_leg_m(width_m: float, height_m: float) -> float:
    """Return the mean distance of two uniform points of a rectangle (Ghosh 1951)."""
    a, b = width_m, height_m
    if max(a, b) > _LINE * min(a, b):
        return max(a, b) / 3  # as good as a line; the formula would be all rounding errors
    diagonal = math.hypot(a, b)
    squares = a**3 / b**2 + b**3 / a**2 + diagonal * (3 - a**2 / b**2 - b**2 / a**2)
    sides = b**2 / a * math.acosh(diagonal / b) + a**2 / b * math.acosh(diagonal / a)
    return squares / 15 + sides / 6


def mean_inverse_speed(slowest: float, fastest: float) -> float:
    """Return the mean of 1/v of a speed that is uniform between two."""
    if fastest == slowest:
        return 1 / slowest
    return math.log(fastest / slowest) / (fastest - slowest)


def meetings_per_s(range_m: float, speed_m_per_s: float, area_m2: float) -> float:
    """Return how often two who walk by random waypoint meet (Groenevelt et al. 2005).

    For directions and places as those have, and a range that is small beside the sides.
    """
    return 8 * WAYPOINT_DENSITY * range_m * speed_m_per_s / (math.pi * area_m2)


WAYPOINT_DENSITY = 1.3683
"""Integral of the squared density of who walks by random waypoint, times the area of the square:
how much more often two of them are near each other than two uniform places are."""
_LINE = 1e3
