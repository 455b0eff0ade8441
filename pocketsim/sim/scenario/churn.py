"""Phones that come and go: sections of the scenario document.

Laws that no double computes with are refused in `sim.scenario.lengths`; `sim.plan.churn` draws.
"""

from __future__ import annotations

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


Lengths = Annotated[Weibull | Lognormal, Field(discriminator="distribution")]


class Churn(Section):
    """Phones that come and go, independently, from their stationary state on."""

    session: Lengths = Field(description="How long a phone stays on.")
    gap: Lengths = Field(description="How long it stays off.")
