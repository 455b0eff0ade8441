"""Batteries: a section of the scenario document, of all phones or of a group.

What the simulated app takes is `[energy]`'s; here is what else drains a battery, and its charger.
Defaults are assumed unless they name a source. What is drawn of it is `sim.plan.battery`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from pocketsim.sim.base.documents import Duration, Energy, Power, Section, written
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.charging import Charging
from pocketsim.sim.scenario.fields import kind_if_absent

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario

Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
Hours = Annotated[list[Weight], Field(min_length=24, max_length=24)]


class BatteryCharging(Charging):
    """When people plug their phones in, whatever the level, for how long, and the charger."""

    power: Power = Field(default=written("10W"), description="Of the charger; assumed.")


class Battery(Section):
    """A battery of each phone but the tokens' authority; an empty one takes its phone off."""

    kind: Literal["battery"] = Field(
        default="battery", description="What it lives on; may be left out."
    )
    capacity: Annotated[Energy, Field(gt=0)] = Field(
        description="What a full one holds: 4000 mAh at 3.85 V are 55kJ."
    )
    level: Annotated[list[Share], Field(min_length=2, max_length=2)] = Field(
        default=[0.34, 1.0],
        description="Lowest and highest level at the start, of which each phone's is drawn evenly; "
        "absent: of mean 0.67 (Ferreira, Dey and Kostakos 2011), of assumed ends.",
    )
    draws: Power = Field(
        description="What the phone draws day and night beside its screen and the simulated app."
    )
    screen: Energy = Field(
        default=written("0J"),
        description="What its screen takes in a day: of 117 minutes at 0.4 to 0.8 W, 3 to 6 kJ.",
    )
    screen_hours: Hours = Field(
        default=[1.0] * 24,
        description="How much of that in each hour of the day, in any unit; absent: evenly.",
    )
    time_of_day: Duration = Field(
        default=written("0s"), description="How long after midnight the run begins."
    )
    revives_at: Share = Field(
        default=0.05,
        description="Level to which a dead phone is charged until it comes back; assumed.",
    )
    charging: BatteryCharging | None = Field(
        default=None,
        description='As in [churn] of kind "android", and at the same times for equal sections; '
        "absent: never.",
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> Battery:
        if self.level[0] > self.level[1]:
            raise ValueError(f"level goes down, from {self.level[0]:g} to {self.level[1]:g}")
        if self.screen and not sum(self.screen_hours):
            raise ValueError("screen_hours are all 0: the screen is never on")
        return self


class Mains(Section):
    """Phones that are always plugged in, whatever [battery] says."""

    kind: Literal["none"] = Field(description="They have no battery that could be empty.")


GroupBattery = Annotated[
    Annotated[Battery | Mains, Field(discriminator="kind")],
    BeforeValidator(kind_if_absent("battery")),
]


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for the battery of a group that can have none."""
    for number, group in enumerate(scenario.devices):
        if group.battery is not None and group.role == "authority":
            reason = "the authority is a server on the mains"
            raise ScenarioError(path, f"devices[{number}].battery", reason)
