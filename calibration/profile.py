"""The device profile: what each operation costs on one phone model, and how sure that is.

A profile is a TOML file, one per device and date; a number without uncertainty and source does
not load. Here are the model, the loader and the draw of one set of numbers for a repetition. What
does not live here: fitting, and the probe's report.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from sim.documents import Duration, Rate, Section, Size, read_toml, validate, written
from sim.engine_facts import operations
from sim.errors import ScenarioError, nearest
from sim.streams import truncated_normal

if TYPE_CHECKING:
    from collections.abc import Mapping

PROFILES = Path(__file__).parent / "profiles"
Plain = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Provenance(Section):
    """How a number is known."""

    samples: int = Field(default=0, ge=0, description="Measurements behind the number.")
    basis: Literal["measured", "published", "proxy", "fitted", "assumed"] = Field(
        description="proxy: published for a similar part; fitted: to the rows of fitted_to."
    )
    source: str = Field(min_length=1, description="Paper, file and line, or the reasoning.")
    fitted_to: list[str] = Field(default=[], description="Published rows it was fitted to.")

    @model_validator(mode="after")
    def _says_what_it_rests_on(self) -> Provenance:
        if self.basis == "fitted" and not self.fitted_to:
            raise ValueError("basis = 'fitted' needs fitted_to, the rows it was fitted to")
        if self.basis == "measured" and not self.samples:
            raise ValueError("basis = 'measured' needs samples, the number of measurements")
        return self


class DurationNumber(Provenance):
    """A length of time with its uncertainty."""

    value: Duration = Field(description="Best estimate.")
    standard_error: Duration = Field(description="Standard error of the estimate.")


class PlainNumber(Provenance):
    """A number without a dimension, with its uncertainty."""

    value: Plain = Field(description="Best estimate.")
    standard_error: Plain = Field(description="Standard error of the estimate.")


class RateNumber(Provenance):
    """A frequency with its uncertainty."""

    value: Rate = Field(description="Best estimate.")
    standard_error: Rate = Field(description="Standard error of the estimate.")


class Window(Provenance):
    """A uniform window of time; its uncertainty shifts both ends together."""

    start: Duration = Field(alias="from", description="Earliest.")
    end: Duration = Field(alias="to", description="Latest.")
    standard_error: Duration = Field(description="Standard error of both ends.")

    @model_validator(mode="after")
    def _in_order(self) -> Window:
        if self.end < self.start:
            raise ValueError("'to' is before 'from'")
        return self


class Operation(Provenance):
    """What one operation costs: cpu + per_byte * bytes on one core, then wait without a core."""

    cpu: Duration = Field(description="CPU time on one core.")
    per_byte: Duration = Field(default=written("0s"), description="CPU time for each byte.")
    wait: Duration = Field(
        default=written("0s"), description="Time in which the lane waits, off the CPU."
    )
    spread_sigma: Annotated[float, Field(ge=0, le=5)] = Field(
        default=0.0, description="Sigma of a lognormal factor of mean 1 on the whole cost."
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
    """Excess of the sender loop's sleeps: base + coefficient * interval_s^exponent."""

    base: DurationNumber = Field(description="Overshoot of the shortest sleep.")
    coefficient: DurationNumber = Field(description="Added for an interval of one second.")
    exponent: PlainNumber = Field(description="How the addition grows with the interval.")
    spread_sigma: PlainNumber = Field(
        description="Sigma of a lognormal factor of mean 1 on each overshoot."
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
        if self.duplicate_dial_probability.value > 1:
            raise ValueError("duplicate_dial_probability.value is more than 1")
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


def contents(profile: Profile) -> dict[str, Any]:
    """Return the profile as plain JSON values in SI units, as resolved.json holds it."""
    return profile.model_dump(mode="json", by_alias=True)


def digest(path: Path) -> str:
    """Return the SHA-256 of the file at `path`, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def draw(plain: Mapping[str, Any], seed: int, name: str) -> dict[str, Any]:
    """Return `contents` with every number drawn from its uncertainty.

    Each number is Normal(value, standard_error) given that it is not negative, from its own
    stream "name/<key>", so that a new number leaves the others' draws alone.
    """

    def drawn(key: str, mean: float, standard_error: float) -> float:
        return truncated_normal(seed, f"{name}/{key}", mean, standard_error)

    def number(key: str, of: Mapping[str, Any]) -> dict[str, Any]:
        if "from" in of:
            return {**of, **_shifted(of, drawn(key, of["from"], of["standard_error"]))}
        return {**of, "value": drawn(key, of["value"], of["standard_error"])}

    costs = {
        key: {**of, **_scaled(of, drawn(key, of["cpu"] + of["wait"], of["standard_error"]))}
        for key, of in plain["operations"].items()
    }
    app = {
        part: {key: number(f"{part}.{key}", of) for key, of in numbers.items()}
        for part, numbers in plain["app"].items()
    }
    chance = app["kept_connection"]["duplicate_dial_probability"]
    chance["value"] = min(1.0, chance["value"])
    return {**plain, "operations": costs, "app": app}


def _scaled(cost: Mapping[str, Any], total: float) -> dict[str, float]:
    """Share a drawn total among cpu and wait as they stood; per-byte cost goes along."""
    mean = cost["cpu"] + cost["wait"]
    if mean == 0:
        return {"cpu": total}
    factor = total / mean
    return {key: cost[key] * factor for key in ("cpu", "per_byte", "wait")}


def _shifted(window: Mapping[str, Any], start: float) -> dict[str, float]:
    return {"from": start, "to": start + window["to"] - window["from"]}
