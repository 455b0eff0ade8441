"""Types of fields that several sections share; quantities are in `sim.base.documents`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

if TYPE_CHECKING:
    from collections.abc import Callable

Ratio = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Sigma = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


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


_SHARE_TOLERANCE = 1e-9  # rounding of a sum of decimal fractions
