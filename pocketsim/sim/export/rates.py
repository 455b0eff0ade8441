"""A device as rates, for those who simulate its compute elsewhere.

For Shadow, ns-3 and programs of one's own, into which such rates are put by hand. What they hold is
described by `pocketsim schema rates`; docs/contribute_a_device.md says what other simulators take.
Nothing is estimated here: intervals are those of `sim.devices.ratios`.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from pocketsim import sim
from pocketsim.sim.devices.ratios import cost_estimate

if TYPE_CHECKING:
    from pocketsim.sim.devices.contents import Contents, Cost, Number

VERSION = 1
"""Of the format: a key that goes or means something else makes another."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Table):
    """The profile that the rates are of."""

    profile: str = Field(description="Name of the profile.")
    sha256: str = Field(description="Of the profile's file, in hex.")
    device: str = Field(description="Maker and model.")
    soc: str = Field(description="System on chip.")
    os: str = Field(description="Operating system.")
    measured_on: str = Field(description="Date of the measurements or of their sources.")
    measured_by: str = Field(description="Who measured.")
    probe: str = Field(description="Version of the probe, or 'none'.")
    does_not_claim: list[str] = Field(description="What must not be read into the rates.")


class Cores(_Table):
    """The cores that share the work."""

    value: float = Field(description="How many, all as fast as the one that was timed.")
    standard_error: float = Field(description="Standard error of that number.")
    classes: dict[str, int] = Field(description="Cores by class; empty: not told apart.")
    priced_on: str | None = Field(
        description="Class that all rates are of; null: where the system put one thread."
    )
    not_priced: list[str] = Field(description="Classes that there are no rates of.")


class Rate(_Table):
    """One operation, on one thread of an idle device, one execution after the other.

    Bounds are of 95 % intervals: what is not known of the estimate, not what executions differ.
    """

    operation: str = Field(description="Name, as in a profile.")
    seconds: float = Field(description="Each takes: core_s / threads + wait_s.")
    seconds_ci95_low: float = Field(description="Lower bound of `seconds`.")
    seconds_ci95_high: float = Field(description="Upper bound of `seconds`.")
    per_s: float | None = Field(description="Operations per second; null where it takes nothing.")
    per_s_ci95_low: float | None = Field(description="Lower bound of `per_s`.")
    per_s_ci95_high: float | None = Field(description="Upper bound of `per_s`; null: none.")
    core_s: float = Field(description="Core time of it, the sum over threads.")
    per_byte_s: float = Field(description="Part of core_s for each byte, within it.")
    wait_s: float = Field(description="Then waited for without a core.")
    threads: int = Field(description="Cores that it uses at once.")
    spread_sigma: float = Field(
        description="Sigma of the lognormal factor of mean 1 by which executions differ."
    )
    basis: str = Field(description="measured, published, proxy, fitted or assumed.")
    samples: int = Field(description="Measurements behind it.")
    source: str = Field(description="Paper, file and line, or the reasoning.")


class Sockets(_Table):
    """What sockets of the device take and hold; bandwidth and latency are a network's."""

    buffer_bytes: int = Field(description="Receive buffer of a fresh socket, as Linux counts.")
    send: str = Field(description="Name of the operation that a sent datagram costs.")
    receive: str = Field(description="Name of the operation that a received datagram costs.")


class Shadow(_Table):
    """What Shadow 3.3 can be told of this, and what it cannot."""

    options: dict[str, str] = Field(description="Options of its configuration, for all hosts.")
    option_notes: list[str] = Field(description="What these options leave out.")
    not_taken: list[str] = Field(description="What no option takes.")
    instead: str = Field(description="What the simulated program can do.")


class Rates(_Table):
    """A device as operations per second and seconds per operation, in SI units."""

    format: Literal["pocketsim rates"] = Field(description="What this is.")
    version: Literal[1] = Field(description="Version of the format.")
    made_by: str = Field(description="Program and version.")
    source: Source = Field(description="The profile.")
    size_bytes: float = Field(description="Bytes that each operation is given.")
    cores: Cores = Field(description="The cores.")
    operations: list[Rate] = Field(description="A table for each operation.")
    sockets: Sockets = Field(description="The sockets.")
    shadow: Shadow = Field(description="For users of Shadow.")


