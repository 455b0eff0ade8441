"""What Android allows an app in the background: a kind of churn in the scenario document.

How people use and carry their phones is said here, how they charge them in
`sim.scenario.charging`. When an app may use the network then is `sim.plan.android`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from pocketsim.sim.base.documents import Duration, PositiveDuration, Section, written
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.charging import Charging, PerDay, Spread
from pocketsim.sim.scenario.fields import Day
from pocketsim.sim.scenario.lengths import Lengths

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


class Screen(Section):
    """When screens are on, whatever their owners do with their phones."""

    per_day: PerDay = Field(default=57.0, description="How often a day (1960 phones, 2014).")
    spread: Spread = Field(
        default=0.34,
        description="Standard deviation of the logarithm of that between phones, by which the top "
        "tenth has 1.74 times the mean (94 phones, 2016: 132 of 76).",
    )
    length: Lengths = Field(
        default=written({"distribution": "lognormal", "median": "40s", "sigma": 1.5}),
        description="How long it is on. The mean of 123 s is measured (1960 phones, 2014), the "
        "shape is assumed.",
    )
    hours: Day = Field(
        default=[0.3, 0.15, 0.1, 0.1, 0.1, 0.2, 0.6, *[1.2] * 15, 1.0, 0.6],
        description="How likely it goes on, by hour of the day: weights; assumed.",
    )


class Motion(Section):
    """When phones move: what the sensor that Doze watches tells."""

    per_day: PerDay = Field(default=30.0, description="How often a day; assumed.")
    spread: Spread = Field(
        default=0.0,
        description="Standard deviation of the logarithm of that between phones; 0: none.",
    )
    length: Lengths = Field(
        default=written({"distribution": "lognormal", "median": "3min", "sigma": 1.0}),
        description="How long a phone moves; assumed.",
    )
    hours: Day = Field(
        default=[0.1, 0.05, 0.05, 0.05, 0.05, 0.2, 0.8, *[1.2] * 15, 0.8, 0.4],
        description="How likely it begins to move, by hour of the day: weights; assumed.",
    )


class AndroidChurn(Section):
    """Phones that are on when Android 12 or later lets an app use the network in the background."""

    kind: Literal["android"] = Field(description="Doze and app standby say it.")
    time_of_day: Duration = Field(
        default=written("0s"), description="How long after midnight the run begins."
    )
    exempt: bool = Field(
        default=False,
        description="Whether the app has a foreground service or an exemption: then its phones are "
        "always on.",
    )
    bucket: Literal["by_use", "active", "working_set", "frequent", "rare", "restricted"] = Field(
        default="working_set",
        description="App standby bucket: jobs run for 10 min in any 10 min, 2 h, 8 h, 24 h or 24 h "
        'while the phone is not charging. "by_use": by the time since the last use, of which '
        "[foreground] tells.",
    )
    used_before: PositiveDuration = Field(
        default=written("12h"),
        description='With "by_use": how long before the run the app was last used, in the mean of '
        "an exponential law; assumed.",
    )
    maintenance: Duration = Field(
        default=written("1min"),
        description="How long jobs and alarms of all apps keep a maintenance window of Doze open, "
        "if they may: 5 s to 1 min in light Doze, 30 s to 10 min in deep; assumed.",
    )
    pre_idle: Annotated[Duration, Field(le=180.0)] = Field(
        default=written("3min"),
        description="How long they keep a phone from light Doze after its first minute; 3 min at "
        "most.",
    )
    small_battery: bool = Field(
        default=False, description="Whether it is a device as a watch, which dozes deeply sooner."
    )
    push: Annotated[Duration, Field(le=300.0)] = Field(
        default=written("0s"),
        description="How long a push of high priority lets the app use the network for what it is "
        "sent; 5 min at most, 0 for no pushes.",
    )
    screen: Screen = Field(default=written({}), description="When screens are on.")
    charging: Charging = Field(default=written({}), description="When phones charge.")
    motion: Motion = Field(default=written({}), description="When phones move.")

    def episodes(self) -> dict[str, Screen | Charging | Motion]:
        """Return what comes now and then, by key."""
        return {"screen": self.screen, "charging": self.charging, "motion": self.motion}


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for what leaves no time between episodes, or asks who uses the app."""
    for place, law in laws(scenario).items():
        if law.bucket == "by_use" and scenario.foreground is None:
            reason = '"by_use" takes [foreground], which says who uses the app'
            raise ScenarioError(path, f"{place}.bucket", reason, "working_set")
        for key, episodes in law.episodes().items():
            busy = episodes.per_day * min(
                episodes.length.mean_s, episodes.length.longest or episodes.length.mean_s
            )
            if busy > _MOST * _DAY_S:
                reason = f"{episodes.per_day:g} a day take {busy / _DAY_S:.2g} days together"
                raise ScenarioError(path, f"{place}.{key}.per_day", reason)


def laws(scenario: Scenario) -> dict[str, AndroidChurn]:
    """Return all of a scenario, by key path."""
    named: dict[str, object] = {"churn": scenario.churn}
    named |= {f"devices[{number}].churn": one.churn for number, one in enumerate(scenario.devices)}
    return {place: law for place, law in named.items() if isinstance(law, AndroidChurn)}


_MOST = 0.9
"""Share of a day that episodes may take: beyond, hardly any time is between them."""
_DAY_S = 86_400.0
