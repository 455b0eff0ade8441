"""Phones that walk in a rectangle, and the contacts that this makes.

What is drawn is stationary from the start (Navidi and Camp, IEEE TMC 3, 2004; Le Boudec and
Vojnovic, INFOCOM 2005): a phone begins in a random moment of its walk, in a pause or on a leg, with
the law that place and speed have in the long run. Without that the mean speed of random waypoint
would fall for hours. Each phone has streams of its own, so that another moves none of its legs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base import walk_laws
from pocketsim.sim.base.streams import Floats, Lanes, Streams
from pocketsim.sim.base.walk_laws import LegTimes, PowerLaw
from pocketsim.sim.plan import contacts, plan
from pocketsim.sim.plan.population import ROLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.sim.plan.population import Indices, Population
    from pocketsim.sim.scenario import resolved as given

Lane = npt.NDArray[np.uint64]
Row = tuple[npt.NDArray[np.int64], Floats, Floats, Floats]
"""Numbers of phones, and times and places of a waypoint of each."""


@dataclass(frozen=True)
class Waypoints:
    """Where phones turn, as columns of one length, sorted by phone and then by time.

    A phone goes straight and evenly from one to the next, and stays at its last. `phone` counts
    those that may be near others.
    """

    phone: Indices
    time_s: Floats
    x_m: Floats
    y_m: Floats


def drawn(
    law: given.Walk,
    devices: Sequence[given.Group],
    streams: Streams,
    people: Population,
    duration_s: float,
) -> plan.Proximity:
    """Return the contacts of all phones but the tokens' authority, with their kinds of link."""
    phones, walking = who(devices, people)
    way = waypoints(law, streams, people.lane[phones], walking, duration_s)
    one, other, begin_s, end_s = met(way, law["range_m"], duration_s)
    columns = (phones[one], phones[other], begin_s, end_s)
    return contacts.linked(law["links"], streams, people, columns)


def waypoints(
    law: given.Walk,
    streams: Streams,
    lane: Lane,
    walking: npt.NDArray[np.bool_],
    duration_s: float,
) -> Waypoints:
    """Return the ways of phones with these lanes until `duration_s` at least.

    Those that do not walk have one waypoint: a uniform place of the rectangle.
    """
    place = streams.of("standing places")
    stand = np.flatnonzero(~walking)
    rows: list[Row] = [
        (
            stand,
            np.zeros(stand.size),
            law["width_m"] * place.uniform(lane[stand], 0),
            law["height_m"] * place.uniform(lane[stand], 1),
        )
    ]
    walkers = np.flatnonzero(walking)
    if law["model"] == "random_waypoint":
        walked = _random_waypoint(law, streams, lane[walkers], duration_s)
    else:
        walked = _levy_walk(law, streams, lane[walkers], duration_s)
    rows += [(walkers[who], time_s, x_m, y_m) for who, time_s, x_m, y_m in walked]
    phone, time_s, x_m, y_m = map(np.concatenate, zip(*rows, strict=True))
    order = np.lexsort((time_s, phone))
    return Waypoints(phone[order], time_s[order], x_m[order], y_m[order])


def met(
    way: Waypoints, range_m: float, duration_s: float
) -> tuple[Indices, Indices, Floats, Floats]:
    """Return the two phones, begin and end of each contact, sorted by begin and then by phones."""
    # Here: whoever draws anything else needs no engine for it.
    from pocketsim.sim import _engine

    columns = (plan.numbers(way.phone), *map(plan.floats, (way.time_s, way.x_m, way.y_m)))
    found = _engine.meetings(columns, range_m, duration_s)
    one, other = (np.frombuffer(column, "<u4").astype(np.int64) for column in found[:2])
    begin_s, end_s = (np.frombuffer(column, "<f8") for column in found[2:])
    return one, other, begin_s, end_s


def _random_waypoint(
    law: given.RandomWaypoint, streams: Streams, lane: Lane, duration_s: float
) -> list[Row]:
    slowest, fastest, longest_s = law["slowest_m_per_s"], law["fastest_m_per_s"], law["pause_s"]
    sides_m = np.array([[law["width_m"]], [law["height_m"]]])
    starts, legs = streams.of("walk starts"), streams.of("walk legs")
    leg_s = walk_laws.mean_leg_m(*sides_m[:, 0]) * walk_laws.mean_inverse_speed(slowest, fastest)
    rests = starts.uniform(lane, 0) * (longest_s / 2 + leg_s) < longest_s / 2
    from_m, to_m = _first_legs(streams, lane, sides_m)
    done = np.where(rests, 1.0, starts.uniform(lane, 1))
    # Who rests is at a waypoint, which is uniform, and not where legs of the moment end.
    to_m = np.where(rests, sides_m * _two(starts, lane, 2), to_m)
    place_m = np.where(rests, to_m, from_m + done * (to_m - from_m))
    # A speed has the share of time that its legs take: 1/v.
    speed = slowest * (fastest / slowest) ** starts.uniform(lane, 4)
    time_s = (1 - done) * np.hypot(*(to_m - from_m)) / speed
    # What is left of a uniform pause at a random moment has a density that falls to 0.
    pause_s = longest_s * (1 - np.sqrt(starts.uniform(lane, 5)))
    pause_s = np.where(rests, pause_s, longest_s * starts.uniform(lane, 6))
    who = np.arange(lane.size)
    found: list[Row] = [(who, np.zeros(lane.size), *place_m)]
    place_m, draw = to_m, 0
    while who.size:
        found += [(who, time_s, *place_m), (who, time_s + pause_s, *place_m)]
        time_s = time_s + pause_s
        alive = time_s < duration_s
        who, time_s, place_m = who[alive], time_s[alive], place_m[:, alive]
        to_m = sides_m * _two(legs, lane[who], draw)
        speed = slowest + (fastest - slowest) * legs.uniform(lane[who], draw + 2)
        pause_s = longest_s * legs.uniform(lane[who], draw + 3)
        time_s = time_s + np.hypot(*(to_m - place_m)) / speed
        place_m, draw = to_m, draw + 4
    return found


