"""Types of fields that several sections share; quantities are in `sim.base.documents`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Ratio = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Sigma = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


def add_up(shares: list[float]) -> bool:
    """Tell whether `shares` add up to 1, but for the rounding of decimal fractions."""
    return abs(sum(shares) - 1) <= _SHARE_TOLERANCE


_SHARE_TOLERANCE = 1e-9  # rounding of a sum of decimal fractions
