"""From reports of the probe to a device profile.

`Calibration` is an estimator: the constructor stores options, `fit` learns from reports of one
device, learned names end in an underscore. For each operation it fits `cpu + per_byte * bytes`
through the cases of its kernel (`calibration.fit.kernels`), and takes the mean over the reports.
The errors of both parts, how they go together and how surely they are known are from what differs
between reports, or between the rounds of one; lack of fit is part of them, undiminished by more
sizes or reports. What differs between reports beyond their own errors is the `repetition_sigma`.

Nothing is invented: what no report has measured comes from a base profile with its provenance, and
is listed with the reason. What does not live here: reading reports, and putting the profile's file
in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit import pace, quic_wakes, wakes
from pocketsim.calibration.fit.common import together
from pocketsim.calibration.fit.costs import price
from pocketsim.calibration.fit.device import (
    core_classes,
    core_count,
    cores,
    kernel_tick,
    scheduling_policy,
    sleep_overshoot,
    sleepers,
    socket_buffer_bytes,
)
from pocketsim.calibration.fit.kernels import QUIC_WAKE, SOURCES, STORES, TIMED_SLEEPS, WAKE
from pocketsim.calibration.fit.looks import cases
from pocketsim.calibration.fit.parts import (
    SLEEPS,
    SLEEPS_DIFFER,
    SOCKET_BUFFER,
    Kept,
    Parts,
    kept,
    not_claimed,
)
from pocketsim.calibration.fit.round_trips import compared
from pocketsim.calibration.fit.scatter import BOOTSTRAPS, scattered
from pocketsim.sim.base.engine_facts import device_operations
from pocketsim.sim.base.errors import ScenarioError, UserError
from pocketsim.sim.base.units import SIZE
from pocketsim.sim.devices.prices import REFERENCE_BYTES
from pocketsim.sim.devices.profile import Cost, Device, Profile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.costs import Priced
    from pocketsim.calibration.fit.kernels import Source
    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.calibration.fit.round_trips import RoundTrip
    from pocketsim.sim.devices.profile import AfterRest


class Calibration:
    """Makes a device profile of reports.

    Args:
        base: Name of a profile and the profile, which fills what was not measured; None for none.
        name: Of the device; None for its maker and model.
        measured_by: Who ran the probe.
        store: Kernel that prices `store`, one of `calibration.fit.kernels.STORES`.
        allow_spoiled: Whether spoiled reports count; their conditions are then not claimed.
        bootstraps: Of each operation, to tell how well its family fits; 0 to leave that out.
    """

    profile_: Profile
    kept_: tuple[Kept, ...]  # what came from the base
    untold_: dict[str, str]  # by operation, why it is not told how it scatters
    round_trips_: tuple[RoundTrip, ...]  # what the costs add up to, beside what was timed

    def __init__(
        self,
        base: tuple[str, Profile] | None = None,
        *,
        name: str | None = None,
        measured_by: str = "not stated",
        store: str = "file_append",
        allow_spoiled: bool = False,
        bootstraps: int = BOOTSTRAPS,
    ) -> None:
        self.base = base
        self.name = name
        self.measured_by = measured_by
        self.store = store
        self.allow_spoiled = allow_spoiled
        self.bootstraps = bootstraps

    def fit(self, reports: Sequence[Report]) -> Calibration:
        """Learn `profile_` and `kept_` from reports of one device, in any order.

        Raises ScenarioError for reports of several devices, twice the same one or spoiled ones.
        """
        base = self.base[1] if self.base else None
        reports = sorted(reports, key=lambda report: (report.started_at, report.digest))
        refuse_strangers(reports)
        if not self.allow_spoiled:
            _refuse_spoiled(reports)
        sleeps = sleep_overshoot(reports, base.scheduler.sleep_overshoot if base else None)
        prices, sources = self._prices(reports)
        policy = scheduling_policy(reports)
        parts = Parts(
            together(prices),
            sleeps,
            socket_buffer_bytes(reports),
            self._rests(prices, reports),
            policy,
            kernel_tick(reports) if policy else None,
        )
        missing = parts.missing()
        if base is None:
            self._refuse_holes(missing, reports)
            self.kept_ = ()
        else:
            if sleeps and len(sleepers(reports)) == 1:
                missing.append(SLEEPS_DIFFER)
            why = {key: self._why_missing(key, reports) for key in missing}
            self.kept_ = kept(base, why)
        wakes_apart = "udp_wake" in parts.operations
        profile = parts.filled(
            base, lambda size: self._device(reports, size, wakes_apart=wakes_apart)
        )
        self.untold_ = {}
        if self.bootstraps:
            priced_by = {name: sources[name] for name, cost in parts.operations.items() if cost}
            found, self.untold_ = scattered(priced_by, reports, self.bootstraps)
            profile = profile.model_copy(update={"scatter": found or None})
        self.profile_ = profile
        self.round_trips_ = compared(profile, reports)
        return self

    def get_params(self) -> dict[str, Any]:
        """Return the options, by which `Calibration(**params)` makes the same estimator."""
        return {
            "base": self.base,
            "name": self.name,
            "measured_by": self.measured_by,
            "store": self.store,
            "allow_spoiled": self.allow_spoiled,
            "bootstraps": self.bootstraps,
        }

    def score(self, reports: Sequence[Report]) -> float:
        """Return how well `profile_` tells the costs in other reports of the device, 1 at best.

        The share of the variance of the logarithms of their costs, at a common block's size, that
        is explained: 0 for one who knows no more than their mean. Raises UserError where the
        reports have not two operations that the profile has as well.
        """
        other = type(self)(
            **self.get_params() | {"base": ("the profile", self.profile_), "bootstraps": 0}
        )
        told = other.fit(reports).profile_.operations
        kept = {part.key for part in (*self.kept_, *other.kept_)}
        both = np.log(
            [
                (_total_s(told[name]), _total_s(cost))
                for name, cost in self.profile_.operations.items()
                if name in told and name not in kept
            ]
        )
        if len(both) < 2:  # noqa: PLR2004 - of one there is no variance
            raise UserError("there is nothing to compare: no two operations are in both")
        missed, varies = both[:, 0] - both[:, 1], both[:, 0] - both[:, 0].mean()
        return 1 - float(missed @ missed) / float(varies @ varies)

    def _refuse_holes(self, missing: Sequence[str], reports: Sequence[Report]) -> None:
        if missing:
            key, others = missing[0], len(missing) - 1
            said = f" and {others} more" if others else ""
            reason = f"not measured: {key}{said} ({self._why_missing(key, reports)})"
            raise ScenarioError(reports[-1].path, "", f"{reason}; name a profile with --base")

    def _prices(
        self, reports: Sequence[Report]
    ) -> tuple[dict[str, Priced | None], dict[str, Source]]:
        """Return what reports say of every operation, and by what each is priced.

        A wake-up is apart only if all of them tell it.
        """
        cores = core_count(reports)
        sources = {name: self._source(name) for name in device_operations()}
        found = {name: price(source, reports, cores) for name, source in sources.items()}
        if apart := wakes.apart(reports, cores):
            found |= apart
            sources |= wakes.APART
        if "udp_wake" in found and (waking := quic_wakes.price(reports)):
            found["quic_wake"] = waking
            sources["quic_wake"] = QUIC_WAKE
        for name, told in TIMED_SLEEPS.items():
            if all(cases(report, told.kernel, "cpu_s") for report in reports):
                found[name] = price(told, reports, cores)
                sources[name] = told
            elif self.base and name in self.base[1].operations:
                found[name] = None
        # A base whose recvfrom has no wake-up in it gives both.
        if found["udp_receive"] is None and self.base and "udp_wake" in self.base[1].operations:
            found["udp_wake"] = None
            if "quic_wake" in self.base[1].operations:
                found["quic_wake"] = None
        return found, sources

    @staticmethod
    def _rests(
        prices: Mapping[str, Priced | None], reports: Sequence[Report]
    ) -> dict[str, list[AfterRest]]:
        """Return what depends on rests, of what was priced of these reports."""
        found = {"pace_after": pace.after(reports)}
        if prices.get("udp_wake"):
            found["wake_after"] = wakes.after(reports)
        if prices.get("quic_wake"):
            found["quic_wake_after"] = quic_wakes.after(reports)
        return found

    def _why_missing(self, key: str, reports: Sequence[Report]) -> str:
        if key == SLEEPS_DIFFER:
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
        if operation in _APART:
            return _APART[operation]
        return STORES[self.store] if operation == "store" else SOURCES[operation]

    def _lacking(self, source: Source, reports: Sequence[Report]) -> str:
        """Return the kernel for want of which nothing priced an operation: its own, or the wait."""
        alone = source.waits in {"", "wall"}
        timed = any(cases(report, source.kernel, "cpu_s", source.variant) for report in reports)
        return source.waits if timed and not alone else source.kernel

    def _device(self, reports: Sequence[Report], buffer_bytes: int, *, wakes_apart: bool) -> Device:
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
                "does_not_claim": self._does_not_claim(reports, wakes_apart=wakes_apart),
                "cores": cores(reports),
                "core_classes": core_classes(reports),
                "socket_buffer": SIZE.write(buffer_bytes),
            }
        )

    def _does_not_claim(self, reports: Sequence[Report], *, wakes_apart: bool) -> list[str]:
        claims = [
            "that other devices of this model cost the same",
            "costs of the radio and its driver: sockets were measured over loopback",
            "the app's own JSON library: encode and decode are those of the simulator's block",
            "throttling under longer load, or what other apps take",
            "that waking costs the sender something: over loopback it does, from a network not"
            if wakes_apart
            else "a thread that is awake already: every received datagram costs a wake-up",
            "how single tasks, datagrams and QUIC steps differ: they were timed some at a time",
        ]
        classes = {core.core_class for report in reports for core in report.document.device.cores}
        if len(classes) > 1:
            claims.append("cores by class: operations were timed where the system put one thread")
        if self.base and self.kept_:
            claims.append(not_claimed(self.base[0], self.kept_))
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


def _total_s(cost: Cost) -> float:
    return cost.cpu + cost.wait + cost.per_byte * REFERENCE_BYTES


def refuse_strangers(reports: Sequence[Report]) -> None:
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


_APART = {"udp_wake": WAKE, "quic_wake": QUIC_WAKE, **TIMED_SLEEPS}
_KERNELS = {SLEEPS: "sleep_overshoot", SOCKET_BUFFER: "udp_buffer_capacity"}
