"""Who is near whom because phones walk: sections of the scenario document, and their limits.

The laws are in `sim.base.walk_laws`; what is drawn from them is `sim.plan.walks`'.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from pocketsim.sim.base import walk_laws
from pocketsim.sim.base.documents import (
    Duration,
    PositiveDuration,
    PositiveLength,
    PositiveSpeed,
    Speed,
    written,
)
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.units import DURATION, LENGTH, Dimension
from pocketsim.sim.base.walk_laws import LegTimes, PowerLaw
from pocketsim.sim.scenario.fields import Ratio
from pocketsim.sim.scenario.town import ContactsOverLinks, Town
from pocketsim.sim.scenario.workloads import Poisson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pocketsim.sim.scenario.document import Devices, Scenario

Exponent = Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]
TimeFactor = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]


def _is_a_speed(number: float) -> float:
    if number == 0:
        raise ValueError(
            'must be more than zero, such as "0.5m/s": in the long run all would stand'
        )
    return number


class _Walk(ContactsOverLinks):
    """Phones that walk in a rectangle, near each other while they are at most `range` apart."""

    kind: Literal["walk"] = Field(description="Phones walk.")
    width: PositiveLength = Field(description="One side of the rectangle that phones walk in.")
    height: PositiveLength = Field(description="The other side.")
    range: PositiveLength = Field(
        description="Two phones are near each other while they are at most this far apart."
    )


class RandomWaypoint(_Walk):
    """Phones that walk to one uniform place after the other, each leg at a speed of its own."""

    model: Literal["random_waypoint"] = Field(description="How phones walk.")
    slowest: Annotated[Speed, AfterValidator(_is_a_speed)] = Field(
        description="The speed of a leg is uniform between this and `fastest`. From 0 on it would "
        "be 0 in the long run: the slower a leg, the longer it takes."
    )
    fastest: PositiveSpeed = Field(description="Greatest speed of a leg.")
    pause: Duration = Field(
        default=written("0s"),
        description="Longest pause after a leg; pauses are uniform from 0 s on.",
    )

    @model_validator(mode="after")
    def _speeds_are_in_order(self) -> RandomWaypoint:
        if self.fastest < self.slowest:
            raise ValueError("fastest is less than slowest")
        return self

    def leg_s(self) -> float:
        """Return the mean time of a leg."""
        inverse = walk_laws.mean_inverse_speed(self.slowest, self.fastest)
        return walk_laws.mean_leg_m(self.width, self.height) * inverse

    def pause_s(self) -> float:
        """Return the mean pause."""
        return self.pause / 2

    def leg_m(self) -> float:
        """Return the mean length of a leg."""
        return walk_laws.mean_leg_m(self.width, self.height)


class LevyWalk(_Walk):
    """Phones whose legs and pauses have power laws; a leg goes anywhere, and the border reflects.

    A leg of l metres takes time_factor l^(1 - rho) seconds (Rhee et al. 2011).
    """

    model: Literal["levy_walk"] = Field(description="How phones walk.")
    alpha: Exponent = Field(description="The density of lengths of legs is length^-(1 + alpha).")
    shortest_leg: PositiveLength = Field(description="Shorter legs do not occur.")
    longest_leg: PositiveLength = Field(description="Longer legs do not occur.")
    beta: Exponent = Field(description="The density of pauses is time^-(1 + beta).")
    shortest_pause: PositiveDuration = Field(description="Shorter pauses do not occur.")
    longest_pause: PositiveDuration = Field(description="Longer pauses do not occur.")
    time_factor: TimeFactor = Field(
        default=18.72,
        description="Seconds that a leg of 1 m takes: Rhee et al. for legs below 500 m, quoted "
        "from memory; beyond it is 1.37 with a rho of 0.36.",
    )
    rho: Ratio = Field(
        default=0.79,
        description="0: all legs are equally fast; 1: all take equally long. Source as before.",
    )
    fastest: PositiveSpeed | None = Field(
        default=None, description="No leg is faster; absent: legs are as fast as their times say."
    )

    @model_validator(mode="after")
    def _there_are_some(self) -> LevyWalk:
        if self.longest_leg <= self.shortest_leg:
            raise ValueError("longest_leg is not more than shortest_leg")
        if self.longest_pause <= self.shortest_pause:
            raise ValueError("longest_pause is not more than shortest_pause")
        return self

    def leg_s(self) -> float:
        """Return the mean time of a leg."""
        fastest = math.inf if self.fastest is None else self.fastest
        return LegTimes(self._legs(), self.time_factor, self.rho, fastest).mean_s()

    def pause_s(self) -> float:
        """Return the mean pause."""
        return PowerLaw(self.beta, self.shortest_pause, self.longest_pause).mean()

    def leg_m(self) -> float:
        """Return the mean length of a leg."""
        return self._legs().mean()

    def _legs(self) -> PowerLaw:
        return PowerLaw(self.alpha, self.shortest_leg, self.longest_leg)


AnyWalk = Annotated[RandomWaypoint | LevyWalk, Field(discriminator="model")]


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for a range in which everybody always is, and for walks of nobody."""
    walk = scenario.contacts
    if not isinstance(walk, RandomWaypoint | LevyWalk):
        for number, group in enumerate(scenario.devices):
            if group.walks is not None:
                reason = 'phones walk, or do not, with contacts of kind "walk"'
                raise ScenarioError(path, f"devices[{number}].walks", reason)
        return
    diagonal_m = math.hypot(walk.width, walk.height)
    if walk.range >= diagonal_m:
        reason = (
            f"{walk.range:g} m reach across the rectangle, whose diagonal is {diagonal_m:.4g} m: "
            "all phones would always be near all others"
        )
        suggestion = _written(min(walk.width, walk.height) / 2, LENGTH)
        raise ScenarioError(path, "contacts.range", reason, suggestion)
    for number, group in enumerate(scenario.devices):
        if group.walks and group.role == "authority":
            reason = "the tokens' authority is a server and walks nowhere"
            raise ScenarioError(path, f"devices[{number}].walks", reason)


