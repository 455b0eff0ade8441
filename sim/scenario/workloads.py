"""Workloads of trades: sections of the scenario document.

Those of families with workloads of their own are in `sim.scenario.town` and `.compute`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from sim.base.documents import Duration, Rates, Section, Sizes, written


class Paced(Section):
    """The theses' benchmark: phone 0 proposes to phone 1 in one sender loop."""

    kind: Literal["paced"] = Field(description="Kind of workload.")
    rate: Rates = Field(description="Nominal proposals per second; a list is a ladder.")
    payload: Sizes = Field(description="Payload of each transaction; a list is a ladder.")
    pacing: Literal["floored_ms", "batch_1024ms", "unpaced"] = Field(
        default="floored_ms",
        description="Sleep between proposals: floor(1000/rate) ms, 1024/rate ms, or none, whatever "
        "the rate says.",
    )
    start: Duration = Field(default=written("0s"), description="When the loop starts.")

    @model_validator(mode="after")
    def _interval_is_not_zero(self) -> Paced:
        if self.pacing == "floored_ms" and max(self.rate) > _MS_PER_S:
            raise ValueError("a rate above 1000/s floors to a sleep of 0 ms; use batch_1024ms")
        return self


class Poisson(Section):
    """Every phone proposes to uniformly random others at the points of a Poisson process."""

    kind: Literal["poisson"] = Field(description="Kind of workload.")
    rate: Rates = Field(
        description="Proposals of one phone per second, at most 50 million of all in a repetition; "
        "a list is a ladder."
    )
    payload: Sizes = Field(description="Payload of each transaction; a list is a ladder.")
    start: Duration = Field(default=written("0s"), description="Nothing is proposed before.")


_MS_PER_S = 1000
