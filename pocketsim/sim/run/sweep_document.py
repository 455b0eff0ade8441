"""The sweep document, field by field: which scenarios, which values of what, how often.

Values that advance together, that multiply, or that a design draws between two bounds. What a key
path names is the scenario's business; that each point is a valid scenario, `sim.run.sweep` finds.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from pocketsim.sim.base import designs, units
from pocketsim.sim.base.documents import Count, OneOrMore, Section
from pocketsim.sim.base.streams import stream

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Values = Annotated[list[Any], Field(min_length=1)]
Seeds = OneOrMore[Annotated[int, Field(ge=0)]]
Names = OneOrMore[Annotated[str, Field(min_length=1)]]


@dataclass(frozen=True)
class Goal:
    """How narrow the interval of a metric's mean is to be: half of it, of the mean or as such."""

    metric: str
    half_width: float
    is_relative: bool

    def half_width_of(self, mean: float) -> float:
        """Return the half width that is asked for around a mean."""
        return self.half_width * abs(mean) if self.is_relative else self.half_width


def _goal(text: str) -> str:
    goal(text)
    return text


def goal(text: str) -> Goal:
    """Return what an `until` says; raises ValueError where it is none."""
    match = _GOAL.fullmatch(text)
    half = float(match[2]) if match else math.nan
    if match is None or not 0 < half < math.inf:
        raise ValueError(f'write it as "store_rate_per_s ci95 < 2%", or < 0.5, not {text!r}')
    return Goal(match[1], half / 100 if match[3] else half, bool(match[3]))


class SweepTable(Section):
    """What is swept."""

    scenario: Names = Field(
        description="Scenario that comes with the package, by its name, or a file relative to the"
        " sweep file; or several, each of which is swept."
    )
    title: str = Field(default="", description="What it shows; its name if left out.")
    question: str = Field(
        default="",
        description="What it is to answer: the heading of its report; made of its axes if left "
        "out.",
    )
    seed: Seeds | None = Field(
        default=None, description="Seed, or list of seeds, instead of the scenario's."
    )
    repetitions: Count | None = Field(
        default=None, description="Repetitions of each run, instead of the scenario's."
    )
    until: Annotated[str, AfterValidator(_goal)] | None = Field(
        default=None,
        description="Repeat each run until the 95 % interval of a metric's mean is as narrow: "
        '"store_rate_per_s ci95 < 2%" means that half of it is below 2 % of the mean, without % '
        "that it is below so much in the metric's unit. Looked at from 20 repetitions on.",
    )
    most_repetitions: Count | None = Field(
        default=None, description="Repetitions of a run that `until` never exceeds; required there."
    )

    @model_validator(mode="after")
    def _has_a_ceiling(self) -> SweepTable:
        if (self.until is None) != (self.most_repetitions is None):
            raise ValueError("until and most_repetitions go together")
        if (self.repetitions or 1) > (self.most_repetitions or math.inf):
            raise ValueError(f"repetitions {self.repetitions} are more than most_repetitions")
        return self


def _equally_long(lists: dict[str, list[Any]]) -> dict[str, list[Any]]:
    (first, *rest) = lists
    for other in rest:
        if len(lists[other]) != len(lists[first]):
            raise ValueError(
                f'"{first}" has {len(lists[first])} values and "{other}" {len(lists[other])}; '
                "lists that advance together are equally long"
            )
    return lists


Bound = int | float | str


class Range(Section):
    """Where a design draws a value: between two bounds, both included."""

    from_: Bound = Field(alias="from", description="Lowest value, as the scenario would have it.")
    to: Bound = Field(description="Highest value, of the same unit; whole numbers stay whole.")
    scale: Literal["linear", "log"] = Field(
        default="linear", description="log: each factor of ten is as likely as another."
    )

    @model_validator(mode="after")
    def _is_a_range(self) -> Range:
        dimension = _dimension(self.from_)
        if _dimension(self.to) is not dimension:
            raise ValueError(f"{self.from_!r} and {self.to!r} are not of one unit")
        low, high = (_number(bound, dimension) for bound in (self.from_, self.to))
        if not low < high:
            raise ValueError(f"from {self.from_!r} to {self.to!r} is no range")
        if self.scale == "log" and low <= 0:
            raise ValueError(f"a range on a log scale begins above zero, not at {self.from_!r}")
        return self

    def at(self, share: float) -> Any:
        """Return the value at a share, 0 to 1, of the range, as the scenario would have it."""
        dimension = _dimension(self.from_)
        low, high = (_number(bound, dimension) for bound in (self.from_, self.to))
        if self._is_whole():  # each number as likely as its neighbours
            return min(math.floor(self._between(low, high + 1, share)), int(high))
        value = min(max(float(f"{self._between(low, high, share):.{_DIGITS}g}"), low), high)
        return value if dimension is None else dimension.write(value)

    def taken(self, share: float) -> float:
        """Return which share of the range the value at `share` is: another, of whole numbers."""
        if not self._is_whole():
            return share
        low, high, value = int(self.from_), int(self.to), self.at(share)
        if self.scale == "log":
            return math.log(value / low) / math.log(high / low)
        return float((value - low) / (high - low))

    def _is_whole(self) -> bool:
        return isinstance(self.from_, int) and isinstance(self.to, int)

    def _between(self, low: float, high: float, share: float) -> float:
        return low * (high / low) ** share if self.scale == "log" else low + (high - low) * share


