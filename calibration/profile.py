"""The device profile: what each operation costs on one phone model, and how sure that is.

A profile is a TOML file, one per device and date; a number without uncertainty and source does
not load. Here are the model, the loader and the draw of one set of numbers for a repetition. What
does not live here: fitting, and the probe's report. Checking a profile draws nothing, so what
draws imports its streams (and numpy) itself.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from sim.documents import Duration, Section, Size, read_toml, validate, written
from sim.engine_facts import operations
from sim.errors import ScenarioError, nearest
from sim.provenance import DurationNumber, PlainNumber, Provenance, RateNumber, Window

if TYPE_CHECKING:
    from collections.abc import Mapping

PROFILES = Path(__file__).parent / "profiles"


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
    from sim.streams import truncated_normal

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


def vary(plain: Mapping[str, Any], seed: int, name: str) -> dict[str, Any]:
    """Return `contents` with the factors that one repetition shares, from streams "name/<key>".

    A factor is lognormal with mean 1 and the number's own `repetition_sigma`.
    """
    from sim.streams import lognormal_factor

    def factor(key: str, sigma: float) -> float:
        return lognormal_factor(seed, f"{name}/{key}", sigma)

    costs = {
        key: {**of, **_times(of, factor(key, of["repetition_sigma"]))}
        for key, of in plain["operations"].items()
    }
    law = plain["app"]["sleep_overshoot"]
    common = factor("sleep_overshoot", law["repetition_sigma"]["value"])
    paced = {key: {**law[key], "value": law[key]["value"] * common} for key in ("base", "slope")}
    return {
        **plain,
        "operations": costs,
        "app": {**plain["app"], "sleep_overshoot": {**law, **paced}},
    }


def scaled(plain: Mapping[str, Any], factors: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return `contents` with the costs of some operations multiplied, and each factor kept."""
    costs = {
        key: {**of, **_times(of, factors[key]["value"]), "cost_factor": factors[key]}
        if key in factors
        else of
        for key, of in plain["operations"].items()
    }
    return {**plain, "operations": costs}


def _times(cost: Mapping[str, Any], factor: float) -> dict[str, float]:
    return {key: cost[key] * factor for key in ("cpu", "per_byte", "wait")}


def _scaled(cost: Mapping[str, Any], total: float) -> dict[str, float]:
    """Share a drawn total among cpu and wait as they stood; per-byte cost goes along."""
    mean = cost["cpu"] + cost["wait"]
    if mean == 0:
        return {"cpu": total}
    return _times(cost, total / mean)


def _shifted(window: Mapping[str, Any], start: float) -> dict[str, float]:
    return {"from": start, "to": start + window["to"] - window["from"]}
