"""What phones draw, by component: its section of the scenario document.

The same powers hold for every phone, whatever its profile, but for the tokens' authority, which
is no phone and has no account. How they are added up is sim/engine/src/record/energy.rs's.
"""

from __future__ import annotations

from pydantic import Field

from pocketsim.sim.base.documents import Duration, Power, Section, written
from pocketsim.sim.base.documents import Energy as Joules


class Radio(Section):
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


class ContactRadio(Section):
    """One end of a kind of link between two phones near each other."""

    active: Power = Field(description="While the link carries bytes either way.")


class Energy(Section):
    """Powers of every phone but the tokens' authority, beyond what it draws when idle."""

    core: Power = Field(description="Of a busy core.")
    access: dict[str, Radio] = Field(
        description="By access network: every one that phones have an account for."
    )
    contacts: dict[str, ContactRadio] = Field(
        default={}, description="By kind of link between phones: every one."
    )
