"""From reports of the device probe, or from this machine, to a profile in a file, and as a table.

How numbers are made is `calibration.fit.calibration`'s and `calibration.fit.this_machine`'s.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pocketsim.api.documents.catalog import document_file
from pocketsim.api.profiles import Profile, device
from pocketsim.api.profiles import implementation as implementation_of
from pocketsim.sim.base.errors import UserError, did_you_mean, nearest
from pocketsim.sim.base.files import at_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pocketsim.calibration.fit.calibration import Calibration
    from pocketsim.calibration.fit.round_trips import RoundTrip
    from pocketsim.calibration.fit.this_machine.clock import Clock
    from pocketsim.calibration.fit.this_machine.profile import Measured
    from pocketsim.sim.devices.implementation import Implementation, OwnCost


@dataclass(frozen=True, repr=False)
class Calibrated(Profile):
    """A device profile that was made of reports, or by timing this machine.

    `kept` says for each part that came from the base where it stands, what it rests on, and why it
    was not measured. `round_trips` are those of datagrams over loopback that the reports have
    timed, s, beside what the costs add up to; none of this machine from Python.
    """

    kept: tuple[str, ...] = ()
    round_trips: tuple[RoundTrip, ...] = ()


@dataclass(frozen=True)
class TimedSteps:
    """An implementation with what reports have timed of its steps.

    `described` is the file that describes it, `before` what that says, `implementation` the same
    with what was measured in its place.
    """

    described: Path
    before: Implementation
    implementation: Implementation

    @property
    def measured(self) -> dict[str, OwnCost]:
        """The own costs that the reports have timed, by name."""
        before = self.before.own_costs
        costs = self.implementation.own_costs
        return {name: cost for name, cost in costs.items() if cost is not before.get(name)}

    @property
    def kept(self) -> dict[str, OwnCost]:
        """The own costs that stay as they are described, by name."""
        costs = self.implementation.own_costs
        return {name: cost for name, cost in costs.items() if name not in self.measured}


def calibrate(
    reports: str | Path | Sequence[str | Path],
    path: str | Path,
    *,
    base: str | Path | None = None,
    name: str | None = None,
    measured_by: str = "not stated",
    store: str = "file_append",
    allow_spoiled: bool = False,
) -> Calibrated:
    """Write the profile of a device to a file, made of the probe's reports, and return it.

    Args:
        reports: Files of reports (JSON) of one device, in any order; or one of them.
        path: Of the profile, which ends in .toml; a scenario names it so.
        base: Profile for what no report measured: one of `pocketsim.devices`, or a file. Without
            it, a gap is refused.
        name: Of the device, instead of the report's.
        measured_by: Who ran the probe.
        store: Kernel that prices `store`: file_append, file_append_fsync, sqlite_wal or
            sqlite_journal.
        allow_spoiled: Take reports that say what spoiled them; the profile then says so.

    Raises ScenarioError for what is no report, reports of several devices, a spoiled one or a gap,
    before anything is written.
    """
    from pocketsim.calibration.fit.write import write_profile

    target = at_home(path)
    found = fitted(
        _files(reports),
        target,
        base,
        name=name,
        measured_by=measured_by,
        store=store,
        allow_spoiled=allow_spoiled,
    )
    write_profile(found.profile_, target)
    kept = tuple(f"{part}: {part.why}" for part in found.kept_)
    return Calibrated(target.stem, device(target).contents, kept, found.round_trips_)


def calibrate_this_machine(
    path: str | Path,
    *,
    base: str | Path = "thinkpad_l13",
    seconds: float = 10.0,
    name: str | None = None,
    measured_by: str = "not stated",
    store: str = "file_append",
) -> Calibrated:
    """Time this machine from Python, write its profile to a file, and return it.

    A quick look at the machine at hand: libsodium through PyNaCl, JSON, UDP over loopback, files
    and sleeps. Every number that it times says so; it is no probe's, and no phone's.

    Args:
        path: Of the profile, which ends in .toml; files are timed in a folder beside it.
        base: Profile for what Python cannot time, QUIC among it: one of `pocketsim.devices`, or a
            file.
        seconds: How long to time, about.
        name: Of the device, instead of its processor's.
        measured_by: Who ran it.
        store: What prices `store`: as for `calibrate`.

    Raises ScenarioError for a base that is none, UserError for another mistake, before anything is
    timed or written.
    """
    from pocketsim.calibration.fit.write import write_profile

    target = at_home(path)
    found = timed(target, base, seconds, name=name, measured_by=measured_by, store=store)
    write_profile(found.profile, target, MADE_HERE)
    kept = tuple(f"{part}: {part.why}" for part in found.kept)
    return Calibrated(target.stem, device(target).contents, kept)


def calibrate_implementation(
    reports: str | Path | Sequence[str | Path],
    path: str | Path,
    *,
    device: str | Path,
    implementation: str | Path = "probe",
) -> Profile:
    """Write an implementation with what reports have timed of its own steps, and return it.

    What `probe trade` takes on a device beyond the operations that it asks for: docs/profiles.md,
    "Own costs of a report". What not every report has timed stays as it is described.

    Args:
        reports: Files of reports (JSON) of one device, in any order; or one of them.
        path: Of the implementation, which ends in .toml; a scenario names it so.
        device: The profile that `calibrate` made of the same reports.
        implementation: One of `pocketsim.implementations`, or a file.

    Raises ScenarioError for what is no profile or no report, before anything is written.
    """
    from pocketsim.calibration.fit.write import write_implementation

    target = at_home(path)
    found = timed_steps(_files(reports), target, device, implementation)
    write_implementation(found.described, found.implementation, target)
    return implementation_of(target)


def pin_profile(
    profile: str | Path, path: str | Path, reports: str | Path | Sequence[str | Path] = ()
) -> Profile:
    """Write a device's profile again, as that of one process pinned to one core, and return it.

    So a trade between two processes of one computer is simulated as one of two phones.

    Args:
        profile: One of `pocketsim.devices`, or a file.
        path: Of the profile to write, which ends in .toml.
        reports: Those that the profile was made of. Over the loopback the sender's call wakes who
            receives: where they have timed that, so much of a wake-up is moved to sending, by for
            how long nothing was sent (`scheduler.send_after`).

    Raises ScenarioError for what is no profile or no report, or is of a process already, before
    anything is written.
    """
    target = at_home(path)
    target.write_text(pinned(profile, target, _files(reports)), encoding="utf-8")
    return device(target)


def timed_steps(
    reports: Sequence[Path], path: Path, device: str | Path, implementation: str | Path
) -> TimedSteps:
    """Return what `calibrate_implementation` writes; nothing is written."""
    from pocketsim.calibration.fit import own, probe_report
    from pocketsim.calibration.fit.calibration import refuse_strangers
    from pocketsim.sim.devices import implementation as implementations
    from pocketsim.sim.devices import profile

    _check_suffix(path)
    if not reports:
        raise UserError(_NO_REPORT)
    file = document_file(implementation, "implementation")
    described = implementations.load(file)
    costs = profile.load(document_file(device, "device"))
    found = [probe_report.load(one) for one in reports]
    refuse_strangers(found)
    with _possible(reports):
        return TimedSteps(file, described, own.measured(described, costs, found))


def pinned(profile: str | Path, path: Path, reports: Sequence[Path]) -> str:
    """Return what `pin_profile` writes; nothing is written."""
    from pocketsim.calibration.fit import probe_report
    from pocketsim.calibration.fit.wakes import PRICED_REST_S, waking_calls
    from pocketsim.calibration.host.processes import as_a_process

    _check_suffix(path)
    found = [probe_report.load(one) for one in reports]
    with _possible(reports):
        calls = waking_calls(found)
    return as_a_process(document_file(profile, "device"), calls, PRICED_REST_S)


def timed(
    path: Path,
    base: str | Path,
    seconds: float,
    *,
    name: str | None,
    measured_by: str,
    store: str,
    clock: Clock | None = None,
) -> Measured:
    """Return what `calibrate_this_machine` writes; nothing is left behind.

    `clock` is what times, the system's without one.
    """
    from pocketsim.calibration.fit.this_machine import outside, profile, rounds
    from pocketsim.calibration.fit.this_machine.clock import SystemClock
    from pocketsim.calibration.fit.this_machine.computing import computing
    from pocketsim.sim.devices.profile import load

    _check(path, store)
    if not 0 < seconds < math.inf:
        raise UserError(f"seconds: {seconds:g} is no time to measure in; it must be more than 0")
    start = (str(base), load(document_file(base, "device")))
    clock = clock or SystemClock()
    # On the disk that the profile will be on: a temporary folder may be no disk at all.
    beside = path.parent if path.parent.is_dir() else Path()
    with (
        tempfile.TemporaryDirectory(prefix=".tmp-", dir=beside) as folder,
        outside.outside(Path(folder)) as others,
    ):
        found = rounds.measure([*computing(), *others], clock, seconds)
    machine = profile.this_machine(outside.socket_buffer_bytes())
    return profile.learned(
        found,
        machine,
        start,
        today=clock.today(),
        store=store,
        name=name,
        measured_by=measured_by,
    )


def fitted(
    reports: Sequence[Path],
    path: Path,
    base: str | Path | None,
    *,
    name: str | None,
    measured_by: str,
    store: str,
    allow_spoiled: bool,
) -> Calibration:
    """Return what `calibrate` writes; nothing is written."""
    from pocketsim.calibration.fit import probe_report
    from pocketsim.calibration.fit.calibration import Calibration
    from pocketsim.sim.devices import profile

    _check(path, store)
    if not reports:
        raise UserError(_NO_REPORT)
    start = (str(base), profile.load(document_file(base, "device"))) if base is not None else None
    calibration = Calibration(
        start, name=name, measured_by=measured_by, store=store, allow_spoiled=allow_spoiled
    )
    found = [probe_report.load(one) for one in reports]
    with _possible(reports):
        return calibration.fit(found)


@contextlib.contextmanager
def _possible(reports: Sequence[Path]) -> Iterator[None]:
    """Raise UserError, with the reports, for numbers of theirs that no profile can have.

    Each number of a report is possible by itself; together they may be out of what a profile holds.
    """
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        told = error.errors()[0]
        where = ".".join(map(str, told["loc"]))
        reason = f"{where}: {told['msg']}" if where else told["msg"]
        names = ", ".join(map(str, reports))
        raise UserError(f"{names}: no {error.title} can be made of this: {reason}") from None


def _check(path: Path, store: str) -> None:
    """Raise UserError for what is no name of a profile's file, or of what prices `store`."""
    from pocketsim.calibration.fit.kernels import STORES

    if store not in STORES:
        hint = did_you_mean(nearest(store, STORES))
        raise UserError(f"store: {store!r} is not one of {', '.join(STORES)}{hint}")
    _check_suffix(path)


def _check_suffix(path: Path) -> None:
    if path.suffix != ".toml":
        raise UserError(f"{path}: a profile's file ends in .toml")


def _files(which: str | Path | Sequence[str | Path]) -> list[Path]:
    return [at_home(which)] if isinstance(which, str | Path) else [at_home(one) for one in which]


_NO_REPORT = "there is no report to make a profile of"
MADE_HERE = "`pocketsim calibrate this-machine` from Python on one machine, which is no phone"
"""By what and of what such a profile was made, as its file says."""
