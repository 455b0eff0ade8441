"""Workloads of trades: sections of the scenario document.

Those of families with workloads of their own are in `sim.scenario.town` and `.compute`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import (
    Count,
    Duration,
    OneOrMore,
    Origin,
    PositiveRate,
    Section,
    Size,
    written,
)
from pocketsim.sim.scenario.custom_code import CustomSection, Name, Option
from pocketsim.sim.scenario.fields import Hours, Ratio


class Paced(Section):
    """The theses' benchmark: phone 0 proposes to phone 1 in one sender loop."""

    kind: Literal["paced"] = Field(description="Kind of workload.")
    rate: OneOrMore[PositiveRate] = Field(
        description="Nominal proposals per second; a list makes several runs."
    )
    payload: OneOrMore[Size] = Field(
        description="Payload of each transaction; a list makes several runs."
    )
    pacing: Literal["floored_ms", "batch_1024ms", "by_clock", "unpaced"] | None = Field(
        default=None,
        description="Sleep between proposals: floor(1000/rate) ms; 1024/rate ms; until the next "
        "multiple of 1/rate since the start; or none, whatever the rate says: as often as their "
        "costs let it, at most 50 million times in a repetition. Absent: as the implementation "
        "does.",
    )
    start: Duration = Field(default=written("0s"), description="When the loop starts.")


Generator = Literal["watts_strogatz", "barabasi_albert", "random_regular"]


class Partners(Section):
    """Whom each phone proposes to: neighbours in a graph, whom a class chooses, or who is near."""

    absent_when_none = frozenset({"near"})

    graph: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="Path of a .graphml, .gexf, .json (node-link) or .edgelist file relative to "
        "the scenario, with a node for each phone.",
    )
    generator: Generator | None = Field(
        default=None,
        description="Instead of a file: small world, scale-free or equally many neighbours each, "
        "drawn by networkx for each repetition.",
    )
    neighbours: Count | None = Field(
        default=None,
        description="Of a drawn graph: mean number of neighbours; a phone that joins a "
        "barabasi_albert is joined to half as many. It is even but for random_regular.",
    )
    rewiring: Ratio | None = Field(
        default=None,
        description="Of a watts_strogatz: probability that an edge of the ring leads elsewhere.",
    )

    class_: Name | None = Field(
        default=None,
        alias="class",
        description="A class that chooses for each proposal, of all others or of the neighbours in "
        'a graph: a file relative to the scenario and the class in it, as "mine.py:Mine", or the '
        "name of an installed one.",
    )
    options: dict[str, Option] = Field(default={}, description="What the class is given, by name.")
    near: bool | None = Field(
        default=None,
        description="true: one of the phones in contact at that moment, each equally likely; a "
        "phone that is near nobody then proposes nothing.",
    )

    @model_validator(mode="after")
    def _is_one_graph(self) -> Partners:
        if self.near and (self.graph or self.generator or self.class_):
            raise ValueError("near stands alone, without a graph, a generator or a class")
        if self.near:
            return self
        both = self.graph is not None and self.generator is not None
        if both or not (self.graph or self.generator or self.class_):
            raise ValueError("takes either graph, a file, or generator, or a class, or near = true")
        if self.options and self.class_ is None:
            raise ValueError("options belong to class")
        if (self.generator is None) != (self.neighbours is None):
            raise ValueError("neighbours belongs to generator, which takes it")
        if (self.generator == "watts_strogatz") != (self.rewiring is not None):
            raise ValueError('rewiring belongs to generator "watts_strogatz", which takes it')
        if self.generator not in (None, "random_regular") and (self.neighbours or 0) % 2:
            raise ValueError(f"neighbours of a {self.generator} must be even")
        return self


class Poisson(Section):
    """Every phone proposes to random others at the points of a Poisson process."""

    kind: Literal["poisson"] = Field(description="Kind of workload.")
    rate: OneOrMore[PositiveRate] = Field(
        description="Proposals of one phone per second, at most 50 million of all in a repetition; "
        "a list makes several runs."
    )
    payload: OneOrMore[Size] = Field(
        description="Payload of each transaction; a list makes several runs."
    )
    start: Duration = Field(default=written("0s"), description="Nothing is proposed before.")
    hours: Hours | None = Field(
        default=None,
        description="Rate in each hour of the day over its mean; 24 numbers of mean 1; absent: "
        "always that mean.",
    )
    time_of_day: Duration | None = Field(
        default=None, description="Time of day at which the run begins; absent: midnight."
    )
    partners: Partners | None = Field(
        default=None,
        description="Whom a phone proposes to, each equally likely unless a class chooses; absent: "
        "all others.",
    )

    absent_when_none = frozenset({"hours", "time_of_day"})

    @model_validator(mode="after")
    def _the_time_of_day_matters(self) -> Poisson:
        if self.time_of_day is not None and self.hours is None:
            raise ValueError("time_of_day is of hours, which are not there")
        return self


CheatRatio = Annotated[Ratio, Field(description="Share of persons who cheat at all.")]
DoubleSpendRatio = Annotated[
    Ratio, Field(description="Share of a cheat's payments in which it keeps what it spends.")
]
ReplayRatio = Annotated[
    Ratio,
    Field(description="Share of a cheat's payments in which it sends again what was taken before."),
]


def check_cheats(double_spend_ratio: float, replay_ratio: float) -> None:
    """Raise ValueError where a cheat would do two things at once."""
    if double_spend_ratio + replay_ratio > 1:
        raise ValueError("double_spend_ratio and replay_ratio add up to more than 1")


class _Given(Section):
    """A workload whose proposals say themselves when they are and how large: it has no lists."""

    @property
    def start(self) -> float:
        """When the workload begins, in seconds, by the name that others have for it."""
        return 0.0

    @property
    def rate(self) -> list[float]:
        """The rates: none is asked for."""
        return [0.0]

    @property
    def payload(self) -> list[int]:
        """The payloads: each proposal has its own."""
        return [0]


class WorkloadTrace(_Given):
    """What somebody recorded or made: each row of a file is one proposal, or one payment."""

    absent_when_none = frozenset({"origin"})

    kind: Literal["trace"] = Field(description="Kind of workload.")
    file: str = Field(
        min_length=1,
        description="Path of a .csv or .parquet file relative to the scenario, with the columns "
        "time_s, from, to (phones, counted from 0) and payload_bytes, of payments amount_cents, in "
        "order of time; at most 50 million rows.",
    )
    origin: Origin | None = Field(
        default=None,
        description="Time in the file at which the run begins: seconds on its clock, also Unix "
        'seconds, or a date and time in a time zone; "first" is the earliest in the file. What is '
        "before, or after the run's end, is left out. Absent: 0, and every row is in the run.",
    )
    cheat_ratio: CheatRatio = 0.0
    double_spend_ratio: DoubleSpendRatio = 0.0
    replay_ratio: ReplayRatio = 0.0

    @model_validator(mode="after")
    def _cheats_do_one_thing(self) -> WorkloadTrace:
        check_cheats(self.double_spend_ratio, self.replay_ratio)
        return self


class CustomWorkload(_Given, CustomSection):
    """Proposals that a custom class makes, before each repetition."""

    kind: Literal["python"] = Field(description="Kind of workload.")
