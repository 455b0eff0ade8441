"""From reports of the probe to a device profile.

`Calibration` is an estimator: the constructor stores options, `fit` learns from reports of one
device, learned names end in an underscore. For each operation it fits `cpu + per_byte * bytes`
through the cases of its kernel (`calibration.fit.kernels`), and takes the mean over the reports.
The relative standard error is that of the cost at a common block's size, as a draw scales the whole
cost by one factor; lack of fit is part of it, undiminished by more sizes or reports. What differs
between reports beyond that is the `repetition_sigma`.

Nothing is invented: what no report has measured comes from a base profile with its provenance, and
is listed with the reason. What does not live here: reading reports, and putting the profile's file
in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.fit.costs import cases, price
from pocketsim.calibration.fit.device import (
    core_classes,
    core_count,
    cores,
    sleep_overshoot,
    sleepers,
    socket_buffer_bytes,
)
from pocketsim.calibration.fit.kernels import SOURCES, STORES
from pocketsim.sim.base.documents import Section
from pocketsim.sim.base.engine_facts import device_operations
from pocketsim.sim.base.errors import ScenarioError, UserError
from pocketsim.sim.base.units import SIZE
from pocketsim.sim.devices.profile import Cost, Device, Profile, Scheduler
from pocketsim.sim.devices.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.kernels import Source
    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.sim.devices.profile import SleepOvershoot


@dataclass(frozen=True)
class Kept:
    """A part of a profile that was not measured: where it stands, what it rests on, and why."""

    key: str
    basis: str  # of its numbers; empty for one without provenance
    why: str

    def __str__(self) -> str:
        return f"{self.key} ({self.basis})" if self.basis else self.key


class Calibration:
    """Makes a device profile of reports.

    Args:
        base: Name of a profile and the profile, which fills what was not measured; None for none.
        name: Of the device; None for its maker and model.
        measured_by: Who ran the probe.
        store: Kernel that prices `store`, one of `calibration.fit.kernels.STORES`.
        allow_spoiled: Whether spoiled reports count; their conditions are then not claimed.
    """

    profile_: Profile
    kept_: tuple[Kept, ...]  # what came from the base

    def __init__(
        self,
        base: tuple[str, Profile] | None = None,
        *,
        name: str | None = None,
        measured_by: str = "not stated",
        store: str = "file_append",
        allow_spoiled: bool = False,
    ) -> None:
        self.base = base
        self.name = name
        self.measured_by = measured_by
        self.store = store
        self.allow_spoiled = allow_spoiled

    def fit(self, reports: Sequence[Report]) -> Calibration:
        """Learn `profile_` and `kept_` from reports of one device, in any order.

        Raises ScenarioError for reports of several devices, twice the same one or spoiled ones.
        """
        base = self.base[1] if self.base else None
        reports = sorted(reports, key=lambda report: (report.started_at, report.digest))
        _refuse_strangers(reports)
        if not self.allow_spoiled:
            _refuse_spoiled(reports)
        priced = {name: self._priced(name, reports) for name in device_operations()}
        sleeps = sleep_overshoot(reports, base.scheduler.sleep_overshoot if base else None)
        buffer_bytes = socket_buffer_bytes(reports)
        parts = {**priced, _SLEEPS: sleeps, "device.socket_buffer": buffer_bytes}
        missing = [key for key, part in parts.items() if part is None]
        if base is None:
            self._refuse_holes(missing, reports)
            self.kept_ = ()
        else:
            if sleeps and len(sleepers(reports)) == 1:
                missing.append(_SLEEPS_DIFFER)
            self.kept_ = tuple(self._kept(key, base, reports) for key in missing)
        self.profile_ = self._profile(reports, priced, sleeps, buffer_bytes)
        return self

    def _refuse_holes(self, missing: Sequence[str], reports: Sequence[Report]) -> None:
        if missing:
            key, others = missing[0], len(missing) - 1
            said = f" and {others} more" if others else ""
            reason = f"not measured: {key}{said} ({self._why_missing(key, reports)})"
            raise ScenarioError(reports[-1].path, "", f"{reason}; name a profile with --base")

    def _profile(
        self,
        reports: Sequence[Report],
        priced: Mapping[str, Cost | None],
        sleeps: SleepOvershoot | None,
        buffer_bytes: int | None,
    ) -> Profile:
        """Return what was measured, and the base's for what was not."""
        base = self.base[1] if self.base else None
        operations = {name: cost or _of(base).operations[name] for name, cost in priced.items()}
        buffer_bytes = buffer_bytes or _of(base).device.socket_buffer
        sleeps = sleeps or _of(base).scheduler.sleep_overshoot
        return Profile(
            device=self._device(reports, buffer_bytes),
            operations=operations,
            scheduler=Scheduler(sleep_overshoot=sleeps),
        )

    def _priced(self, name: str, reports: Sequence[Report]) -> Cost | None:
        return price(self._source(name), reports, core_count(reports))

    def _kept(self, key: str, base: Profile, reports: Sequence[Report]) -> Kept:
        return Kept(key, _basis(base, key), self._why_missing(key, reports))

    def _why_missing(self, key: str, reports: Sequence[Report]) -> str:
        if key == _SLEEPS_DIFFER:
            return "one report does not tell how much repetitions differ"
        kernel = _KERNELS.get(key) or self._lacking(self._source(key), reports)
        said = [
            case.reason
            for report in reports
            for case in report.document.measurements
            if case.kernel == kernel and case.reason
        ]
        return f"kernel {kernel}: {said[0] if said else 'no report has enough samples of it'}"

    def _source(self, operation: str) -> Source:
        return STORES[self.store] if operation == "store" else SOURCES[operation]

    def _lacking(self, source: Source, reports: Sequence[Report]) -> str:
        """Return the kernel for want of which nothing priced an operation: its own, or the wait."""
        alone = source.waits in {"", "wall"}
        timed = any(cases(report, source.kernel, "cpu_s", source.variant) for report in reports)
        return source.waits if timed and not alone else source.kernel

    def _device(self, reports: Sequence[Report], buffer_bytes: int) -> Device:
        last = reports[-1].document
        model = f"{last.device.manufacturer} {last.device.model}".strip()
        name = self.name or model or last.device.soc
        if not name:
            raise UserError(f"{reports[-1].path}: does not name its device; name it with --name")
        system = " ".join(filter(None, (last.device.os, last.device.os_build)))
        return Device.model_validate(
            {
                "name": name,
                "soc": last.device.soc or "not stated",
                "os": system or "not stated",
                "measured_on": reports[-1].started_at.date(),
                "measured_by": self.measured_by,
                "probe": f"{last.made.probe_version}, {last.made.build}, {last.made.target}",
                "does_not_claim": self._does_not_claim(reports),
                "cores": cores(reports),
                "core_classes": core_classes(reports),
                "socket_buffer": SIZE.write(buffer_bytes),
            }
        )

    def _does_not_claim(self, reports: Sequence[Report]) -> list[str]:
        claims = [
            "that other devices of this model cost the same",
            "costs of the radio and its driver: sockets were measured over loopback",
            "the app's own JSON library: encode and decode are those of the simulator's block",
            "throttling under longer load, or what other apps take",
            "a thread that is awake already: every received datagram costs a wake-up",
            "how single tasks, datagrams and QUIC steps differ: they were timed some at a time",
        ]
        classes = {core.core_class for report in reports for core in report.document.device.cores}
        if len(classes) > 1:
            claims.append("cores by class: operations were timed where the system put one thread")
        if self.base and self.kept_:
            kept = ", ".join(map(str, self.kept_))
            claims.append(f"{kept}: of profile {self.base[0]}, not of this device")
        if len(reports) == 1:
            claims.append(
                "how much runs differ: there is one report, so repetition_sigma of the operations "
                "that it measured is 0"
            )
        return claims + [
            f"{spoiled.condition} in report {report.digest[:12]}: {spoiled.detail}"
            for report in reports
            for spoiled in report.document.spoiled
        ]


