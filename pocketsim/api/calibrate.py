"""From reports of the device probe, or from this machine, to a profile in a file, and as a table.

And from traces of people to laws. How numbers are made is `calibration.fit.calibration`'s,
`calibration.fit.this_machine`'s and `calibration.fit.people.contact_fit`'s.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.api.documents.catalog import document_file
from pocketsim.api.profiles import Profile, device
from pocketsim.api.profiles import implementation as implementation_of
from pocketsim.sim.base.errors import ScenarioError, UserError, did_you_mean, nearest
from pocketsim.sim.base.files import at_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pocketsim.calibration.fit.calibration import Calibration
    from pocketsim.calibration.fit.round_trips import RoundTrip
    from pocketsim.calibration.fit.this_machine.clock import Clock
    from pocketsim.calibration.fit.this_machine.profile import Measured
    from pocketsim.sim.devices.implementation import Implementation, OwnCost
    from pocketsim.sim.scenario.resolved import ContactLaw


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


def calibrate_contacts(
    trace: str | Path,
    path: str | Path,
    *,
    form: str = "columns",
    origin: str | float = "0s",
    until_day: int | None = None,
    resolution: str = "20s",
    about: Mapping[str, str] | None = None,
) -> ContactLaw:
    """Fit a law of contacts to a trace of people who share a place, write it, and return it.

    `[contacts]` of a scenario with `kind = "law"` names it.

    Args:
        trace: File in one of the formats of a scenario's contacts.
        path: Of the law, which ends in .toml.
        form: Format of the trace: columns or tij.
        origin: Midnight before a Monday, on the clock of the trace, as a scenario says it; "first"
            is the midnight before the first contact.
        until_day: Only days before this one, counted from the origin's, are fitted to; all without.
        resolution: Times of the trace are multiples of this, or become so.
        about: What the law rests on: title, source, licence, fitted_to.

    Raises ScenarioError for what is no trace, UserError for one that tells too little, before
    anything is written.
    """
    from pocketsim.calibration.fit.people.write import write_law

    target = at_home(path)
    law, fitted_to = fitted_contacts(
        at_home(trace),
        target,
        form=form,
        origin=origin,
        until_day=until_day,
        resolution=resolution,
    )
    write_law(law, {**said_of(at_home(trace)), "fitted_to": fitted_to, **(about or {})}, target)
    return law


def said_of(trace: Path) -> dict[str, str]:
    """Return what a law says that it rests on where nobody says more."""
    return {"title": trace.name, "source": trace.name, "licence": "not stated"}


def fitted_contacts(
    trace: Path,
    path: Path,
    *,
    form: str,
    origin: str | float,
    until_day: int | None,
    resolution: str,
) -> tuple[ContactLaw, str]:
    """Return what `calibrate_contacts` writes, and what it is fitted to; nothing is written."""
    from pocketsim.calibration.fit.people import contact_fit
    from pocketsim.calibration.fit.people import trace as traces
    from pocketsim.sim.base import tables
    from pocketsim.sim.base.documents import origin_s
    from pocketsim.sim.base.units import DURATION

    _check_suffix(path, "a law")
    if form not in _FORMS:
        hint = did_you_mean(nearest(form, _FORMS))
        raise UserError(f"form: {form!r} is not one of {', '.join(_FORMS)}{hint}")
    since_s = _parsed("origin", origin_s, origin)
    resolution_s = float(_parsed("resolution", DURATION.parse, resolution))
    if not 0 < resolution_s <= traces.RESOLUTION_MAX_S:
        raise UserError(f"resolution: {resolution!r} is not more than 0 and at most 1h")
    if form == _FORMS[0] and not trace.name.lower().endswith(tables.SUFFIXES):
        reason = f'is no table, {" ".join(tables.SUFFIXES)}, as the format "{form}" is'
        raise ScenarioError(trace, "", reason, _FORMS[1])
    every = traces.read(trace, form, resolution_s, since_s)
    last_day = int(every.day.max()) + 1
    if until_day is not None and until_day <= int(every.day.min()):
        reason = f"until_day: the trace has no day before day {until_day}"
        raise UserError(f"{reason}; it has days {int(every.day.min())} to {last_day - 1}")
    found = every.between(0, until_day or last_day)
    try:
        law = contact_fit.fit(found, resolution_s)
    except UserError as error:
        raise UserError(f"{trace}: {error}") from None
    return law, found.text()


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


def _parsed(name: str, parse: Callable[[object], float | str], value: object) -> Any:
    """Return a value of an option, or raise UserError with the name of the option."""
    try:
        return parse(value)
    except ValueError as error:
        raise UserError(f"{name}: {error}") from None


def _check(path: Path, store: str) -> None:
    """Raise UserError for what is no name of a profile's file, or of what prices `store`."""
    from pocketsim.calibration.fit.kernels import STORES

    if store not in STORES:
        hint = did_you_mean(nearest(store, STORES))
        raise UserError(f"store: {store!r} is not one of {', '.join(STORES)}{hint}")
    _check_suffix(path)


def _check_suffix(path: Path, what: str = "a profile") -> None:
    if path.suffix != ".toml":
        raise UserError(f"{path}: {what}'s file ends in .toml")


def _files(which: str | Path | Sequence[str | Path]) -> list[Path]:
    return [at_home(which)] if isinstance(which, str | Path) else [at_home(one) for one in which]


_FORMS = ("columns", "tij")
_NO_REPORT = "there is no report to make a profile of"
MADE_HERE = "`pocketsim calibrate this-machine` from Python on one machine, which is no phone"
"""By what and of what such a profile was made, as its file says."""
