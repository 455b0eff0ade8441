"""The device profile: what each operation costs on one phone model, and how sure that is.

What a program does with them is an implementation's profile (`sim.devices.implementation`).

A profile is a TOML file, one per device and date; a cost without uncertainty and source does not
load. Threads and the socket buffer carry no uncertainty of their own. Here are the model
and the loader. What does not live here: the draws of one repetition (`sim.devices.draws`), fitting,
and the probe's report.
"""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from pocketsim.sim.base import entry_points, si
from pocketsim.sim.base.documents import (
    Count,
    Duration,
    Section,
    Size,
    read_toml,
    validate,
    written,
)
from pocketsim.sim.base.engine_facts import OF_AN_IMPLEMENTATION, OPTIONAL, device_operations
from pocketsim.sim.base.errors import ScenarioError, choices, nearest
from pocketsim.sim.base.files import at_home
from pocketsim.sim.devices.draws import TICK_MAX_S
from pocketsim.sim.devices.provenance import DurationNumber, PlainNumber, Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.sim.devices.contents import Contents

# Data beside the packages, not an import: this room knows no calibration.
PROFILES = Path(__file__).resolve().parents[2] / "calibration" / "profiles"
DEVICES, IMPLEMENTATIONS = PROFILES / "devices", PROFILES / "implementations"
CONTACTS, PRESENCE = PROFILES / "contacts", PROFILES / "presence"

SigmaError = Annotated[float, Field(gt=0, le=5)] | None


class Cost(Provenance):
    """What something takes: cpu + per_byte * bytes of core time, then wait without a core."""

    cpu: Duration = Field(description="Core time.")
    per_byte: Duration = Field(default=written("0s"), description="CPU time for each byte.")
    wait: Duration = Field(
        default=written("0s"), description="Time in which the lane waits, off the CPU."
    )
    threads: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="Cores that it can use at once; cpu is their sum."
    )
    spread_sigma: Annotated[float, Field(ge=0, le=5)] = Field(
        default=0.0, description="Sigma of a lognormal factor of mean 1 on the whole cost."
    )
    repetition_sigma: Annotated[float, Field(ge=0, le=5)] = Field(
        default=0.0, description="The same of a factor that a whole repetition shares."
    )
    spread_sigma_standard_error: SigmaError = Field(
        default=None, description="Standard error of spread_sigma; absent: it is not drawn."
    )
    repetition_sigma_standard_error: SigmaError = Field(
        default=None, description="The same of repetition_sigma."
    )
    standard_error: Duration = Field(description="Standard error of cpu + wait.")
    per_byte_standard_error: Duration | None = Field(
        default=None,
        description="That of per_byte; absent: per_byte is drawn in proportion to cpu + wait.",
    )
    correlation: Annotated[float, Field(ge=-1, le=1)] | None = Field(
        default=None, description="Of the errors of cpu + wait and of per_byte; absent: none."
    )
    degrees_of_freedom: Annotated[float, Field(ge=1, le=1e6)] | None = Field(
        default=None,
        description="Student's t has as many, for the errors are estimates themselves; absent: "
        "they are known.",
    )
    common_factor: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="Costs of a profile that name the same one err together; absent: each alone.",
    )
    common_ratio: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="Share of the error's variance that common_factor has."
    )

    @model_validator(mode="after")
    def _is_uncertain(self) -> Cost:
        if self.cpu + self.wait > 0 and self.standard_error == 0:
            raise ValueError("a cost without uncertainty: standard_error is 0")
        return self

    @model_validator(mode="after")
    def _errs_as_it_can(self) -> Cost:
        if self.correlation is not None and self.per_byte_standard_error is None:
            raise ValueError("correlation needs per_byte_standard_error")
        if (self.common_factor is None) != (self.common_ratio is None):
            raise ValueError("common_factor and common_ratio go together")
        return self


Cost.absent_when_none = Cost.optional()


class Device(Section):
    """Which phone, who measured it, and what the profile does not claim."""

    name: str = Field(min_length=1, description="Maker and model.")
    soc: str = Field(min_length=1, description="System on chip.")
    os: str = Field(min_length=1, description="Operating system.")
    measured_on: dt.date = Field(description="Date of the measurements or of their sources.")
    measured_by: str = Field(min_length=1, description="Who measured.")
    probe: str = Field(min_length=1, description="Version of the probe, or 'none'.")
    does_not_claim: list[str] = Field(min_length=1, description="What must not be read into it.")
    cores: PlainNumber = Field(description="Cores that share the work.")
    core_classes: dict[str, Count] = Field(
        default=written({}), description="Cores by class; absent: they are not told apart."
    )
    priced_on: str | None = Field(
        default=None,
        description="Class that operations were timed on or taken from; absent: where the system "
        "put one thread.",
    )
    socket_buffer: Size = Field(description="Default receive buffer, as the kernel counts.")

    @model_validator(mode="after")
    def _priced_on_a_class(self) -> Device:
        if self.priced_on is not None and self.priced_on not in self.core_classes:
            raise ValueError(f"priced_on = {self.priced_on!r} is none of core_classes")
        return self