def _of(base: Profile | None) -> Profile:
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


def _refuse_strangers(reports: Sequence[Report]) -> None:
    """Raise ScenarioError unless all reports are different and of one device."""
    first, *others = reports
    digests = {first.digest}
    for report in others:
        if report.digest in digests:
            raise ScenarioError(report.path, "", "is there twice: the same report counts once")
        digests.add(report.digest)
        for key in ("manufacturer", "model", "soc", "abi"):
            here, there = (getattr(one.document.device, key) for one in (report, first))
            if here != there:
                reason = f"is {here!r}, but {first.path} says {there!r}; a profile is of one device"
                raise ScenarioError(report.path, f"device.{key}", reason)


def _refuse_spoiled(reports: Sequence[Report]) -> None:
    for report in reports:
        if spoiled := report.document.spoiled:
            said = "; ".join(f"{one.condition} ({one.detail})" for one in spoiled)
            reason = f"{said}. Measure again, or accept that with --allow-spoiled"
            raise ScenarioError(report.path, "spoiled", reason)


_SLEEPS = "scheduler.sleep_overshoot"
_SLEEPS_DIFFER = f"{_SLEEPS}.repetition_sigma"
_KERNELS = {_SLEEPS: "sleep_overshoot", "device.socket_buffer": "udp_buffer_capacity"}
