"""Transports and their constants: sections of the scenario document."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from sim.base.documents import (
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
from sim.base.units import BLOCKS

TransportMode = Literal[
    "udp", "quic_reconnect", "quic_keep", "tftp", "ipv8", "ipv8_sealed", "eva", "none"
]


Modes = Annotated[
    list[TransportMode],
    BeforeValidator(one_or_list),
    ladder_schema({"enum": [*get_args(TransportMode)]}),
]


class Eva(Section):
    """EVA of Kotlin-IPv8; defaults are what the offline token thesis ran (kotlin-ipv8 00517bb)."""

    variant: Literal["original", "modified"] = Field(
        default="modified",
        description="original: lost blocks as text, always encrypted; modified: after pull "
        "request 71 of kotlin-ipv8.",
    )
    encryption: Flags = Field(
        default=written([False]),
        description="Whether packets are sealed boxes; a list is a ladder.",
    )
    block: Sizes = Field(
        default=written("1200B"), description="Data of a full block; a list is a ladder."
    )
    window: BlockCounts = Field(
        default=written(256),
        description="Blocks between two acknowledgements; a list is a ladder.",
    )
    retransmit_interval: PositiveDuration = Field(
        default=written("150ms"),
        description="Silence after which the receiver repeats its acknowledgement, when it next "
        "checks.",
    )
    retransmit_attempts: Count = Field(
        default=3, description="The acknowledgement is repeated one time less."
    )
    write_request_retries: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=0, description="How often an unanswered offer is repeated (3 in f983ed4)."
    )
    timeout: PositiveDuration = Field(
        default=written("12s"), description="Silence after which either end gives up."
    )
    reduce_window_after_timeout: Annotated[int, Field(ge=0, le=1_000_000), BLOCKS] = Field(
        default=16, description="Blocks less for each earlier timeout of the same message."
    )
    min_window: Blocks = Field(default=16, description="The window is never smaller.")
    scheduled_send_interval: PositiveDuration = Field(
        default=written("5s"), description="Waiting transfers are looked at this often."
    )
    scheduled_tasks_check_delay: PositiveDuration = Field(
        default=written("1s"), description="Everything overdue is looked for this often."
    )
    binary_size_limit: Size = Field(
        default=written("250MiB"), description="Larger messages are refused."
    )
    simultaneous_transfers: Count | None = Field(
        default=None, description="Above this, new transfers wait (10 in f983ed4); absent: never."
    )
    send_threads: Count = Field(
        default=1, description="Threads that send; with several, packets may overtake each other."
    )
    race_window: Duration = Field(
        default=written("0s"),
        description="How long two starts of waiting transfers overlap (original); not measured.",
    )

    @model_validator(mode="after")
    def _block_is_not_empty(self) -> Eva:
        if min(self.block) < 1:
            raise ValueError("a block holds at least one byte")
        return self


class Transport(Section):
    """The switch between transports, and their constants."""

    mode: Modes = Field(
        description="Transport; a list is a ladder. quic_keep: one connection kept with each peer "
        "(the theses' iroh); quic_reconnect: a new one for every message; none: of phones that "
        "only compute."
    )
    poll_interval: Duration = Field(
        default=written("10ms"),
        description="How often the app looks for finished tasks; 0 for at once.",
    )
    connect_timeout: PositiveDuration = Field(
        default=written("30s"), description="A connection attempt is given up after this."
    )
    idle_timeout: PositiveDuration = Field(
        default=written("30s"),
        description="A connection silent for this is closed (quinn-proto config/transport.rs:362).",
    )
    keep_alive: Duration = Field(
        default=written("1s"),
        description="Ping of an open connection; 0 for none (iroh 0.35 endpoint.rs:128).",
    )
    answer_on_same_connection: bool = Field(
        default=True,
        description="Answers go back on the kept connection that brought the proposal.",
    )
    relay_first: bool = Field(
        default=True, description="QUIC starts over the relay and moves to the direct path."
    )
    app_faults: bool | None = Field(
        default=None,
        description="Whether kept connections (quic_keep) stall and break as the theses' app did, "
        "as often as the profiles' app.kept_connection says; absent: in its experiment, two paced "
        "phones that trade for 25 s at most, and nowhere else.",
    )
    socket_timeout: PositiveDuration = Field(
        default=written("5s"),
        description="Receive timeout of a plain UDP socket; the app only reads "
        "again, so the wake-up changes nothing and is not simulated.",
    )
    socket_buffer: Sizes | None = Field(
        default=None,
        description="Receive buffer asked for, as the kernel counts; a list is a ladder; absent: "
        "7 MiB for QUIC (netwatch udp.rs, SOCKET_BUFFER_SIZE), the phone's default otherwise.",
    )
    eva: Eva = Field(default=written({}), description="Options of EVA; may be left out.")
