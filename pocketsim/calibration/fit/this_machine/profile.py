"""From rounds on this machine to a device profile: lines through sizes, and a base for the rest.

The lines, waits and errors are those of `calibration.fit.costs`, as for one report of the probe, of
whose rounds these are; what this machine's Python cannot do comes from a base
(`calibration.fit.parts`). Every number says that it is from Python, and that no phone and no probe
was there.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.fit.common import together
from pocketsim.calibration.fit.costs import at_sizes, cost
from pocketsim.calibration.fit.device import sleep_law
from pocketsim.calibration.fit.looks import Look, course
from pocketsim.calibration.fit.parts import (
    SLEEPS_DIFFER,
    Kept,
    Parts,
    kept,
    not_claimed,
)
from pocketsim.calibration.fit.this_machine.outside import SLEEPS_S
from pocketsim.calibration.fit.this_machine.rounds import ROUNDS
from pocketsim.sim.base.cores import usable_cores
from pocketsim.sim.base.engine_facts import device_operations
from pocketsim.sim.base.units import SIZE
from pocketsim.sim.devices.profile import Device, Profile
from pocketsim.sim.devices.provenance import PlainNumber

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.costs import Priced
    from pocketsim.calibration.fit.looks import Course
    from pocketsim.calibration.fit.samples import Estimate
    from pocketsim.calibration.fit.this_machine.rounds import Timed
    from pocketsim.sim.devices.profile import SleepOvershoot


@dataclass(frozen=True)
class Source:
    """Which kernel prices an operation here, and what it calls."""

    kernel: str
    what: str
    is_stored: bool = False  # then it waits for what it stores


SOURCES = {
    "sign": Source("ed25519_sign", "libsodium's Ed25519 through PyNaCl"),
    "verify": Source("ed25519_verify", "libsodium's Ed25519 through PyNaCl"),
    "hash": Source("sha256", "libsodium's SHA-256 through PyNaCl"),
    "encode": Source("block_encode", "Python's json, a block as those of the theses"),
    "decode": Source("block_decode", "Python's json, a block as those of the theses"),
    "udp_send": Source("udp_send", "one send over loopback"),
    "udp_receive": Source(
        "udp_receive", "one recv over loopback, then the wake-up of a thread that waited for it"
    ),
    "sealed_box_seal": Source("sealed_box_seal", "libsodium's sealed box through PyNaCl"),
    "sealed_box_open": Source("sealed_box_open", "libsodium's sealed box through PyNaCl"),
}

STORES = {
    "file_append": Source("file_append", "one write to the page cache", is_stored=True),
    "file_append_fsync": Source("file_append_fsync", "one write and fsync", is_stored=True),
    "sqlite_wal": Source("sqlite_wal", "one row of SQLite, write-ahead log", is_stored=True),
    "sqlite_journal": Source("sqlite_journal", "one row of SQLite, journal", is_stored=True),
}
"""What `store` may be priced by: the names of `calibration.fit.kernels.STORES`."""


@dataclass(frozen=True)
class Machine:
    """What the system says of the machine."""

    processor: str
    system: str
    cores: int
    python: str  # with the libraries that were called
    is_virtual: bool
    socket_buffer_bytes: int


@dataclass(frozen=True)
class Measured:
    """A profile, what of it came from the base, and what was timed beside and prices nothing."""

    profile: Profile
    kept: tuple[Kept, ...]
    beside: tuple[Timed, ...]


def learned(
    timed: Sequence[Timed],
    machine: Machine,
    base: tuple[str, Profile],
    *,
    today: dt.date,
    store: str = "file_append",
    name: str | None = None,
    measured_by: str = "not stated",
) -> Measured:
    """Return the profile of what was timed, filled with the base's; `store` is one of STORES."""
    base_name, start = base
    sources = {**SOURCES, "store": STORES[store]}
    by_kernel: dict[str, list[Timed]] = {}
    for one in timed:
        by_kernel.setdefault(one.kernel, []).append(one)
    costs = together({name: _cost(source, by_kernel, machine) for name, source in sources.items()})
    parts = Parts(
        {name: costs.get(name) for name in device_operations()},
        _sleeps(by_kernel, start.scheduler.sleep_overshoot, machine),
        machine.socket_buffer_bytes,
    )
    why = dict.fromkeys(parts.missing(), "Python has no such operation to time")
    lacking = kept(
        start, {**why, SLEEPS_DIFFER: "one run does not tell how much repetitions differ"}
    )
    known = {
        "name": name or f"{machine.processor}, timed from Python",
        "measured_on": today,
        "measured_by": measured_by,
        "does_not_claim": [*_claims(machine), not_claimed(base_name, lacking)],
    }
    found = parts.filled(start, lambda buffer_bytes: _device(machine, buffer_bytes, known))
    used = {*(source.kernel for source in sources.values()), "wake_up_latency", *_SLEEPS}
    return Measured(found, lacking, tuple(one for one in timed if one.kernel not in used))


