"""The device profile: what each operation costs on one phone model, and how sure that is.

A profile is a TOML file, one per device and date; a cost without uncertainty and source does not
load. Threads, sigmas, cost per byte and the socket buffer carry no uncertainty of their own. Here
are the model and the loader. What does not live here: the draws of one repetition
(`sim.devices.draws`), fitting, and the probe's report.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from pydantic import Field, model_validator

from sim.base import si
from sim.base.documents import Duration, Section, Size, read_toml, validate, written
from sim.base.engine_facts import operations
from sim.base.errors import ScenarioError, nearest
from sim.devices.provenance import DurationNumber, PlainNumber, Provenance, RateNumber, Window

if TYPE_CHECKING:
    from sim.devices.contents import Contents

# Data beside the packages, not an import: this room knows no calibration.
PROFILES = Path(__file__).resolve().parents[2] / "calibration" / "profiles"


class Operation(Provenance):
    """What one operation costs: cpu + per_byte * bytes of core time, then wait without a core."""

    cpu: Duration = Field(description="Core time.")
    per_byte: Duration = Field(default=written("0s"), description="CPU time for each byte.")
    wait: Duration = Field(
        default=written("0s"), description="Time in which the lane waits, off the CPU."
    )
    threads: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="Cores that the operation can use at once; cpu is their sum."
    )
    spread_sigma: Annotated[float, Field(ge=0, le=5)] = Field(
        default=0.0, description="Sigma of a lognormal factor of mean 1 on the whole cost."
    )
    repetition_sigma: Annotated[float, Field(ge=0, le=5)] = Field(
        default=0.0, description="The same of a factor that a whole repetition shares."
    )
    standard_error: Duration = Field(description="Standard error of cpu + wait.")

    @model_validator(mode="after")
    def _is_uncertain(self) -> Operation:
        if self.cpu + self.wait > 0 and self.standard_error == 0:
            raise ValueError("a cost without uncertainty: standard_error is 0")
        return self


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
    socket_buffer: Size = Field(description="Default receive buffer, as the kernel counts.")


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


class KeptConnection(Section):
    """How the app loses the one connection that it keeps."""

    duplicate_dial_probability: PlainNumber = Field(
        description="Chance that a second dial races with the first and replaces it."
    )
    duplicate_dial_window: Window = Field(description="When, after the first dial, that happens.")
    break_rate: RateNumber = Field(description="How often an open connection breaks for good.")

    @model_validator(mode="after")
    def _probability_is_one(self) -> KeptConnection:
        chance = self.duplicate_dial_probability
        if chance.value > 1:
            raise ValueError("duplicate_dial_probability.value is more than 1")
        # Else no distribution has both (`sim.base.streams.probability`, which this must not load).
        certain = chance.value in {0, 1}
        limit = 1.0 if certain else math.sqrt(chance.value * (1 - chance.value))
        if chance.standard_error >= limit:
            raise ValueError(
                f"duplicate_dial_probability.standard_error is {chance.standard_error:g}: that of "
                f"a probability of {chance.value:g} is below {limit:.3g}"
            )
        return self


class App(Section):
    """Behaviour of the benchmark app on this phone."""

    sleep_overshoot: SleepOvershoot = Field(description="Sender loop.")
    kept_connection: KeptConnection = Field(description="QUIC with a kept connection.")


class Profile(Section):
    """A device profile document."""

    device: Device = Field(description="The device.")
    operations: dict[str, Operation] = Field(description="Costs by operation.")
    app: App = Field(description="The benchmark app.")


def load(path: Path) -> Profile:
    """Return the profile in the file at `path`.

    Raises ScenarioError with file and key path; every operation of the engine has to be priced.
    """
    _, data = read_toml(path)
    profile = validate(Profile, data, path)
    for name in profile.operations:
        if name not in operations():
            reason = "unknown operation"
            raise ScenarioError(path, f"operations.{name}", reason, nearest(name, operations()))
    for name in operations():
        if name not in profile.operations:
            raise ScenarioError(path, f"operations.{name}", "is required")
    if profile.device.cores.value < 1:
        raise ScenarioError(path, "device.cores.value", "must be at least 1")
    return profile


def find(name: str, beside: Path) -> Path:
    """Return the file of profile `name`: a shipped one, or a path relative to folder `beside`.

    Raises LookupError with a reason and the nearest shipped name.
    """
    if name.endswith(".toml"):
        path, reason, suggestion = beside / name, f"no such file {beside / name}", None
    else:
        path, reason = PROFILES / f"{name}.toml", f"no profile {name!r}"
        suggestion = nearest(name, shipped())
    if not path.is_file():
        raise LookupError(reason, suggestion)
    return path


def shipped() -> list[str]:
    """Return the names of the profiles that come with the package, sorted."""
    return sorted(path.stem for path in PROFILES.glob("*.toml"))


def contents(profile: Profile) -> Contents:
    """Return the profile as plain JSON values in SI units, as resolved.json holds it."""
    return cast("Contents", si.section(profile))


def digest(path: Path) -> str:
    """Return the SHA-256 of the file at `path`, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
