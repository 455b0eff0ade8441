"""Types of fields that several sections share; quantities are in `sim.base.documents`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field

if TYPE_CHECKING:
    from collections.abc import Callable

Ratio = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Sigma = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, le=24, allow_inf_nan=False)]


def _have_mean_one(hours: list[float]) -> list[float]:
    mean = sum(hours) / len(hours)
    if abs(mean - 1) > _HOURS_TOLERANCE:
        raise ValueError(f"hours have mean {mean:.4g}, not 1")
    return hours


Hours = Annotated[list[Weight], Field(min_length=24, max_length=24), AfterValidator(_have_mean_one)]
"""Rate in each hour of the day over its mean."""
_Likelihood = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]
Day = Annotated[list[_Likelihood], Field(min_length=24, max_length=24)]
"""A weight for each hour of the day."""


def add_up(shares: list[float]) -> bool:
    """Tell whether `shares` add up to 1, but for the rounding of decimal fractions."""
    return abs(sum(shares) - 1) <= _SHARE_TOLERANCE


def kind_if_absent(otherwise: str) -> Callable[[Any], Any]:
    """Return what gives a table without `kind` the one that its keys tell: "file", or another."""

    def told(value: Any) -> Any:
        if not isinstance(value, dict) or "kind" in value:
            return value
        return {"kind": "file" if "file" in value else otherwise, **value}

    return told


_HOURS_TOLERANCE = 5e-3  # 24 weights of two decimals
_SHARE_TOLERANCE = 1e-9  # rounding of a sum of decimal fractions
