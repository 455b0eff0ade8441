"""What was measured of a device, and a base's for what was not, as one profile.

Nothing is invented: what comes from the base keeps its provenance and is listed with the reason.
What deliberately does not live here: measuring, and estimating from measurements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.documents import Section
from pocketsim.sim.devices.profile import AFTER_RESTS, Profile, Scheduler
from pocketsim.sim.devices.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pocketsim.sim.devices.profile import (
        AfterRest,
        Cost,
        Device,
        Policy,
        SleepOvershoot,
    )
    from pocketsim.sim.devices.provenance import DurationNumber

SLEEPS = "scheduler.sleep_overshoot"
SLEEPS_DIFFER = f"{SLEEPS}.repetition_sigma"
SOCKET_BUFFER = "device.socket_buffer"


@dataclass(frozen=True)
class Kept:
    """A part of a profile that was not measured: where it stands, what it rests on, and why."""

    key: str
    basis: str  # of its numbers; empty for one without provenance
    why: str

    def __str__(self) -> str:
        return f"{self.key} ({self.basis})" if self.basis else self.key


@dataclass(frozen=True)
class Parts:
    """The parts of a profile as they were measured; None for what was not."""

    operations: Mapping[str, Cost | None]
    sleeps: SleepOvershoot | None
    socket_buffer_bytes: int | None
    rests: Mapping[str, list[AfterRest]] = field(default_factory=dict)
    """By their key of the scheduler; nothing where reports tell none."""
    policy: Policy | None = None
    tick: DurationNumber | None = None

    def missing(self) -> list[str]:
        """Return the keys of what was not measured: names of operations, paths of the others."""
        parts = {
            **self.operations,
            SLEEPS: self.sleeps,
            SOCKET_BUFFER: self.socket_buffer_bytes,
        }
        return [key for key, part in parts.items() if part is None]

    def filled(self, base: Profile | None, device: Callable[[int], Device]) -> Profile:
        """Return the profile, with the base's for what is missing; it may be None if nothing is.

        `device` returns its first section, given the socket buffer in bytes.
        """
        buffer_bytes = self.socket_buffer_bytes
        if buffer_bytes is None:
            buffer_bytes = _there(base).device.socket_buffer
        return Profile(
            device=device(buffer_bytes),
            operations={
                name: cost or _there(base).operations[name]
                for name, cost in self.operations.items()
            },
            scheduler=Scheduler(
                sleep_overshoot=self.sleeps or _there(base).scheduler.sleep_overshoot,
                **{key: self._rests(key, base) for key in AFTER_RESTS},
                policy=self.policy,
                tick=self.tick,
            ),
        )

    def _rests(self, key: str, base: Profile | None) -> list[AfterRest] | None:
        """Return what goes with the operation of these parts, which may be the base's."""
        operation = AFTER_RESTS[key]
        if operation and self.operations.get(operation, True) is None:
            found: list[AfterRest] | None = getattr(_there(base).scheduler, key)
            return found
        return self.rests.get(key) or None


def kept(base: Profile, why: Mapping[str, str]) -> tuple[Kept, ...]:
    """Return what comes from `base`, by key with the reason."""
    return tuple(Kept(key, _basis(base, key), reason) for key, reason in why.items())


def not_claimed(base_name: str, parts: Sequence[Kept]) -> str:
    """Return what a profile does not claim of parts that come from another."""
    return f"{', '.join(map(str, parts))}: of profile {base_name}, not of this device"


def _there(base: Profile | None) -> Profile:
    assert base is not None, "without a base nothing is missing"
    return base


def _basis(base: Profile, key: str) -> str:
    """Return what the numbers of `base` at `key` rest on, or nothing when that is not stated."""
    if key in base.operations:
        return base.operations[key].basis
    found: Any = base
    for part in key.split("."):
        found = getattr(found, part)
    if isinstance(found, Provenance):
        return found.basis
    if isinstance(found, Section):
        return " and ".join(sorted({number.basis for _, number in found}))
    return ""
