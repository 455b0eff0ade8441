"""The plan: what one repetition hands to the engine, field by field, in SI units.

The names and types are those of `Plan` in sim/engine/src/plan/mod.rs, which says what each field
means; a test compares the two. What goes to the engine as it stands in a resolved scenario has its
types from there. Columns are arrays that the engine reads as they lie in memory. How they come
about is the business of `sim.plan.build_plan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pocketsim.sim.devices.transport_options import EvaValues, MachineOptions
    from pocketsim.sim.scenario.resolved import (
        HolePunching,
        Interruption,
        Retries,
        States,
        Tokens,
    )
    from pocketsim.sim.scenario.resolved_measures import Radio

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.uint32]
"""Phones, amounts, sizes and places in lists."""
Counts = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.uint8]
"""0 or 1."""


class AfterRest(TypedDict):
    """How many times as long something takes after rests."""

    rest_s: Floats
    ratio: Floats


class OwnAfter(TypedDict):
    """How many times as long as its cost says an operation takes after rests."""

    operation: int
    after: AfterRest


class Profile(TypedDict):
    """What operations cost; columns run over the engine's operations."""

    cores: int
    cpu_s: Floats
    per_byte_s: Floats
    threads: Numbers
    wait_s: Floats
    spread_sigma: Floats
    wake_after: AfterRest
    quic_wake_after: AfterRest
    eevdf: bool
    tick_core_s: float
    pace_after: AfterRest
    own_after: list[OwnAfter]
    socket_buffer_bytes: int


class Wifi(TypedDict):
    """What the access points of a network are."""

    standard: str
    channel_width_mhz: int
    streams: int
    aggregation: bool
    block_ack_request: bool
    queue_packets: int


class Bursts(TypedDict):
    """How losses cluster: the mean length of a burst in packets, or in time."""

    share: float
    mean_packets: float | None
    mean_duration_s: float | None
    loss_ratio: float


class RateSteps(TypedDict):
    """A rate over time in steps, from 0 s on."""

    start_s: Floats
    bytes_per_s: Floats
    period_s: float | None


class Access(TypedDict):
    """One kind of access network."""

    up_bytes_per_s: float
    down_bytes_per_s: float
    up_queue_bytes: float | None
    down_queue_bytes: float | None
    blocks: bool
    latency_s: float
    jitter_median_s: float
    jitter_sigma: float
    loss_ratio: float
    bursts: Bursts | None
    states: States | None
    up_rate: RateSteps | None
    down_rate: RateSteps | None
    handover: Interruption | None
    rat_change: Interruption | None
    reorders: bool
    forwarding_cpu_s: float
    wifi: Wifi | None


class Nat(TypedDict):
    """What the NATs of an access network have in common."""

    unreplied_timeout_s: float
    replied_timeout_s: float
    lifetime_s: float | None
    inbound_refresh: bool
    client_isolation: bool


class Nats(TypedDict):
    """The NATs of all phones: the class of each, and those of each access network."""

    classes: Numbers
    access: list[Nat]
    hole_punching: HolePunching


class Relay(TypedDict):
    """Limits of the relay."""

    up_bytes_per_s: float | None
    down_bytes_per_s: float | None
    queue_packets: int
    client_rate_bytes_per_s: float | None
    client_burst_bytes: int


class Moves(TypedDict):
    """Where phones go beside where they begin, and when."""

    phone: Numbers
    access: Numbers
    site: Numbers
    mcs: Numbers
    nat_class: Numbers
    time_s: Floats
    interruption_s: Floats
    attachment: Numbers


class Sites(TypedDict):
    """Access points and cells; 0: nothing shared."""

    capacity_bytes_per_s: Floats


class Phones(TypedDict):
    """One phone per element."""

    profile: Numbers
    access: Numbers
    site: Numbers
    first_index: Counts
    role: Numbers
    mcs: Numbers
    cores_of: Numbers


class Backbone(TypedDict):
    """What lies between sites."""

    latency_s: float
    relay_latency_s: float


class Core(TypedDict):
    """Netpoints of a platform between sites, and the routes from each to each, row after row."""

    netpoint: Numbers
    names: list[str]
    latency_s: Floats
    bytes_per_s: Floats
    shared: Flags
    relay: int | None
    platform: str | None


