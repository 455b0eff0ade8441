"""Options of transports as documents and profiles of implementations may have them.

Generated from `TransportConfig` and `EvaConfig` in sim/protocols/src/transport by
`python -m tools.transport_options`; to be changed there.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

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
)
from pocketsim.sim.base.units import BLOCKS
from pocketsim.sim.devices.provenance import (
    DurationNumber,
    Flag,
    Limit,
    Provenance,
    SizeNumber,
)

CountOrZero = Annotated[int, Field(ge=0, le=1_000_000)]
BlocksOrZero = Annotated[CountOrZero, BLOCKS]


class TransportOptions(Section):
    """Options of transports in a scenario."""

    poll_interval: Duration | None = Field(
        default=None,
        description="How often the app looks for finished streams and tasks; 0 for at once.",
    )
    connect_timeout: PositiveDuration | None = Field(
        default=None, description="A connection attempt is given up after this."
    )
    idle_timeout: PositiveDuration | None = Field(
        default=None, description="A connection silent for this is closed."
    )
    keep_alive: Duration | None = Field(
        default=None,
        description="An open connection is pinged after this much silence; 0 for never.",
    )
    keep_alive_events: bool = Field(
        default=False,
        description="Whether each ping of a silent connection (quic_keep) is simulated; without, a connection rests after two (where ways vary, once many were simulated), and what it would have sent and computed is reckoned.",
    )
    initial_rtt: Duration | None = Field(
        default=None,
        description="Round trip that is assumed until one was measured (RFC 9002, 6.2.2); 0 for 333 ms.",
    )
    answer_on_same_connection: bool | None = Field(
        default=None,
        description="Whether answers go back on the connection that brought the proposal, instead of one that is dialled back. With a connection for each message it then lives until its answer has come.",
    )
    answer_on_same_stream: bool | None = Field(
        default=None,
        description="Whether answers go back on the stream that brought the proposal, instead of one of their own.",
    )
    ack_bundling: bool | None = Field(
        default=None,
        description="Whether acknowledgements that are not due yet ride along with data (RFC 9000, 13.2.1).",
    )
    path_management: bool | None = Field(
        default=None,
        description="Whether spare connection ids, tickets to resume with and probes of the path's MTU pass after a handshake (RFC 9000, 5.1.1; RFC 8446, 4.6.1; RFC 8899).",
    )
    relay_first: bool | None = Field(
        default=None,
        description="Whether a connection starts over the relay and moves to the direct path when that answers.",
    )
    socket_timeout: PositiveDuration | None = Field(
        default=None,
        description="Receive timeout of a plain UDP socket; the app only reads again, so the wake-up changes nothing and is not simulated.",
    )
    socket_buffer: Sizes | None = Field(
        default=None,
        description="Receive buffer asked for, as the kernel counts; 0 for the phone's default. A list makes several runs.",
    )


class EvaOptions(Section):
    """Options of EVA in a scenario."""

    variant: Literal["original", "modified"] | None = Field(
        default=None,
        description="original: lost blocks as text, always encrypted; modified: after pull request 71 of kotlin-ipv8.",
    )
    encryption: Flags | None = Field(
        default=None,
        description="Whether packets are sealed boxes; the original variant seals them anyway. A list makes several runs.",
    )
    block: Sizes | None = Field(
        default=None,
        description="Data of a full block; more than 1289 bytes (1241 encrypted) never leave the phone. A list makes several runs.",
    )
    window: BlockCounts | None = Field(
        default=None,
        description="Blocks between two acknowledgements, at first. A list makes several runs.",
    )
    retransmit_interval: PositiveDuration | None = Field(
        default=None,
        description="Silence after which the receiver repeats its acknowledgement, when it next checks.",
    )
    retransmit_attempts: Count | None = Field(
        default=None, description="The acknowledgement is repeated one time less than this."
    )
    write_request_retries: CountOrZero | None = Field(
        default=None,
        description="How often an unanswered write request is repeated before window 1 is acknowledged.",
    )
    timeout: PositiveDuration | None = Field(
        default=None, description="Silence after which either end gives up, when it next checks."
    )
    reduce_window_after_timeout: BlocksOrZero | None = Field(
        default=None,
        description="Blocks by which the window shrinks for each earlier timeout of the same message.",
    )
    min_window: Blocks | None = Field(
        default=None, description="The window is never smaller, whatever `window` says."
    )
    scheduled_send_interval: PositiveDuration | None = Field(
        default=None,
        description="Waiting transfers are looked at this often, and whenever one ends well or in an error.",
    )
    scheduled_tasks_check_delay: PositiveDuration | None = Field(
        default=None, description="Everything overdue is looked for this often."
    )
    binary_size_limit: Size | None = Field(
        default=None, description="Larger messages are refused by both ends."
    )
    send_threads: Count | None = Field(
        default=None,
        description="Threads that call `sendto`; with more than one, packets may overtake each other.",
    )
    race_window: Duration | None = Field(
        default=None,
        description="How long the start of a waiting transfer overlaps with another such start (original). The code allows it, nobody has measured it.",
    )
    simultaneous_transfers: Count | None = Field(
        default=None,
        description="Above this many transfers of both directions new ones wait; absent: never.",
    )


class UdpProfile(Section):
    """Plain UDP in a profile of an implementation."""

    socket_timeout: DurationNumber = Field(
        description="Receive timeout of a plain UDP socket; the app only reads again, so the wake-up changes nothing and is not simulated."
    )


class QuicProfile(Section):
    """QUIC in a profile of an implementation."""

    poll_interval: DurationNumber = Field(
        description="How often the app looks for finished streams and tasks; 0 for at once."
    )
    connect_timeout: DurationNumber = Field(
        description="A connection attempt is given up after this."
    )
    idle_timeout: DurationNumber = Field(description="A connection silent for this is closed.")
    keep_alive: DurationNumber = Field(
        description="An open connection is pinged after this much silence; 0 for never."
    )
    initial_rtt: DurationNumber | None = Field(
        default=None,
        description="Round trip that is assumed until one was measured (RFC 9002, 6.2.2); 0 for 333 ms. Absent: 0.",
    )
    answer_on_same_connection: Flag = Field(
        description="Whether answers go back on the connection that brought the proposal, instead of one that is dialled back. With a connection for each message it then lives until its answer has come."
    )
    answer_on_same_stream: Flag | None = Field(
        default=None,
        description="Whether answers go back on the stream that brought the proposal, instead of one of their own. Absent: no.",
    )
    ack_bundling: Flag | None = Field(
        default=None,
        description="Whether acknowledgements that are not due yet ride along with data (RFC 9000, 13.2.1). Absent: no.",
    )
    path_management: Flag | None = Field(
        default=None,
        description="Whether spare connection ids, tickets to resume with and probes of the path's MTU pass after a handshake (RFC 9000, 5.1.1; RFC 8446, 4.6.1; RFC 8899). Absent: no.",
    )
    timer_tick: DurationNumber | None = Field(
        default=None,
        description="Its timers end with ticks of this length, two of them late at most; 0 for exact timers. Absent: 0.",
    )
    relay_first: Flag = Field(
        description="Whether a connection starts over the relay and moves to the direct path when that answers."
    )
    socket_buffer: SizeNumber | None = Field(
        default=None,
        description="Receive buffer asked for, as the kernel counts; 0 for the phone's default. Absent: 0.",
    )


class VariantChoice(Provenance):
    """One of several words."""

    value: Literal["original", "modified"] = Field(
        description="original: lost blocks as text, always encrypted; modified: after pull request 71 of kotlin-ipv8."
    )


class EvaProfile(Section):
    """EVA in a profile of an implementation."""

    variant: VariantChoice = Field(
        description="original: lost blocks as text, always encrypted; modified: after pull request 71 of kotlin-ipv8."
    )
    encryption: Flag = Field(
        description="Whether packets are sealed boxes; the original variant seals them anyway."
    )
    block: SizeNumber = Field(
        description="Data of a full block; more than 1289 bytes (1241 encrypted) never leave the phone."
    )
    window: Limit = Field(description="Blocks between two acknowledgements, at first.")
    retransmit_interval: DurationNumber = Field(
        description="Silence after which the receiver repeats its acknowledgement, when it next checks."
    )
    retransmit_attempts: Limit = Field(
        description="The acknowledgement is repeated one time less than this."
    )
    write_request_retries: Limit = Field(
        description="How often an unanswered write request is repeated before window 1 is acknowledged."
    )
    timeout: DurationNumber = Field(
        description="Silence after which either end gives up, when it next checks."
    )
    reduce_window_after_timeout: Limit = Field(
        description="Blocks by which the window shrinks for each earlier timeout of the same message."
    )
    min_window: Limit = Field(description="The window is never smaller, whatever `window` says.")
    scheduled_send_interval: DurationNumber = Field(
        description="Waiting transfers are looked at this often, and whenever one ends well or in an error."
    )
    scheduled_tasks_check_delay: DurationNumber = Field(
        description="Everything overdue is looked for this often."
    )
    binary_size_limit: SizeNumber = Field(description="Larger messages are refused by both ends.")
    send_threads: Limit = Field(
        description="Threads that call `sendto`; with more than one, packets may overtake each other."
    )
    race_window: DurationNumber = Field(
        description="How long the start of a waiting transfer overlaps with another such start (original). The code allows it, nobody has measured it."
    )
    simultaneous_transfers: Limit | None = Field(
        default=None,
        description="Above this many transfers of both directions new ones wait; absent: never.",
    )
