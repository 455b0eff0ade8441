"""Phones on the move between access networks: a section of a group of phones.

What files may hold is in `sim.scenario.move_files`, what becomes of it in `sim.plan.moves` and
sim/engine/src/network/movers.rs.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import Duration, PositiveDuration, Section, written
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.scenario.fields import Sigma

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


class Stop(Section):
    """A change of the access network at a time of a schedule."""

    at: PositiveDuration = Field(description="When phones leave for it, from the run's begin on.")
    to: str = Field(min_length=1, description="Name of an access network.")


class Moves(Section):
    """When phones of a group change their access network; they begin where `access` says."""

    schedule: list[Stop] | None = Field(
        default=None, min_length=1, description="Where they go, in order of time."
    )
    every: PositiveDuration | None = Field(
        default=None, description="The schedule begins again after so long; absent: it does not."
    )
    spread: Duration = Field(
        default=written("0s"),
        description="Each phone is later than the schedule by a time of its own, uniform from 0 to"
        " this.",
    )
    file: str | None = Field(
        default=None,
        min_length=1,
        description="In place of a schedule, CSV or Parquet file relative to the scenario, with"
        " columns phone, time_s and access: a row for each time at which a phone leaves for an"
        " access network. Phones of the group are numbered from 0, and times from the run's begin"
        " on.",
    )
    interruption: Duration = Field(
        default=written("0s"), description="Median of how long a phone has no network each time."
    )
    interruption_sigma: Sigma = Field(
        default=0.0, description="Sigma of that, if it is lognormal; 0: always as long."
    )

    absent_when_none = frozenset({"schedule", "every", "file"})

    @model_validator(mode="after")
    def _it_says_when(self) -> Moves:
        if (self.schedule is None) == (self.file is None):
            raise ValueError("has a schedule or a file, one of them")
        if self.schedule is None:
            for key in ("every", "spread"):
                if key in self.model_fields_set:
                    raise ValueError(f"{key} is of a schedule, and file says all times")
            return self
        times_s = [stop.at for stop in self.schedule]
        if any(later <= earlier for earlier, later in itertools.pairwise(times_s)):
            raise ValueError("schedule is not in order of time")
        if self.every is not None and times_s[-1] - times_s[0] >= self.every:
            raise ValueError(f"schedule takes as long as every, {self.every:g} s, or longer")
        return self


def destinations(scenario: Scenario) -> Iterator[tuple[int, str, str]]:
    """Yield of each stop of a schedule its group, its key path and its access network."""
    for number, group in enumerate(scenario.devices):
        schedule = group.moves.schedule if group.moves else None
        for place, stop in enumerate(schedule or ()):
            yield number, f"devices[{number}].moves.schedule[{place}].to", stop.to


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for phones that cannot move, or that go nowhere."""
    for number, group in enumerate(scenario.devices):
        if group.moves is None:
            continue
        place = f"devices[{number}].moves"
        if scenario.run.fidelity == "flow":
            reason = 'run.fidelity = "flow" has phones that stay on their access network'
            raise ScenarioError(path, place, reason, 'run.fidelity = "hybrid"')
        if group.role == "authority":
            raise ScenarioError(path, place, "the tokens' authority is a server and stays")
        for name, access in scenario.network.access.items():
            if access.forwarding_cpu:
                reason = f"network.access.{name}.forwarding_cpu is of phones that stay"
                raise ScenarioError(path, place, reason)
    for _, place, name in destinations(scenario):
        if name not in scenario.network.access:
            guess = nearest(name, scenario.network.access)
            raise ScenarioError(path, place, f"no [network.access.{name}]", guess)
