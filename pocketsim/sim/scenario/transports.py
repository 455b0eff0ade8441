"""Transports and their options: sections of the scenario document.

An option that is left out is the implementation's (`sim.scenario.implementations`).
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from pocketsim.sim.base.documents import (
    BlockCounts,
    Blocks,
    Count,
    Duration,
    Flags,
    PositiveDuration,
    Section,
    Size,
    Sizes,
    ladder_schema,
    one_or_list,
    written,
)
from pocketsim.sim.base.units import BLOCKS
from pocketsim.sim.scenario.own_code import OwnSection

TransportMode = Literal[
    "udp", "quic_reconnect", "quic_keep", "tftp", "ipv8", "ipv8_sealed", "eva", "none"
]


Modes = Annotated[
    list[TransportMode],
    BeforeValidator(one_or_list),
    ladder_schema({"enum": [*get_args(TransportMode)]}),
]


class Eva(Section):
    """EVA of Kotlin-IPv8; what is absent is as the implementation has it."""

    variant: Literal["original", "modified"] | None = Field(
        default=None,
        description="original: lost blocks as text, always encrypted; modified: after pull "
        "request 71 of kotlin-ipv8.",
    )
    encryption: Flags | None = Field(
        default=None, description="Whether packets are sealed boxes; a list is a ladder."
    )
    block: Sizes | None = Field(
        default=None, description="Data of a full block; a list is a ladder."
    )
    window: BlockCounts | None = Field(
        default=None, description="Blocks between two acknowledgements; a list is a ladder."
    )
    retransmit_interval: PositiveDuration | None = Field(
        default=None,
        description="Silence after which the receiver repeats its acknowledgement, when it next "
        "checks.",
    )
    retransmit_attempts: Count | None = Field(
        default=None, description="The acknowledgement is repeated one time less."
    )
    write_request_retries: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        default=None, description="How often an unanswered offer is repeated."
    )
    timeout: PositiveDuration | None = Field(
        default=None, description="Silence after which either end gives up."
    )
    reduce_window_after_timeout: Annotated[int, Field(ge=0, le=1_000_000), BLOCKS] | None = Field(
        default=None, description="Blocks less for each earlier timeout of the same message."
    )
    min_window: Blocks | None = Field(default=None, description="The window is never smaller.")
    scheduled_send_interval: PositiveDuration | None = Field(
        default=None, description="Waiting transfers are looked at this often."
    )
    scheduled_tasks_check_delay: PositiveDuration | None = Field(
        default=None, description="Everything overdue is looked for this often."
    )
    binary_size_limit: Size | None = Field(default=None, description="Larger messages are refused.")
    simultaneous_transfers: Count | None = Field(
        default=None,
        description="Above this, new transfers wait; absent, and so at the implementation: never.",
    )
    send_threads: Count | None = Field(
        default=None,
        description="Threads that send; with several, packets may overtake each other.",
    )
    race_window: Duration | None = Field(
        default=None,
        description="How long two starts of waiting transfers overlap (original).",
    )

    @model_validator(mode="after")
    def _block_is_not_empty(self) -> Eva:
        if self.block is not None and min(self.block) < 1:
            raise ValueError("a block holds at least one byte")
        return self


class Transport(Section):
    """The switch between transports, and their options; absent: as the implementation has them."""

    mode: Modes = Field(
        description="Transport; a list is a ladder. quic_keep: one connection kept with each peer "
        "(the theses' iroh); quic_reconnect: a new one for every message; none: of phones that "
        "only compute."
    )
    poll_interval: Duration | None = Field(
        default=None,
        description="How often the app looks for finished tasks; 0 for at once.",
    )
    connect_timeout: PositiveDuration | None = Field(
        default=None, description="A connection attempt is given up after this."
    )
    idle_timeout: PositiveDuration | None = Field(
        default=None, description="A connection silent for this is closed."
    )
    keep_alive: Duration | None = Field(
        default=None, description="Ping of an open connection; 0 for none."
    )
    keep_alive_events: bool = Field(
        default=False,
        description="Whether each ping of a silent connection (quic_keep) is simulated; without, a "
        "connection rests after two (where ways vary, once many were simulated), and what it would "
        "have sent and computed is reckoned.",
    )
    answer_on_same_connection: bool | None = Field(
        default=None,
        description="Answers go back on the connection that brought the proposal.",
    )
    answer_on_same_stream: bool | None = Field(
        default=None,
        description="And on its very stream; false where answers have a connection of their own.",
    )
    ack_bundling: bool | None = Field(
        default=None,
        description="QUIC acknowledgements that are not due yet ride along with data.",
    )
    path_management: bool | None = Field(
        default=None,
        description="After a handshake of QUIC spare connection ids, tickets and probes of the "
        "path's MTU pass.",
    )
    relay_first: bool | None = Field(
        default=None, description="QUIC starts over the relay and moves to the direct path."
    )
    app_faults: bool | None = Field(
        default=None,
        description="Whether kept connections (quic_keep) stall and break as often as the "
        "implementation says; absent: in the experiment that says so, two paced phones that trade "
        "for 25 s at most, and nowhere else.",
    )
    socket_timeout: PositiveDuration | None = Field(
        default=None,
        description="Receive timeout of a plain UDP socket; the app only reads "
        "again, so the wake-up changes nothing and is not simulated.",
    )
    socket_buffer: Sizes | None = Field(
        default=None,
        description="Receive buffer asked for, as the kernel counts; a list is a ladder; absent: "
        "the implementation's, or else the phone's default.",
    )
    eva: Eva = Field(default=written({}), description="Options of EVA; may be left out.")
    policy: OwnSection | None = Field(
        default=None,
        description="A class that says when each message is handed to the transport, and what "
        "becomes of one that it gave up.",
    )