def rates(name: str, digest: str, contents: Contents, size_bytes: float) -> Rates:
    """Return the rates of a device's profile that is called `name`, at so many bytes."""
    about = contents["device"]
    priced_on = about["priced_on"]
    return Rates(
        format="pocketsim rates",
        version=VERSION,
        made_by=f"pocketsim {sim.__version__}",
        source=Source(
            profile=name,
            sha256=digest,
            device=about["name"],
            **{
                key: about[key]
                for key in ("soc", "os", "measured_on", "measured_by", "probe", "does_not_claim")
            },
        ),
        size_bytes=size_bytes,
        cores=_cores(about["cores"], about["core_classes"], priced_on),
        operations=[_rate(key, cost, size_bytes) for key, cost in contents["operations"].items()],
        sockets=Sockets(
            buffer_bytes=about["socket_buffer_bytes"], send="udp_send", receive="udp_receive"
        ),
        shadow=_shadow(about["socket_buffer_bytes"]),
    )


def as_json(found: Rates) -> str:
    """Return rates as JSON, whose schema is `pocketsim schema rates`."""
    return json.dumps(found.model_dump(), indent=1, ensure_ascii=False) + "\n"


def as_csv(found: Rates) -> str:
    """Return the operations alone as CSV, a row for each, with the profile and the size."""
    text = io.StringIO()
    head = ["profile", "sha256", "size_bytes", *Rate.model_fields]
    rows = csv.DictWriter(text, head, lineterminator="\n")
    rows.writeheader()
    beside = {
        "profile": found.source.profile,
        "sha256": found.source.sha256,
        "size_bytes": found.size_bytes,
    }
    rows.writerows({**beside, **one.model_dump()} for one in found.operations)
    return text.getvalue()


def _cores(number: Number, classes: dict[str, int], priced_on: str | None) -> Cores:
    return Cores(
        value=number["value"],
        standard_error=number["standard_error"],
        classes=classes,
        priced_on=priced_on,
        not_priced=[name for name in classes if priced_on is not None and name != priced_on],
    )


def _rate(name: str, cost: Cost, size_bytes: float) -> Rate:
    core_s = cost["cpu_s"] + cost["per_byte_s"] * size_bytes
    seconds = core_s / cost["threads"] + cost["wait_s"]
    whole = cost_estimate(cost, size_bytes)
    # Threads make all of it as much shorter, and the error with it.
    shorter = seconds / whole.value if whole.value else 1.0
    low_s, high_s = (bound * shorter for bound in whole.ci95)
    kept = ("per_byte_s", "wait_s", "threads", "spread_sigma", "basis", "samples", "source")
    return Rate(
        operation=name,
        seconds=seconds,
        seconds_ci95_low=low_s,
        seconds_ci95_high=high_s,
        per_s=_inverse(seconds),
        per_s_ci95_low=_inverse(high_s),
        per_s_ci95_high=_inverse(low_s),
        core_s=core_s,
        **{key: cost[key] for key in kept},  # type: ignore[literal-required]
    )


def _inverse(seconds: float) -> float | None:
    return 1 / seconds if seconds > _NOTHING_S else None


def _shadow(buffer_bytes: int) -> Shadow:
    return Shadow(
        options={"experimental.socket_recv_buffer": f"{buffer_bytes} B"},
        option_notes=_OPTION_NOTES,
        not_taken=_NOT_TAKEN,
        instead=_INSTEAD,
    )


_NOTHING_S = 1e-300  # its inverse is still a number
# Read in Shadow's repository at commit f1b2cac (2026-08-19, after v3.3.0): docs/limitations.md,
# docs/shadow_config_spec.md, and src/main/core/sim_config.rs, where cpu_threshold is None.
_OPTION_NOTES = [
    "one number for all hosts: devices with other buffers cannot be told apart",
    "Shadow counts the bytes of messages, Linux what they occupy, so Shadow holds more of them",
]
_NOT_TAKEN = [
    (
        "operations and cores: simulated time stands still while a program computes, as if its "
        "processor were infinitely fast (docs/limitations.md, Busy loops)"
    ),
    (
        "what a send or a receive costs: experimental.unblocked_syscall_latency is one number for "
        "every system call of every host, and what has gathered is discarded when a thread blocks"
    ),
    "intervals and spread: options are single numbers",
    (
        "bandwidth and latency (hosts.NAME.bandwidth_up, bandwidth_down, the graph) are not of a "
        "device: take them from the scenario"
    ),
]
_INSTEAD = (
    "let the program sleep `seconds` after each operation, on the thread that performs it: the "
    "simulated clock moves by that; at most `cores.value` threads may do so at a time"
)
