"""Profiles as plain values in SI units: what a resolved scenario holds and draws change.

The names are those of the documents (`sim.devices.profile` and `.implementation`) with their units
last, by the rule of `sim.base.si`; a test compares the two. Nothing here needs the documents'
models or their library.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from pocketsim.sim.devices.transport_options import EvaContents, QuicContents, UdpContents


class Provenance(TypedDict):
    """How a number is known."""

    samples: int
    basis: str
    source: str
    fitted_to: list[str]


class Number(Provenance):
    """A number and its standard error, both in the unit that ends its key."""

    value: float
    standard_error: float


# "from" is no name of Python's.
Window = TypedDict(
    "Window",
    {
        "samples": int,
        "basis": str,
        "source": str,
        "fitted_to": list[str],
        "from": float,
        "to": float,
        "standard_error": float,
    },
)
"""A uniform window; the error shifts both ends together."""


class Cost(Provenance):
    """What something takes: core time, then a wait without a core."""

    cpu_s: float
    per_byte_s: float
    wait_s: float
    threads: int
    spread_sigma: float
    repetition_sigma: float
    spread_sigma_standard_error: NotRequired[float]
    repetition_sigma_standard_error: NotRequired[float]
    standard_error_s: float
    per_byte_standard_error_s: NotRequired[float]
    correlation: NotRequired[float]
    degrees_of_freedom: NotRequired[float]
    common_factor: NotRequired[str]
    common_ratio: NotRequired[float]
    cost_factor: NotRequired[Number]  # what a group of phones multiplied it by


class Device(TypedDict):
    """Which phone, and what is shared by all its work."""

    name: str
    soc: str
    os: str
    measured_on: str
    measured_by: str
    probe: str
    does_not_claim: list[str]
    cores: Number
    core_classes: dict[str, int]
    priced_on: str | None
    socket_buffer_bytes: int


class SleepOvershoot(TypedDict):
    """By how much the sender loop sleeps too long."""

    base_s: Number
    slope_s: Number
    spread_sigma: Number
    repetition_sigma: Number


class AfterRest(Provenance):
    """How many times as long as it is priced something takes after such a rest."""

    rest_s: float
    ratio: float
    standard_error: float


class Scheduler(TypedDict):
    """When threads run that want to."""

    sleep_overshoot: SleepOvershoot
    wake_after: NotRequired[list[AfterRest]]
    quic_wake_after: NotRequired[list[AfterRest]]
    pace_after: NotRequired[list[AfterRest]]
    send_after: NotRequired[list[AfterRest]]
    policy: NotRequired[Choice]
    tick_s: NotRequired[Number]


class Contents(TypedDict):
    """A device profile."""

    device: Device
    operations: dict[str, Cost]
    scheduler: Scheduler


class Shipped(Contents):
    """A device profile as it was read, beside what it is called.

    `digest` is that of its file; `drawn_as` names its streams, which a group's factors leave alone.
    Of costs of the implementation's own, `own_cost_factors` are those of the group, and
    `speed_factors` say how many times as long computing takes here as where they were found;
    `own_costs` are those that the group supposes, where times nothing cannot say it.
    """

    digest: str
    drawn_as: str
    own_cost_factors: dict[str, Number]
    own_costs: NotRequired[dict[str, OwnCost]]
    speed_factors: dict[str, float]


class Choice(Provenance):
    """One of several ways, or a whole number that code sets."""

    value: Any


class About(TypedDict):
    """Which program."""

    name: str
    described_on: str
    described_by: str
    does_not_claim: list[str]


class Step(TypedDict):
    """What a step of a machine takes of the device."""

    operations: dict[str, float]


class ScaledCost(Cost):
    """A cost that was found on one device, and how it is carried over to others."""

    scales_with: str | None
    reference_s: float | None


class OwnCost(ScaledCost):
    """What a step takes beyond operations of the device."""

    step: str
    after_rest: NotRequired[list[AfterRest]]


class Retries(TypedDict):
    """How the program sends proposals without an answer again."""

    attempts: Choice
    first_wait_s: Number
    factor: Number
    longest_wait_s: Number | None
    jitter: Number
    deadline_s: Number
    while_off: Choice | None


class KeptConnection(TypedDict):
    """How the program loses the connection that it keeps."""

    duplicate_dial_probability: Number
    duplicate_dial_window_s: Window
    break_rate_per_s: Number


class Quic(QuicContents):
    """QUIC."""

    kept_connection: KeptConnection | None
    outstanding_proposals: Choice | None
    outstanding_until_drained: Choice | None


class Tftp(TypedDict):
    """TFTP."""

    outstanding_proposals: Choice | None


class NoOptions(TypedDict):
    """A transport that has no options."""


class ModelError(TypedDict):
    """By how much simulations are off beyond what is drawn; `sigma` is of log ratios."""

    transports: list[str]
    metrics: list[str]
    sigma: float
    degrees_of_freedom: int
    rows: list[str]
    source: str


class ImplementationContents(TypedDict):
    """The profile of an implementation."""

    implementation: About
    pacing: Choice
    log_entries: Choice | None
    duplicate_window_s: Number
    retries: NotRequired[Retries]
    threads_first: Choice
    steps: dict[str, Step]
    own_costs: dict[str, OwnCost]
    model_error: NotRequired[dict[str, ModelError]]
    udp: UdpContents | None
    quic_keep: Quic | None
    quic_reconnect: Quic | None
    tftp: Tftp | None
    ipv8: NoOptions | None
    ipv8_sealed: NoOptions | None
    eva: EvaContents | None


class ShippedImplementation(ImplementationContents):
    """The profile of an implementation as it was read; `called` also names its streams."""

    digest: str
    called: str