def this_machine(socket_buffer_bytes: int) -> Machine:
    """Return what the system says of the machine that this runs on."""
    told = _cpu_info()
    return Machine(
        processor=told.get("model name") or platform.processor() or platform.machine(),
        system=f"{_distribution()}, {platform.release()}",
        cores=usable_cores(),
        python=f"Python {platform.python_version()}, PyNaCl {metadata.version('pynacl')}",
        is_virtual="hypervisor" in told.get("flags", "").split(),
        socket_buffer_bytes=socket_buffer_bytes,
    )


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):  # as in a container that has a program alone
        return platform.system()


def _cpu_info() -> dict[str, str]:
    """Return what Linux says of the first core; nothing where it does not."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {}
    lines = text.partition("\n\n")[0].splitlines()
    parts = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in parts}


def _device(machine: Machine, buffer_bytes: int, known: Mapping[str, Any]) -> Device:
    return Device.model_validate(
        {
            **known,
            "soc": machine.processor,
            "os": machine.system,
            "probe": f"none: {machine.python}",
            "cores": _cores(machine),
            "socket_buffer": SIZE.write(buffer_bytes),
        }
    )


def _claims(machine: Machine) -> list[str]:
    return [*_CLAIMS, *([_VIRTUAL] if machine.is_virtual else [])]


def _cost(source: Source, by_kernel: Mapping[str, list[Timed]], machine: Machine) -> Priced:
    found = by_kernel[source.kernel]
    wall = [one.wall() for one in found]
    cpu = [one.cpu() for one in found]
    latency, sent = (
        (by_kernel["wake_up_latency"][0].wall(), by_kernel["udp_send"][0].wall())
        if source.kernel == "udp_receive"
        else (None, None)
    )
    look = Look(
        "this machine",
        tuple(wall if source.is_stored else cpu),
        _course(found, cpu),
        wall=_course(found, wall) if source.is_stored else None,
        latency=latency,
        sent=sent,
    )
    said = f"{_where(machine)}; {source.what}{at_sizes([look])}, {_MEDIAN}"
    return cost([look], 1, said)


def _course(found: Sequence[Timed], estimates: Sequence[Estimate]) -> Course:
    sizes = (float(one.size_bytes) for one in found)
    return course(dict(zip(sizes, estimates, strict=True)))


def _sleeps(
    by_kernel: Mapping[str, list[Timed]], base: SleepOvershoot, machine: Machine
) -> SleepOvershoot:
    found = {asked_s: by_kernel[kernel][0].wall() for kernel, asked_s in _SLEEPS.items()}
    return sleep_law([found], base, _where(machine))


def _cores(machine: Machine) -> PlainNumber:
    source = f"{_where(machine)}; the system lets it use {machine.cores}"
    return PlainNumber(
        value=float(machine.cores),
        standard_error=0.0,
        basis="measured",
        samples=1,
        source=source,
    )


def _where(machine: Machine) -> str:
    return f"this machine, from {machine.python}: no probe and no phone"


_SLEEPS = {f"sleep_{asked_s:g}": asked_s for asked_s in SLEEPS_S}
_MEDIAN = f"median of {ROUNDS} rounds"
_CLAIMS = [
    "anything about a phone: all was timed on this machine, by `pocketsim calibrate this-machine`",
    "what a native program takes: each call comes from Python, and JSON is Python's",
    "costs of a radio and its driver: sockets were timed over loopback",
    "what several cores achieve together: they were counted",
    "how single executions differ: spread_sigma is that of means over a batch",
    "how much runs differ: there was one, so repetition_sigma of what it timed is 0",
]
_VIRTUAL = "what the machine takes alone: it is virtual, and others may share its cores unseen"