def _first_legs(streams: Streams, lane: Lane, sides_m: Floats) -> tuple[Floats, Floats]:
    """Return both ends of the legs of a random moment: two places, by their distance."""
    places, diagonal_m = streams.of("walk first legs"), math.hypot(*sides_m[:, 0])
    ends_m = np.zeros((2, 2, lane.size))
    waiting, draw = np.arange(lane.size), 0
    while waiting.size:
        here = lane[waiting]
        ends_m[:, :, waiting] = [sides_m * _two(places, here, draw + end) for end in (0, 2)]
        distance_m = np.hypot(*(ends_m[1][:, waiting] - ends_m[0][:, waiting]))
        refused = places.uniform(here, draw + 4) * diagonal_m >= distance_m
        waiting, draw = waiting[refused], draw + 5
    return ends_m[0], ends_m[1]


def _levy_walk(law: given.LevyWalk, streams: Streams, lane: Lane, duration_s: float) -> list[Row]:
    sides_m = np.array([[law["width_m"]], [law["height_m"]]])
    times, pauses = _levy_laws(law)
    starts, legs = streams.of("walk starts"), streams.of("walk legs")
    mean_s = pauses.mean()
    rests = starts.uniform(lane, 0) * (mean_s + times.mean_s()) < mean_s
    place_m = sides_m * _two(starts, lane, 2)
    left = np.where(rests, 0.0, starts.uniform(lane, 1))
    length_m = times.met_quantile_m(starts.uniform(lane, 4))
    takes_s, length_m = left * times.time_s(length_m), left * length_m
    share = starts.uniform(lane, 5)
    left_s = pauses.length_biased().quantile(share) * starts.uniform(lane, 6)
    pause_s = np.where(rests, left_s, pauses.quantile(share))
    angle = 2 * math.pi * starts.uniform(lane, 7)
    who, time_s, draw = np.arange(lane.size), np.zeros(lane.size), 0
    found: list[Row] = [(who, time_s, *place_m)]
    while who.size:
        way_m = length_m * np.array([np.cos(angle), np.sin(angle)])
        found += _reflected(who, time_s, place_m, way_m, takes_s, sides_m)
        place_m = _folded(place_m + way_m, sides_m)
        time_s = time_s + takes_s
        found += [(who, time_s, *place_m), (who, time_s + pause_s, *place_m)]
        time_s = time_s + pause_s
        alive = time_s < duration_s
        who, time_s, place_m = who[alive], time_s[alive], place_m[:, alive]
        length_m = times.lengths.quantile(legs.uniform(lane[who], draw))
        takes_s = times.time_s(length_m)
        pause_s = pauses.quantile(legs.uniform(lane[who], draw + 1))
        angle = 2 * math.pi * legs.uniform(lane[who], draw + 2)
        draw += 3
    return found


def _levy_laws(law: given.LevyWalk) -> tuple[LegTimes, PowerLaw]:
    fastest = law["fastest_m_per_s"]
    lengths = PowerLaw(law["alpha"], law["shortest_leg_m"], law["longest_leg_m"])
    times = LegTimes(
        lengths, law["time_factor"], law["rho"], math.inf if fastest is None else fastest
    )
    return times, PowerLaw(law["beta"], law["shortest_pause_s"], law["longest_pause_s"])


def _reflected(
    who: Indices, time_s: Floats, place_m: Floats, way_m: Floats, takes_s: Floats, sides_m: Floats
) -> list[Row]:
    """Return where legs meet the border; beyond it they go on in the rectangle's mirror image."""
    found: list[Row] = []
    for axis in (0, 1):
        side_m, end_m = sides_m[axis, 0], place_m[axis] + way_m[axis]
        # Borders are at whole sides: 1, 2, ... for those that grow, 0, -1, ... for those that fall.
        grows = way_m[axis] > 0
        times = np.where(grows, np.floor(end_m / side_m), 1 - np.ceil(end_m / side_m))
        times = np.where(way_m[axis] == 0, 0, np.maximum(times, 0)).astype(np.int64)
        leg = np.repeat(np.arange(who.size), times)
        turn = np.arange(leg.size) - np.repeat(np.cumsum(times) - times, times)
        border_m = side_m * np.where(grows[leg], turn + 1, -turn)
        share = np.clip((border_m - place_m[axis][leg]) / way_m[axis][leg], 0.0, 1.0)
        at_m = _folded(place_m[:, leg] + share * way_m[:, leg], sides_m)
        found.append((who[leg], time_s[leg] + share * takes_s[leg], *at_m))
    return found


def _folded(place_m: Floats, sides_m: Floats) -> Floats:
    """Return places beyond the rectangle where the border reflects them to."""
    folded: Floats = sides_m - np.abs(np.mod(place_m, 2 * sides_m) - sides_m)
    return folded


def _two(lanes: Lanes, lane: Lane, draw: int) -> Floats:
    """Return two numbers for each lane, as two rows."""
    return np.stack([lanes.uniform(lane, draw), lanes.uniform(lane, draw + 1)])


def who(
    devices: Sequence[given.Group], people: Population
) -> tuple[Indices, npt.NDArray[np.bool_]]:
    """Return the phones that have a place, and which of them walk."""
    walks = np.array([group.get("walks", group["role"] == "person") for group in devices])
    phones = np.flatnonzero(people.role != ROLES.index("authority"))
    return phones, walks[people.group[phones]]