class ProximityLink(TypedDict):
    """One kind of link between phones near each other."""

    rate_bytes_per_s: float
    latency_s: float
    setup_s: float
    loss_ratio: float
    shares_air: bool


class Proximity(TypedDict):
    """Contacts, sorted by time, and their kinds of link."""

    links: list[ProximityLink]
    time_s: Floats
    duration_s: Floats
    phone_a: Numbers
    phone_b: Numbers
    link: Numbers


class Outage(TypedDict):
    """A time in which one access network carries nothing."""

    access: int
    start_s: float
    end_s: float


class Churn(TypedDict):
    """Phones going off and on, sorted by time."""

    time_s: Floats
    phone: Numbers
    on: Flags


class SenderLoop(TypedDict):
    """The benchmark's loop: propose, sleep, again."""

    from_phone: int
    to_phone: int
    start_s: float
    duration_s: float
    interval_s: float
    by_clock: bool
    overshoot_s: float
    overshoot_sigma: float
    payload_bytes: int
    outstanding_max: int
    outstanding_until_drained: bool


class Workload(TypedDict):
    """Open arrivals, sorted by time, and sender loops."""

    time_s: Floats
    from_phone: Numbers
    to_phone: Numbers
    payload_bytes: Numbers
    amount_cents: Numbers
    conduct: Numbers
    loops: list[SenderLoop]


class Compute(TypedDict):
    """What every phone computes."""

    task: str
    threads: int
    count: int
    payload_bytes: int
    tokens: int
    recipients: int


class Protocol(TypedDict):
    """Protocol family and options."""

    kind: str
    crypto: str
    duplicate_window_s: float
    retries: Retries | None
    tokens: Tokens | None
    compute: Compute | None
    own_operations: list[str]


class Transport(TypedDict):
    """Transport and options; the two columns are per phone."""

    mode: str
    options: MachineOptions
    threads_first: bool
    duplicate_dial_s: Floats
    connection_break_s: Floats
    eva: EvaValues | None


class Trace(TypedDict):
    """What the trace keeps."""

    mode: str
    sample_ratio: float
    log_capacity: int
    tokens: bool
    blocks: bool


class Energy(TypedDict):
    """What draws how much power, by the numbers of networks and kinds of link."""

    core_w: float
    access: list[Radio]
    contact_w: Floats


class Battery(TypedDict):
    """Batteries by phone, and changes of what flows beside what the app takes."""

    capacity_j: Floats
    level_j: Floats
    revives_j: Floats
    phone: Numbers
    time_s: Floats
    other_w: Floats
    charge_w: Floats


class Plan(TypedDict):
    """One run."""

    seed: int
    duration_s: float
    fidelity: str
    simgrid_library: str | None
    profiles: list[Profile]
    access: list[Access]
    sites: Sites
    contention: bool
    phones: Phones
    backbone: Backbone
    core: Core | None
    proximity: Proximity
    outages: list[Outage]
    churn: Churn
    workload: Workload
    protocol: Protocol
    transport: Transport
    trace: Trace
    energy: Energy | None
    battery: Battery | None
    nats: Nats | None
    relay: Relay | None
    moves: Moves | None


def floats(values: npt.ArrayLike) -> Floats:
    """Return a column of the engine's doubles."""
    return np.ascontiguousarray(values, np.float64)


def numbers(values: npt.ArrayLike) -> Numbers:
    """Return a column of the engine's `u32`; what does not fit is a mistake of ours."""
    return _whole(values, np.uint32)


def counts(values: npt.ArrayLike) -> Counts:
    """Return a column of the engine's `u64`."""
    return _whole(values, np.uint64)


def flags(values: npt.ArrayLike) -> Flags:
    """Return a column of truths."""
    return np.ascontiguousarray(values, np.bool_).view(np.uint8)


def _whole(values: npt.ArrayLike, kind: type[Any]) -> npt.NDArray[Any]:
    given = np.asarray(values)
    # An empty list is one of floats to numpy.
    assert given.size == 0 or np.can_cast(given.dtype, np.int64) or given.dtype == kind
    column = np.ascontiguousarray(given, kind)
    assert (column == given).all(), "a number does not fit the engine's type"
    return column
