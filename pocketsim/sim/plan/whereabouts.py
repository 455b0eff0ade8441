"""Where phones are over a repetition, as it is drawn: for a map, and not for the engine.

Whoever draws places (`walks`, `days`) draws them again here, from the same streams, so that two
phones in contact by the plan are in range of each other, or at one place, on the map. What
deliberately does not live here: how a map looks, and how a table of it is stored
(`sim.trace.places`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base.streams import Streams
from pocketsim.sim.plan import day, placement, walks
from pocketsim.sim.plan.population import ROLES, populate
from pocketsim.sim.plan.stays import KINDS
from pocketsim.sim.plan.walks import Waypoints
from pocketsim.sim.scenario.resolved import streams_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.base.streams import Floats
    from pocketsim.sim.plan.churn import Transitions
    from pocketsim.sim.plan.day import AccessChanges
    from pocketsim.sim.plan.plan import Plan
    from pocketsim.sim.plan.population import Indices
    from pocketsim.sim.scenario import resolved as given
    from pocketsim.sim.scenario.resolved import Resolved


@dataclass(frozen=True)
class Places:
    """Places that have a name, as columns of one length.

    `kind` is "home", "work", "shop" or "stand".
    """

    kind: tuple[str, ...]
    x_m: Floats
    y_m: Floats


@dataclass(frozen=True)
class Whereabouts:
    """Where the phones of a repetition are in a rectangle, and when they are on and on what.

    `waypoints` end with the run; in them phones are numbered as in the plan. `networks` are the
    names that `access` numbers.
    """

    waypoints: Waypoints
    places: Places
    transitions: Transitions
    access: AccessChanges
    networks: tuple[str, ...]
    width_m: float
    height_m: float


def drawn(
    resolved: Resolved, whole: Plan, repetition: int, files: Mapping[str, str]
) -> Whereabouts:
    """Return the whereabouts of a repetition, counted from 0, whose plan is `whole`.

    Raises ValueError for a scenario without places, which none with `output.map` is.
    """
    law = resolved["contacts"]
    name = f"repetition/{streams_number(resolved['run'], repetition)}"
    area: given.Days | given.Walk
    if "mobility" in resolved:
        area = resolved["mobility"]
        way, places = _of_days(resolved, name, files)
    elif law is not None and law["kind"] == "walk":
        area = law
        way, places = _of_walks(resolved, law, name)
    else:
        raise ValueError("phones without places are on no map")
    return Whereabouts(
        waypoints=until(way, resolved["run"]["duration_s"]),
        places=places,
        transitions=day.on_changes(whole),
        access=day.access_changes(whole),
        networks=tuple(sorted(resolved["network"]["access"])),
        width_m=area["width_m"],
        height_m=area["height_m"],
    )


def _of_days(resolved: Resolved, name: str, files: Mapping[str, str]) -> tuple[Waypoints, Places]:
    lived = placement.placed(resolved, name, files).lived
    assert lived is not None, "persons have days"
    places = lived.stays.places
    kinds = tuple(KINDS[kind] for kind in places.kind)
    return lived.stays.waypoints(), Places(kinds, places.x_m, places.y_m)


def _of_walks(resolved: Resolved, law: given.Walk, name: str) -> tuple[Waypoints, Places]:
    people, run = populate(resolved, name), resolved["run"]
    phones, walking = walks.who(resolved["devices"], people)
    streams = Streams(run["seed"], name)
    way = walks.waypoints(law, streams, people.lane[phones], walking, run["duration_s"])
    stands = np.flatnonzero(~walking[way.phone])
    is_shop = people.role[phones[way.phone[stands]]] == ROLES.index("shop")
    kinds = tuple(np.where(is_shop, "shop", "stand").tolist())
    return _numbered(way, phones), Places(kinds, way.x_m[stands], way.y_m[stands])


def until(way: Waypoints, end_s: float) -> Waypoints:
    """Return ways that end at a moment: who is under way then is where it is."""
    first = np.append(True, way.phone[1:] != way.phone[:-1])[: way.phone.size]
    before = np.where(first, 0, np.arange(way.phone.size) - 1)
    kept = first | (way.time_s <= end_s) | (way.time_s[before] < end_s)
    late = np.flatnonzero(kept & ~first & (way.time_s > end_s))
    from_s = way.time_s[before[late]]
    share = (end_s - from_s) / (way.time_s[late] - from_s)
    time_s, x_m, y_m = way.time_s.copy(), way.x_m.copy(), way.y_m.copy()
    time_s[late] = end_s
    for whole_m, given_m in ((x_m, way.x_m), (y_m, way.y_m)):
        whole_m[late] = given_m[before[late]] * (1 - share) + given_m[late] * share
    return Waypoints(way.phone[kept], time_s[kept], x_m[kept], y_m[kept])


def _numbered(way: Waypoints, phones: Indices) -> Waypoints:
    return Waypoints(phones[way.phone], way.time_s, way.x_m, way.y_m)
