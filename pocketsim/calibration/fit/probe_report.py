"""A report of the device probe, version 1: typed reading, checked to the last key.

The origin of the format is the probe (`device_probe/core`, module `report`), whose JSON Schema is
`device_probe/report.schema.json`; a test holds both against each other. Everything is in SI units.
What does not live here: what a report means for a profile (`calibration.fit.calibration`).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from pocketsim.sim.base.documents import Section, read_json, validate
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.units import DURATION

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 1

Finite = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=DURATION.maximum, allow_inf_nan=False)]
Parameter = Annotated[float, Field(ge=0, le=2**53, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Natural = Annotated[int, Field(ge=1, le=2**53)]
CoreClass = Literal["big", "middle", "little", "all"]


def _is_moment(text: str) -> str:
    if dt.datetime.fromisoformat(text).tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return text


class Made(Section):
    """Which probe made the report, when and how."""

    probe_version: str
    target: str
    libc: Literal["gnu", "musl", "bionic"]
    build: Literal["release", "debug"]
    crates: dict[str, str]
    started_at: Annotated[str, AfterValidator(_is_moment)]
    duration_s: Seconds
    depth: Literal["quick", "full"]
    rounds: Natural
    case_budget_s: Seconds
    stopped: bool
    near: bool = False
    """Of earlier probes: whether they repeated steps of two cores that shared no cache."""
    awake: bool = False
    """Of earlier probes: whether they kept idle cores from sleeping."""
    note: str | None = None


class Core(Section):
    """One core of the device."""

    number: Count
    core_class: CoreClass
    frequency_min_hz: Finite | None = None
    frequency_max_hz: Finite | None = None
    governor: str | None = None


class Device(Section):
    """What was measured; empty text where the device does not say."""

    manufacturer: str
    model: str
    soc: str
    abi: str
    os: str
    os_build: str
    kernel: str
    memory_bytes: Count
    scratch_filesystem: str | None = None
    cores: list[Core]


class Battery(Section):
    """The battery at one moment; drivers disagree on the sign of the current."""

    level_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    temperature_c: Finite | None = None
    status: str | None = None
    current_a: Finite | None = None


class Zone(Section):
    """One thermometer."""

    zone: str
    temperature_c: Finite


class State(Section):
    """The device at one moment."""

    battery: Battery | None = None
    thermal: list[Zone]
    thermal_status: Annotated[int, Field(ge=0, le=6)] | None = None
    frequencies_hz: list[Finite | None]
    load_1min: NotNegative | None = None
    core_to_core_s: Seconds | None = None


class Conditions(Section):
    """The device before and after."""

    before: State
    after: State


class ClockFigures(Section):
    """What the clock can do."""

    name: str
    resolution_s: Seconds
    read_s: Seconds
    cpu_read_s: Seconds


class ThrottleCheck(Section):
    """One repetition of the kernel that detects throttling."""

    at_s: Seconds
    median_s: Finite
    ratio: Finite
    thermal_status: Annotated[int, Field(ge=0, le=6)] | None = None


class Throttle(Section):
    """How the speed of one fixed kernel went."""

    kernel: str
    baseline_s: Finite
    paused_s: Seconds
    core_class: CoreClass | None = None
    checks: list[ThrottleCheck]


class Spoiled(Section):
    """Something that makes the report less than clean."""

    condition: Literal[
        "emulator",
        "virtual_machine",
        "debuggable",
        "debug_build",
        "throttled",
        "low_battery",
        "power_save",
        "coarse_clock",
        "noisy",
        "unsettled",
        "cores_apart",
        "stopped",
    ]
    detail: str


class WarmUp(Section):
    """How the case came to speed."""

    samples: Count
    settled: bool


class Samples(Section):
    """Samples of one quantity: all of them in order of time, or 201 quantiles of them."""

    count: Natural
    mean: Finite
    standard_deviation: NotNegative
    minimum: Finite
    median: Finite
    maximum: Finite
    values: Annotated[list[Finite], Field(max_length=1000)] | None = None
    quantiles: Annotated[list[Finite], Field(min_length=201, max_length=201)] | None = None

    @model_validator(mode="after")
    def _agree(self) -> Samples:
        if (self.values is None) == (self.quantiles is None):
            raise ValueError("needs either values or quantiles")
        if self.values is not None and len(self.values) != self.count:
            raise ValueError(f"{len(self.values)} values, but count is {self.count}")
        if not self.minimum <= self.median <= self.maximum:
            raise ValueError("minimum, median and maximum are not in order")
        if self.quantiles is not None and not _is_rising(self.quantiles):
            raise ValueError("quantiles are not in rising order")
        least, most = self.bounds()
        if not all(least <= each <= most for each in (self.mean, *self.told)):
            raise ValueError("a value, or their mean, is not between minimum and maximum")
        if self.standard_deviation > most - least:
            raise ValueError("standard_deviation is more than from minimum to maximum")
        return self

    @property
    def told(self) -> list[float]:
        """The samples, or their quantiles."""
        return self.values if self.values is not None else self.quantiles or []

    def bounds(self) -> tuple[float, float]:
        """Return between what all figures of the samples are; the probe rounds each by itself."""
        return (
            self.minimum - _ROUNDED * abs(self.minimum),
            self.maximum + _ROUNDED * abs(self.maximum),
        )


class Quantity(Section):
    """A measured quantity; its name has its unit last."""

    name: str
    samples: Samples

    @model_validator(mode="after")
    def _is_possible(self) -> Quantity:
        if self.samples.minimum < 0 and not self.name.endswith(_OF_CURRENTS):
            raise ValueError(f"{self.name} is negative: {self.samples.minimum:g}")
        if self.is_duration and self.samples.maximum > DURATION.maximum:
            raise ValueError(f"{self.name} is longer than {DURATION.maximum_text}")
        if self.samples.maximum > _MOST:
            raise ValueError(f"{self.name} is more than {_MOST:g}: {self.samples.maximum:g}")
        return self

    @property
    def is_duration(self) -> bool:
        """Whether it is a time."""
        return self.name.endswith("_s") and not self.name.endswith("_per_s")


class Round(Section):
    """One pass over the catalogue, as one case saw it."""

    at_s: Seconds
    samples: Natural
    median: Finite
    iterations_per_sample: Natural | None = None
    core: Count | None = None
    frequency_hz: Finite | None = None


class Measurement(Section):
    """One case of a kernel."""

    kernel: str
    group: Literal[
        "crypto", "serialisation", "storage", "scheduling", "udp", "quic", "link", "battery"
    ]
    parameters: dict[str, Parameter]
    threads: Natural
    core_class: CoreClass | None = None
    status: Literal["measured", "not_measured"]
    reason: str | None = None
    warm_up: WarmUp | None = None
    iterations_per_sample: Natural | None = None
    noisy: bool = False
    rounds: list[Round]
    quantities: list[Quantity]

    @model_validator(mode="after")
    def _says_why(self) -> Measurement:
        if self.status == "measured" and not self.quantities:
            raise ValueError("measured, but without quantities")
        if self.status == "not_measured" and not self.reason:
            raise ValueError("not measured, but without a reason")
        return self

    @model_validator(mode="after")
    def _takes_time(self) -> Measurement:
        for each in self.quantities:
            may_be_nothing = self.kernel in _DIFFERENCES or each.name in _DIFFERENCES
            if each.is_duration and not may_be_nothing and each.samples.median < _SHORTEST_S:
                reason = f"{each.samples.median:g} s in the median, which no clock can tell"
                raise ValueError(f"{self.kernel}: {each.name} is {reason}")
        return self

    @model_validator(mode="after")
    def _has_rounds_of_its_first_quantity(self) -> Measurement:
        if self.quantities:
            least, most = self.quantities[0].samples.bounds()
            if not all(least <= each.median <= most for each in self.rounds):
                name = self.quantities[0].name
                raise ValueError(f"a round's median is not among the values of {name}")
        return self

    def quantity(self, name: str) -> Samples | None:
        """Return the samples of quantity `name`, if there are any."""
        return next(
            (quantity.samples for quantity in self.quantities if quantity.name == name), None
        )


class Document(Section):
    """A report as the probe writes it."""

    schema_version: Literal[1]
    made: Made
    device: Device
    conditions: Conditions
    clock: ClockFigures
    throttle: Throttle
    spoiled: list[Spoiled]
    measurements: list[Measurement]


@dataclass(frozen=True, eq=False)
class Report:
    """A report, the file it came from and the SHA-256 of that, in hex."""

    path: Path
    digest: str
    # The digest tells one from another.
    document: Document = field(repr=False, hash=False)

    @property
    def started_at(self) -> dt.datetime:
        """When the run began, with its time zone."""
        return dt.datetime.fromisoformat(self.document.made.started_at)


def load(path: Path) -> Report:
    """Return the report in the file at `path`.

    Raises ScenarioError with file and key path.
    """
    text, data = read_json(path)
    version = data.get("schema_version", VERSION)
    # First: keys that another version has would be called unknown.
    if version != VERSION:
        reason = f"version {version!r} is not known; this pocketsim reads version {VERSION}"
        raise ScenarioError(path, "schema_version", reason)
    document = validate(Document, data, path)
    return Report(path, hashlib.sha256(text.encode()).hexdigest(), document)


def _is_rising(numbers: list[float]) -> bool:
    return all(one <= other for one, other in itertools.pairwise(numbers))


_ROUNDED = 1e-5
"""Relative: the probe writes seven digits."""
_OF_CURRENTS = "_a"
_MOST = 1e15
"""Bytes, datagrams or rates: more is no measurement."""
_SHORTEST_S = 1e-12
_DIFFERENCES = {
    *("trade_bookkeeping", "kernel_tick", "timed_sleep", "timer_interrupt", "sleep_overshoot"),
    "sealed_cpu_s",
}
"""Kernels, and a quantity, that time what is left of two times, which may be nothing."""
