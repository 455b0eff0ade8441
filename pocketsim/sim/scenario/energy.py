"""What phones draw, by component: its section of the scenario document.

The same powers hold for every phone, whatever its profile, but for the tokens' authority, which
is no phone and has no account. How they are added up is sim/engine/src/record/energy.rs's. Prices
that are given together say together how they are known.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import Duration, Power, Section, written
from pocketsim.sim.base.documents import Energy as Joules
from pocketsim.sim.devices.provenance import Basis

Year = Annotated[int, Field(ge=1900, le=2100)]
Source = Annotated[str, Field(min_length=1)]


class Known(Section):
    """Prices, and how they are known."""

    absent_when_none = frozenset({"basis", "source", "year"})

    basis: Basis | None = Field(
        default=None,
        description="How these prices are known. proxy: published for a similar part; absent:"
        " assumed.",
    )
    source: Source | None = Field(
        default=None,
        description="Paper, file and line, or the reasoning; needed unless they are assumed.",
    )
    year: Year | None = Field(default=None, description="When they were published or measured.")

    @model_validator(mode="after")
    def _names_its_source(self) -> Known:
        _check("", self.basis, self.source)
        return self


class Radio(Known):
    """The radio of an access network: active, in its tail, asleep."""

    active: Power = Field(description="While it sends or receives.")
    up_per_byte: Joules = Field(
        default=written("0J"), description="For each byte that it sends, beside that."
    )
    down_per_byte: Joules = Field(
        default=written("0J"), description="For each byte that it receives, beside that."
    )
    tail: Duration = Field(
        default=written("0s"), description="It falls asleep when it was silent for so long."
    )
    tail_power: Power = Field(default=written("0W"), description="In its tail.")
    promotion: Joules = Field(default=written("0J"), description="For waking up.")


class ContactRadio(Known):
    """One end of a kind of link between two phones near each other."""

    active: Power = Field(description="While the link carries bytes either way.")


class Energy(Section):
    """Powers of every phone but the tokens' authority, beyond what it draws when idle."""

    absent_when_none = frozenset({"core_basis", "core_source", "core_year"})

    core: Power = Field(description="Of a busy core.")
    core_basis: Basis | None = Field(
        default=None, description="As `basis` of a radio, of the power of a core."
    )
    core_source: Source | None = Field(default=None, description="As `source` of a radio.")
    core_year: Year | None = Field(default=None, description="As `year` of a radio.")
    access: dict[str, Radio] = Field(
        description="By access network: every one that phones have an account for."
    )
    contacts: dict[str, ContactRadio] = Field(
        default={}, description="By kind of link between phones: every one."
    )

    @model_validator(mode="after")
    def _names_its_source(self) -> Energy:
        _check("core_", self.core_basis, self.core_source)
        return self


def _check(prefix: str, basis: Basis | None, source: str | None) -> None:
    if basis not in {None, "assumed"} and source is None:
        raise ValueError(f"{prefix}basis = {basis!r} needs {prefix}source: where it is {basis}")
