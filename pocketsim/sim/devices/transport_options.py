"""Options of transports as plain values in SI units: profiles, scenarios, plans.

Generated from `TransportConfig` and `EvaConfig` in sim/protocols/src/transport by
`python -m tools.transport_options`; to be changed there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pocketsim.sim.devices.contents import Choice, Number


class TransportValues(TypedDict):
    """Options of a scenario, resolved."""

    poll_interval_s: float
    connect_timeout_s: float
    idle_timeout_s: float
    keep_alive_s: float
    keep_alive_events: bool
    initial_rtt_s: float
    answer_on_same_connection: bool
    answer_on_same_stream: bool
    ack_bundling: bool
    path_management: bool
    relay_first: bool
    socket_timeout_s: float
    socket_buffer_bytes: int


class MachineOptions(TransportValues):
    """Options as the engine takes them."""

    timer_tick_s: float
    disable_active_migration: bool


class EvaValues(TypedDict):
    """Options of EVA, resolved and in the engine."""

    variant: str
    encryption: bool
    block_bytes: int
    window_blocks: int
    retransmit_interval_s: float
    retransmit_attempts: int
    write_request_retries: int
    timeout_s: float
    reduce_window_after_timeout_blocks: int
    min_window_blocks: int
    scheduled_send_interval_s: float
    scheduled_tasks_check_delay_s: float
    binary_size_limit_bytes: int
    send_threads: int
    race_window_s: float
    simultaneous_transfers: int | None


class UdpContents(TypedDict):
    """Plain UDP in a profile, in SI units."""

    socket_timeout_s: Number


class QuicContents(TypedDict):
    """QUIC in a profile, in SI units."""

    poll_interval_s: Number
    connect_timeout_s: Number
    idle_timeout_s: Number
    keep_alive_s: Number
    initial_rtt_s: Number | None
    answer_on_same_connection: Choice
    answer_on_same_stream: Choice | None
    ack_bundling: Choice | None
    path_management: Choice | None
    timer_tick_s: Number | None
    disable_active_migration: Choice | None
    relay_first: Choice
    socket_buffer_bytes: Number | None


class EvaContents(TypedDict):
    """EVA in a profile, in SI units."""

    variant: Choice
    encryption: Choice
    block_bytes: Number
    window: Choice
    retransmit_interval_s: Number
    retransmit_attempts: Choice
    write_request_retries: Choice
    timeout_s: Number
    reduce_window_after_timeout: Choice
    min_window: Choice
    scheduled_send_interval_s: Number
    scheduled_tasks_check_delay_s: Number
    binary_size_limit_bytes: Number
    send_threads: Choice
    race_window_s: Number
    simultaneous_transfers: Choice | None
