"""A device profile as plain values in SI units: what a resolved scenario holds and draws change.

The names are those of the document (`sim.devices.profile`) with their units last, by the rule of
`sim.base.si`; a test compares the two. Nothing here needs the document's model or its library.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


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


class Operation(Provenance):
    """What one operation costs: core time, then a wait without a core."""

    cpu_s: float
    per_byte_s: float
    wait_s: float
    threads: int
    spread_sigma: float
    repetition_sigma: float
    standard_error_s: float
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
    socket_buffer_bytes: int


class SleepOvershoot(TypedDict):
    """By how much the sender loop sleeps too long."""

    base_s: Number
    slope_s: Number
    spread_sigma: Number
    repetition_sigma: Number


class KeptConnection(TypedDict):
    """How the app loses the connection that it keeps."""

    duplicate_dial_probability: Number
    duplicate_dial_window_s: Window
    break_rate_per_s: Number


class App(TypedDict):
    """Behaviour of the benchmark app."""

    sleep_overshoot: SleepOvershoot
    kept_connection: KeptConnection


class Contents(TypedDict):
    """A device profile."""

    device: Device
    operations: dict[str, Operation]
    app: App


class Shipped(Contents):
    """A profile as it was read, beside what it is called.

    `digest` is that of its file; `drawn_as` names its streams, which a group's factors leave alone.
    """

    digest: str
    drawn_as: str
