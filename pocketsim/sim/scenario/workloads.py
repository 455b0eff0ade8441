"""Workloads of trades: sections of the scenario document.

Those of families with workloads of their own are in `sim.scenario.town` and `.compute`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pocketsim.sim.base.documents import Duration, Rates, Section, Sizes, written


class Paced(Section):
    """The theses' benchmark: phone 0 proposes to phone 1 in one sender loop."""

    kind: Literal["paced"] = Field(description="Kind of workload.")
    rate: Rates = Field(description="Nominal proposals per second; a list is a ladder.")
    payload: Sizes = Field(description="Payload of each transaction; a list is a ladder.")
    pacing: Literal["floored_ms", "batch_1024ms", "by_clock", "unpaced"] | None = Field(
        default=None,
        description="Sleep between proposals: floor(1000/rate) ms; 1024/rate ms; until the next "
        "multiple of 1/rate since the start; or none, whatever the rate says. Absent: as the "
        "implementation does.",
    )
    start: Duration = Field(default=written("0s"), description="When the loop starts.")


class Poisson(Section):
    """Every phone proposes to uniformly random others at the points of a Poisson process."""

    kind: Literal["poisson"] = Field(description="Kind of workload.")
    rate: Rates = Field(
        description="Proposals of one phone per second, at most 50 million of all in a repetition; "
        "a list is a ladder."
    )
    payload: Sizes = Field(description="Payload of each transaction; a list is a ladder.")
    start: Duration = Field(default=written("0s"), description="Nothing is proposed before.")


class WorkloadTrace(Section):
    """Trades that somebody recorded or made: each row of a file is one proposal."""

    kind: Literal["trace"] = Field(description="Kind of workload.")
    file: str = Field(
        min_length=1,
        description="Path of a .csv or .parquet file relative to the scenario, with the columns "
        "time_s, from, to (phones, counted from 0) and payload_bytes, in order of time; at most 50 "
        "million rows.",
    )

    @property
    def start(self) -> float:
        """When the workload begins, in seconds, by the name that others have for it."""
        return 0.0

    @property
    def rate(self) -> list[float]:
        """The ladder of rates: none is asked for."""
        return [0.0]

    @property
    def payload(self) -> list[int]:
        """The ladder of payloads: each row has its own."""
        return [0]
