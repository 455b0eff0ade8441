"""Transports and their options: sections of the scenario document.

Options of the machines are declared where those are (`sim.devices.transport_sections`).

An option that is left out is the implementation's (`sim.scenario.implementations`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import OneOrMore, written
from pocketsim.sim.devices.transport_sections import EvaOptions, TransportOptions
from pocketsim.sim.scenario.custom_code import CustomSection

TransportMode = Literal[
    "udp", "quic_reconnect", "quic_keep", "tftp", "ipv8", "ipv8_sealed", "eva", "none"
]


class Eva(EvaOptions):
    """EVA of Kotlin-IPv8; what is absent is as the implementation has it."""

    @model_validator(mode="after")
    def _block_is_not_empty(self) -> Eva:
        if self.block is not None and min(self.block) < 1:
            raise ValueError("a block holds at least one byte")
        return self


class Transport(TransportOptions):
    """The switch between transports, and their options; absent: as the implementation has them."""

    mode: OneOrMore[TransportMode] = Field(
        description="Transport; a list makes several runs. quic_keep: one connection kept with "
        "each peer (the theses' iroh); quic_reconnect: a new one for every message; none: of "
        "phones that only compute."
    )
    app_faults: bool | None = Field(
        default=None,
        description="Whether kept connections (quic_keep) stall and break as often as the "
        "implementation says; absent: in the experiment that says so, two paced phones that trade "
        "for 25 s at most, and nowhere else.",
    )
    eva: Eva = Field(default=written({}), description="Options of EVA; may be left out.")
    policy: CustomSection | None = Field(
        default=None,
        description="A class that says when each message is handed to the transport, and what "
        "becomes of one that it gave up.",
    )