class SleepOvershoot(Section):
    """Excess of the sender loop's sleeps: base + slope * ln(interval / 1 ms), not below 0."""

    base: DurationNumber = Field(description="Overshoot of a sleep of one millisecond.")
    slope: DurationNumber = Field(description="Added each time the interval grows e-fold.")
    spread_sigma: PlainNumber = Field(
        description="Sigma of a lognormal factor of mean 1 on each overshoot."
    )
    repetition_sigma: PlainNumber = Field(
        description="The same of a factor that a whole repetition shares."
    )


AFTER_RESTS = {
    "wake_after": "udp_wake",
    "quic_wake_after": "quic_wake",
    "pace_after": None,
    "send_after": "udp_send",
}
"""What a scheduler may tell by rest, and the operation that this is of; None for all."""


class AfterRest(Provenance):
    """How long something takes after a rest, beside what it is priced at."""

    rest: Duration = Field(
        description="For how long who wakes has done nothing, or what is done now was not done; "
        "0: it has waited."
    )
    ratio: Annotated[float, Field(gt=0, le=1000)] = Field(
        description="How many times as long as it is priced."
    )
    standard_error: Annotated[float, Field(ge=0, le=1000)] = Field(
        description="Standard error of ratio; those of one table are drawn together."
    )


Rests = Annotated[list[AfterRest], Field(min_length=1, max_length=64)]
BY_REST = (
    "By rest, ascending; between two along the logarithm of the rest, beyond them as at the "
    "nearest; absent: always as it is priced. "
)


def ascending(name: str, known: Sequence[AfterRest]) -> None:
    """Raise ValueError, which names what is told, where rests do not ascend."""
    rests_s = [each.rest for each in known]
    if rests_s != sorted(set(rests_s)):
        raise ValueError(f"{name}: rests must ascend")


class Policy(Provenance):
    """How a core is given to threads that want it at once."""

    value: Literal["fair_shares", "eevdf"] = Field(
        description="Each gets an equal part, as max-min fairness says; or they take turns, as "
        "Linux's EEVDF says, on a device of one core."
    )


class Scheduler(Section):
    """When threads run that want to."""

    sleep_overshoot: SleepOvershoot = Field(description="How much too long sleeps are.")
    wake_after: Rests | None = Field(default=None, description=f"{BY_REST}Of udp_wake.")
    quic_wake_after: Rests | None = Field(default=None, description=f"{BY_REST}Of quic_wake.")
    pace_after: Rests | None = Field(
        default=None,
        description=f"{BY_REST}Of core time, but for sockets, tasks, packets and streams.",
    )
    send_after: Rests | None = Field(
        default=None, description=f"{BY_REST}Of udp_send: of processes that wake whom they send to."
    )
    policy: Policy | None = Field(
        default=None, description="Which thread a core is given to; absent: fair shares."
    )
    tick: DurationNumber | None = Field(
        default=None,
        description="Core time that the kernel takes of a core every 4 ms, of eevdf; absent: none.",
    )

    absent_when_none = frozenset({*AFTER_RESTS, "policy", "tick"})

    @model_validator(mode="after")
    def _tick_leaves_something(self) -> Scheduler:
        if self.tick and self.tick.value > TICK_MAX_S:
            raise ValueError(f"tick.value is more than {1e6 * TICK_MAX_S:g} us")
        return self

    @model_validator(mode="after")
    def _rests_ascend(self) -> Scheduler:
        for name in AFTER_RESTS:
            ascending(name, getattr(self, name) or [])
        return self


class Scatter(Section):
    """How well a lognormal, as is drawn, fits the executions that an operation was timed by."""

    samples: Annotated[int, Field(ge=1)] = Field(description="What was looked at, of all reports.")
    executions: Annotated[int, Field(ge=1)] = Field(
        description="That a sample is the mean over, at most; 1 where reports do not tell."
    )
    p_value: Annotated[float, Field(gt=0, le=1)] = Field(
        description="Of Anderson and Darling's statistic, by bootstrap."
    )
    poor: bool = Field(description="Whether p_value is no chance: Holm over operations, 5 %.")
    aicc: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = Field(
        description="AICc of other families less that of the lognormal; below 0: better."
    )


