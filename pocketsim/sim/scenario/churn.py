"""Phones that come and go: sections of the scenario document.

A law says of itself what its checks ask: its middle, its mean without `longest`, and about the
logarithm of the share of time that is in intervals at most so long. A moment meets long intervals
more often than short ones, so that share is the smallest probability that `sim.plan.churn` divides
by. Laws that no double computes with are refused in `sim.scenario.duration_laws`, files that make
no sense in `sim.scenario.presence_files`, laws in documents of their own are
`sim.scenario.presence_law`'s; what becomes of either is `sim.plan.churn`'s.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from pocketsim.sim.base.documents import Duration, Origin, PositiveDuration, Section, written
from pocketsim.sim.scenario.fields import kind_if_absent


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


class Churn(Section):
    """Phones that come and go, independently, from their stationary state on."""

    kind: Literal["drawn"] = Field(
        default="drawn", description="Where it is from; may be left out."
    )
    session: Lengths = Field(description="How long a phone stays on.")
    gap: Lengths = Field(description="How long it stays off.")


class ChurnLaw(Section):
    """Phones that come and go by a presence law: each in its own way, by hours of the day."""

    kind: Literal["law"] = Field(description="Where it is from.")
    law: str = Field(
        min_length=1,
        description="Presence law: name of one that comes with the package, or path of a .toml "
        "file relative to the scenario.",
    )
    time_of_day: Duration = Field(
        default=written("0s"), description="How long after midnight the run begins."
    )


class ChurnFile(Section):
    """Phones that come and go as a file says; a phone that it does not name is always on.

    In a group's file its phones are numbered from 0, in that of the scenario all phones are.
    """

    kind: Literal["file"] = Field(default="file", description="Where it is from; may be left out.")
    file: str = Field(
        min_length=1,
        description="CSV or Parquet file relative to the scenario, with columns phone, on_s and "
        "off_s: a row for each interval in which a phone is on.",
    )
    origin: Origin = Field(
        default=written("0s"),
        description="Time in the file at which the run begins: seconds on its clock, also Unix "
        'seconds, or a date and time in a time zone; "first" is the earliest in the file.',
    )


class AlwaysOn(Section):
    """Phones that do not come and go, whatever those of other groups do."""

    kind: Literal["none"] = Field(description="They are always on.")


AnyChurn = Annotated[
    Annotated[Churn | ChurnFile | ChurnLaw, Field(discriminator="kind")],
    BeforeValidator(kind_if_absent("drawn")),
]
GroupChurn = Annotated[
    Annotated[Churn | ChurnFile | ChurnLaw | AlwaysOn, Field(discriminator="kind")],
    BeforeValidator(kind_if_absent("drawn")),
]
