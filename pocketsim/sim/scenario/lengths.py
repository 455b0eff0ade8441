"""Laws of lengths of time: tables that several sections of the scenario document have.

A law says of itself what checks ask: its middle, its mean without `longest`, and about the
logarithm of the share of time that is in intervals at most so long. A moment meets long intervals
more often than short ones, so that share is the smallest probability that `sim.plan.churn` divides
by. Laws that no double computes with are refused in `sim.scenario.duration_laws`.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from pocketsim.sim.base.documents import PositiveDuration, Section


class Weibull(Section):
    """Weibull distribution of a length of time."""

    distribution: Literal["weibull"] = Field(description="Name of the family.")
    shape: float = Field(gt=0.1, le=20, allow_inf_nan=False, description="Shape k.")
    scale: PositiveDuration = Field(description="Scale lambda.")
    longest: PositiveDuration | None = Field(
        default=None, description="Truncation: longer ones do not occur; absent for none."
    )

    @property
    def middle_s(self) -> tuple[str, float]:
        """Return the key of the scale, and the scale."""
        return "scale", self.scale

    @property
    def mean_s(self) -> float:
        """Return the mean of the whole law."""
        return self.scale * math.gamma(1 + 1 / self.shape)

    def log_share_below(self, longest_s: float) -> float:
        """Return about the logarithm of the share of time in intervals at most so long."""
        return min(0.0, (1 + self.shape) * math.log(longest_s / self.scale))


class Lognormal(Section):
    """Lognormal distribution of a length of time."""

    distribution: Literal["lognormal"] = Field(description="Name of the family.")
    median: PositiveDuration = Field(description="Median.")
    sigma: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)] = Field(
        description="Standard deviation of the logarithm."
    )
    longest: PositiveDuration | None = Field(
        default=None, description="Truncation: longer ones do not occur; absent for none."
    )

    @property
    def middle_s(self) -> tuple[str, float]:
        """Return the key of the median, and the median."""
        return "median", self.median

    @property
    def mean_s(self) -> float:
        """Return the mean of the whole law."""
        return self.median * math.exp(self.sigma**2 / 2)

    def log_share_below(self, longest_s: float) -> float:
        """Return about the logarithm of the share of time in intervals at most so long."""
        below = min(0.0, math.log(longest_s / self.median) / self.sigma - self.sigma)
        return -below * below / 2  # not below**2, which overflows with an error


Lengths = Annotated[Weibull | Lognormal, Field(discriminator="distribution")]
