"""Numbers and choices that say how they are known: with a standard error, a basis and a source.

Profiles of devices and of implementations consist of them, and scenarios use them where a session
of measurements differed from the phone's profile. Nothing here knows what a number is for.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import Duration, Rate, Section, Size

Basis = Literal["measured", "published", "proxy", "fitted", "assumed"]
Plain = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Provenance(Section):
    """How a number is known."""

    samples: int = Field(default=0, ge=0, description="Measurements behind the number.")
    basis: Basis = Field(
        description="proxy: published for a similar part; fitted: to the rows of fitted_to."
    )
    source: str = Field(min_length=1, description="Paper, file and line, or the reasoning.")
    fitted_to: list[str] = Field(default=[], description="Published rows it was fitted to.")

    @model_validator(mode="after")
    def _says_what_it_rests_on(self) -> Provenance:
        if self.basis == "fitted" and not self.fitted_to:
            raise ValueError("basis = 'fitted' needs fitted_to, the rows it was fitted to")
        if self.basis == "measured" and not self.samples:
            raise ValueError("basis = 'measured' needs samples, the number of measurements")
        return self


class _Number(Provenance):
    """A number whose standard error may be 0 only if it is exact by nature."""

    is_one_number = True

    @model_validator(mode="after")
    def _is_uncertain(self) -> _Number:
        if self.basis in {"assumed", "fitted"} and getattr(self, "standard_error", None) == 0:
            raise ValueError(f"basis = {self.basis!r} without uncertainty: standard_error is 0")
        return self


class DurationNumber(_Number):
    """A length of time with its uncertainty."""

    value: Duration = Field(description="Best estimate.")
    standard_error: Duration = Field(description="Standard error of the estimate.")


class PlainNumber(_Number):
    """A number without a dimension, with its uncertainty."""

    value: Plain = Field(description="Best estimate.")
    standard_error: Plain = Field(description="Standard error of the estimate.")


class SizeNumber(_Number):
    """A number of bytes with its uncertainty."""

    value: Size = Field(description="Best estimate.")
    standard_error: Size = Field(description="Standard error of the estimate.")


class Limit(Provenance):
    """A whole number that code sets, as a limit or a count: it has no error."""

    value: int = Field(ge=0, le=2**53, description="What the code says.")


class Flag(Provenance):
    """Whether something is done."""

    value: bool = Field(description="true or false.")


class RateNumber(_Number):
    """A frequency with its uncertainty."""

    value: Rate = Field(description="Best estimate.")
    standard_error: Rate = Field(description="Standard error of the estimate.")


class Window(_Number):
    """A uniform window of time; its uncertainty shifts both ends together."""

    start: Duration = Field(alias="from", description="Earliest.")
    end: Duration = Field(alias="to", description="Latest.")
    standard_error: Duration = Field(description="Standard error of both ends.")

    @model_validator(mode="after")
    def _in_order(self) -> Window:
        if self.end < self.start:
            raise ValueError("'to' is before 'from'")
        return self