def _dimension(bound: Bound) -> units.Dimension | None:
    if not isinstance(bound, str):
        return None
    for dimension in units.DIMENSIONS:
        try:
            dimension.parse(bound)
        except ValueError:
            continue
        return dimension
    raise ValueError(f"{bound!r} is no quantity, such as 20ms or 16/s")


def _number(bound: Bound, dimension: units.Dimension | None) -> float:
    return float(bound) if dimension is None else dimension.parse(bound)


class _Design(Section):
    """Points drawn between bounds, all of them at each point of the axes."""

    seed: int = Field(ge=0, lt=2**63, description="Root of the design's own random streams.")
    ranges: Annotated[dict[str, Range], Field(min_length=1)] = Field(
        description='Bounds by key path of the scenario, such as "network.access.lte.latency".'
    )

    def unit_points(self) -> Floats:
        """Return the points, of shape (points, ranges), as shares of the ranges."""
        return self._drawn(len(self.ranges), stream(self.seed, "design/points"))

    def _drawn(self, factors: int, draws: np.random.Generator) -> Floats:
        raise NotImplementedError

    def taken_points(self) -> Floats:
        """Return the points that are taken: others where ranges are of whole numbers."""
        rows = [
            [span.taken(share) for span, share in zip(self.ranges.values(), row, strict=True)]
            for row in self.unit_points().tolist()
        ]
        return np.array(rows)

    def steps(self) -> list[dict[str, Any]]:
        """Return the values of each point by key path."""
        return [
            {
                key: span.at(share)
                for (key, span), share in zip(self.ranges.items(), row, strict=True)
            }
            for row in self.unit_points().tolist()
        ]


def _power_of_two(number: int) -> int:
    if number & (number - 1):
        raise ValueError(f"must be a power of 2, such as {1 << number.bit_length()}, not {number}")
    return number


Points = Annotated[int, Field(ge=1, le=1_000_000)]
PowerOfTwo = Annotated[Points, AfterValidator(_power_of_two)]


class LatinHypercube(_Design):
    """Each of as many equal slices of each range has one point."""

    kind: Literal["latin_hypercube"]
    points: Points = Field(description="Points of the design.")

    def _drawn(self, factors: int, draws: np.random.Generator) -> Floats:
        return designs.latin_hypercube(self.points, factors, draws)


class Sobol(_Design):
    """The beginning of a scrambled Sobol' sequence, which fills the ranges evenly."""

    kind: Literal["sobol"]
    points: PowerOfTwo = Field(description="Points of the design, a power of 2.")

    def _drawn(self, factors: int, draws: np.random.Generator) -> Floats:
        return designs.sobol(self.points, factors, draws)


class Saltelli(_Design):
    """What Sobol' indices are estimated from, by `pocketsim sensitivity`."""

    kind: Literal["saltelli"]
    samples: PowerOfTwo = Field(
        description="Samples, a power of 2; there are samples * (ranges + 2) points."
    )

    def _drawn(self, factors: int, draws: np.random.Generator) -> Floats:
        return designs.saltelli(self.samples, factors, draws)


class Morris(_Design):
    """Elementary effects, for `pocketsim sensitivity`: few points that tell which ranges matter."""

    kind: Literal["morris"]
    trajectories: Annotated[Points, Field(ge=2)] = Field(
        description="Trajectories; there are trajectories * (ranges + 1) points."
    )

    def _drawn(self, factors: int, draws: np.random.Generator) -> Floats:
        return designs.morris(self.trajectories, factors, draws)


Design = Annotated[LatinHypercube | Sobol | Saltelli | Morris, Field(discriminator="kind")]


class ReportTable(Section):
    """What the first chart of the sweep's report shows; what is left out is chosen by rule."""

    metric: str = Field(
        default="",
        description='Metric, such as "success_ratio"; if left out, the first of a list that tells '
        "runs apart.",
    )
    x: str = Field(
        default="",
        description='Key path of the horizontal axis, such as "workload.rate"; if left out, the '
        "quantity with the most steps, of several the first that the axes name.",
    )
    by: str = Field(
        default="",
        description="Key path of what has a colour for each value; if left out, the transport, "
        "else what has the fewest values.",
    )


class SweepDocument(Section):
    """A sweep file."""

    sweep: SweepTable = Field(description="What is swept.")
    axes: dict[str, Values] = Field(
        default={}, description='Values by key path of the scenario, such as "workload.rate".'
    )
    zipped: list[
        Annotated[dict[str, Values], Field(min_length=1), AfterValidator(_equally_long)]
    ] = Field(default=[], alias="zip", description="Tables like axes whose lists advance together.")
    design: Design | None = Field(
        default=None, description="Points drawn between bounds instead of listed."
    )
    report: ReportTable = Field(
        default=ReportTable(), description="What its report shows first; may be left out."
    )


_GOAL = re.compile(r"\s*(\S+)\s+ci95\s*<\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(%?)\s*")
_DIGITS = 6  # significant ones of what is drawn: more would only make names long