class Profile(Section):
    """A device profile document."""

    device: Device = Field(description="The device.")
    operations: dict[str, Cost] = Field(description="Costs by operation.")
    scheduler: Scheduler = Field(description="The operating system's scheduler.")
    scatter: dict[str, Scatter] | None = Field(
        default=None, description="By operation, how well a lognormal fits; nothing is drawn of it."
    )

    absent_when_none = frozenset({"scatter"})


def load(path: Path) -> Profile:
    """Return the profile in the file at `path`.

    Raises ScenarioError with file and key path; every operation of a device has to be
    priced, but for those that may be left out.
    """
    _, data = read_toml(path)
    _refuse_other_documents(path, data)
    profile = validate(Profile, data, path)
    for name in profile.operations:
        if name in OF_AN_IMPLEMENTATION:
            reason = "is no operation of a device: what it takes is in an implementation's profile"
            raise ScenarioError(path, f"operations.{name}", reason)
        known = (*device_operations(), *OPTIONAL)
        if name not in known:
            reason = "unknown operation"
            guess = nearest(name, known)
            raise ScenarioError(path, f"operations.{name}", reason, guess)
    for name in profile.scatter or {}:
        if name not in profile.operations:
            guess = nearest(name, profile.operations)
            raise ScenarioError(path, f"scatter.{name}", "unknown operation", guess)
    for name in device_operations():
        if name not in profile.operations:
            raise ScenarioError(path, f"operations.{name}", "is required")
    _refuse_ratios_of_nothing(path, profile)
    if profile.device.cores.value < 1:
        raise ScenarioError(path, "device.cores.value", "must be at least 1")
    return profile


def _refuse_ratios_of_nothing(path: Path, profile: Profile) -> None:
    for key, operation in AFTER_RESTS.items():
        if getattr(profile.scheduler, key) and operation and operation not in profile.operations:
            named = f"operations.{operation}"
            reason = f"says how many times as long as {named}, which there is none of"
            raise ScenarioError(path, f"scheduler.{key}", reason)


def _refuse_other_documents(path: Path, data: Mapping[str, Any]) -> None:
    if "implementation" in data:
        raise ScenarioError(path, "", "is the profile of an implementation, not of a device")
    if "app" in data:
        reason = (
            "is of version 0.1, with device and app in one; "
            f"convert it with `pocketsim profile split {path}`"
        )
        raise ScenarioError(path, "app", reason)


def find(name: str, beside: Path, shipped_in: Path = DEVICES) -> Path:
    """Return the file of profile `name`: a shipped one, or a path relative to folder `beside`.

    A device's may be one that an installed distribution offers: its entry point's name is the
    profile's, its value a package with the file `<name>.toml`. `shipped_in` is `DEVICES`,
    `IMPLEMENTATIONS`, `CONTACTS` or `PRESENCE`. Raises LookupError with a reason and the nearest
    name.
    """
    if name.endswith(".toml"):
        path = beside / at_home(name)
        reason, suggestion = f"no such file {path}", None
    else:
        what = _WHAT.get(shipped_in, "device")
        path, reason = shipped_in / f"{name}.toml", f"no {what} {name!r}"
        known = shipped(shipped_in)
        if what == "device" and name not in known:
            offered = entry_points.names(entry_points.PROFILES)
            path = _offered(name) if name in offered else path
            known = [*known, *offered]
        listed_by = "pocketsim list " + ("presence" if shipped_in == PRESENCE else f"{what}s")
        reason += f"; {choices(name, known, listed_by)}, or your own file, NAME.toml"
        suggestion = nearest(name, known)
    try:
        is_there = path.is_file()
    except (OSError, ValueError) as error:
        # No file is called what a file cannot be called: too long a name, or one with a zero.
        if isinstance(error, OSError) and error.errno != errno.ENAMETOOLONG:
            raise
        is_there = False
    if not is_there:
        raise LookupError(reason, suggestion)
    return path


def _offered(name: str) -> Path:
    try:
        return entry_points.folder(entry_points.entry(entry_points.PROFILES, name)) / f"{name}.toml"
    except LookupError as error:
        raise LookupError(str(error), None) from None


def shipped(shipped_in: Path = DEVICES) -> list[str]:
    """Return the names of the profiles that come with the package, sorted."""
    return sorted(path.stem for path in shipped_in.glob("*.toml"))


def contents(profile: Profile) -> Contents:
    """Return the profile as plain JSON values in SI units, as resolved.json holds it.

    Without `scatter`: no run depends on it.
    """
    return cast("Contents", si.section(profile.model_copy(update={"scatter": None})))


def digest(path: Path) -> str:
    """Return the SHA-256 of the file at `path`, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


_WHAT = {IMPLEMENTATIONS: "implementation", CONTACTS: "law", PRESENCE: "presence law"}
"""What a folder's documents are called in messages, and listed as; all else are devices."""