def check_near(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError where partners are to be near and nobody is before there is a trade."""
    workload, contacts = scenario.workload, scenario.contacts
    if isinstance(workload, Poisson) and workload.partners and workload.partners.near:
        place = "workload.partners.near"
    elif isinstance(workload, Town) and workload.near:
        place = "workload.near"
    else:
        return
    if contacts is None or contacts.kind == "payments":
        made = "there are no [contacts]" if contacts is None else "payments make the contacts"
        reason = f"{made}, and only those of a file or of phones that walk are there before"
        raise ScenarioError(path, place, reason, '[contacts] kind = "walk"')


@dataclass(frozen=True)
class Expected:
    """How much of what is expected of a repetition's walks, by which key.

    `written` is what to write there where a share of that is wanted.
    """

    place: str
    what: str
    count: float
    written: Callable[[float], str | None]


def expected(scenario: Scenario) -> Iterator[Expected]:
    """Yield what the walks of a repetition are expected to come to."""
    walk = scenario.contacts
    if not isinstance(walk, RandomWaypoint | LevyWalk):
        return
    walkers, standing = 0, 0
    for group in scenario.devices:
        if _walks(group):
            walkers += group.count
        elif group.role != "authority":
            standing += group.count
    duration_s = scenario.run.duration
    cycle_s = walk.leg_s() + walk.pause_s()
    legs = walkers * (1 + duration_s / cycle_s)
    if isinstance(walk, LevyWalk):  # a leg that is longer than a side is reflected, and turns
        legs *= 1 + walk.leg_m() * (1 / walk.width + 1 / walk.height)
    yield Expected(
        "run.duration", "legs", legs, lambda share: _written(duration_s * share, DURATION)
    )
    speed_m_per_s, area_m2 = walk.leg_m() / cycle_s, walk.width * walk.height
    met_per_s = walk_laws.meetings_per_s(walk.range, speed_m_per_s, area_m2)
    walking, between = walkers * (walkers - 1) / 2, walkers * standing
    near = math.pi * walk.range**2 / area_m2 * walk_laws.WAYPOINT_DENSITY
    pairs = walking + between + standing * (standing - 1) / 2
    # Who stands is met less often than who walks, too; that is no matter for a limit.
    count = min(near, 1) * pairs + met_per_s * duration_s * (walking + between)
    yield Expected(
        "contacts.range", "contacts", count, lambda share: _written(walk.range * share, LENGTH)
    )


def _written(number: float, dimension: Dimension) -> str | None:
    """Return a quantity of two digits; None of what is none."""
    rounded = float(f"{number:.2g}")
    return dimension.write(rounded) if 0 < rounded <= dimension.maximum else None


def _walks(group: Devices) -> bool:
    return group.role == "person" if group.walks is None else group.walks
