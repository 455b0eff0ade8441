"""Batteries of a plan: levels at the start, what drains them beside the app, and chargers.

When phones are plugged in is `sim.plan.charging`'s, from a day before the run on, so that some
are when it starts. Levels do not matter to it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base.streams import Streams
from pocketsim.sim.plan import charging, plan
from pocketsim.sim.plan.population import ROLES
from pocketsim.sim.plan.presence import DAY_S

if TYPE_CHECKING:
    import numpy.typing as npt

    from pocketsim.sim.base.streams import Floats
    from pocketsim.sim.plan.population import Population
    from pocketsim.sim.scenario import resolved as given
    from pocketsim.sim.scenario.resolved import Resolved


def columns(resolved: Resolved, name: str, people: Population) -> plan.Battery | None:
    """Return the batteries of all phones; None where none can ever be empty.

    Levels are drawn from streams under "name/battery", chargers from those of churn, which
    knows them, too.
    """
    seed = resolved["run"]["seed"]
    streams, of_churn = Streams(seed, f"{name}/battery"), Streams(seed, f"{name}/churn")
    laws = [group.get("battery", resolved.get("battery")) for group in resolved["devices"]]
    phones = people.lane.size
    # On the mains nothing is ever empty.
    capacity_j, level_j, revives_j = (np.full(phones, np.inf) for _ in range(3))
    rows = []
    for number, law in enumerate(laws):
        whose = (people.group == number) & (people.role != ROLES.index("authority"))
        if law is None or law["kind"] == "none" or not whose.any():
            continue
        mine = np.flatnonzero(whose)
        lane = people.lane[mine]
        capacity_j[mine] = law["capacity_j"]
        revives_j[mine] = law["revives_at"] * law["capacity_j"]
        low, high = law["level"]
        share = low + (high - low) * streams.of("level").uniform(lane, 0)
        level_j[mine] = share * law["capacity_j"]
        phone, *values = flows(law, of_churn, lane, resolved["run"]["duration_s"])
        rows.append((mine[phone], *values))
    if not rows:
        return None
    phone, time_s, other_w, charge_w = (
        np.concatenate(column) for column in zip(*rows, strict=True)
    )
    order = np.argsort(phone, kind="stable")
    return {
        "capacity_j": plan.floats(capacity_j),
        "level_j": plan.floats(level_j),
        "revives_j": plan.floats(revives_j),
        "phone": plan.numbers(phone[order]),
        "time_s": plan.floats(time_s[order]),
        "other_w": plan.floats(other_w[order]),
        "charge_w": plan.floats(charge_w[order]),
    }


def flows(
    law: given.Battery, streams: Streams, lane: npt.NDArray[np.uint64], duration_s: float
) -> tuple[npt.NDArray[np.int64], Floats, Floats, Floats]:
    """Return changes by phone and time: phone, when, what it draws from then on, what it is given.

    Phones are counted from 0, in the order of their lanes; each has a row at 0.
    """
    hours_s, drawn_w = _drawn(law, duration_s)
    every = np.arange(lane.size)
    phone, time_s = np.repeat(every, hours_s.size), np.tile(hours_s, every.size)
    step = np.zeros(phone.size, dtype=np.int64)
    power_w = 0.0
    if law["charging"] is not None:
        start_s, stop_s = _span(law, duration_s)
        plugged = charging.drawn(law["charging"], streams, lane, start_s - DAY_S, stop_s)
        plugged = plugged.among(plugged.end_s > start_s)
        power_w = law["charging"]["power_w"]
        phone = np.concatenate((phone, plugged.phone, plugged.phone))
        begin_s = np.maximum(plugged.begin_s - start_s, 0.0)
        time_s = np.concatenate((time_s, begin_s, plugged.end_s - start_s))
        ones = np.ones(plugged.phone.size, dtype=np.int64)
        step = np.concatenate((step, ones, -ones))
    order = np.lexsort((time_s, phone))
    phone, time_s = phone[order], time_s[order]
    # Whoever is plugged in is unplugged later: each phone begins with none of those before it.
    charge_w = np.where(np.cumsum(step[order]) > 0, power_w, 0.0)
    other_w = drawn_w[np.searchsorted(hours_s, time_s, side="right") - 1]
    return phone, time_s, other_w, charge_w


def _drawn(law: given.Battery, duration_s: float) -> tuple[Floats, Floats]:
    """Return from when on a phone draws how much, its screen included; the first is 0."""
    weights = np.array(law["screen_hours"])
    screen_w = law["screen_j"] / _HOUR_S * weights / max(float(weights.sum()), _LEAST)
    if np.ptp(screen_w) == 0:
        return np.zeros(1), law["draws_w"] + screen_w[:1]
    start_s, end_s = _span(law, duration_s)
    hour = np.arange(math.floor(start_s / _HOUR_S), math.ceil(end_s / _HOUR_S))
    return np.maximum(hour * _HOUR_S - start_s, 0.0), law["draws_w"] + screen_w[hour % weights.size]


def _span(law: given.Battery, duration_s: float) -> tuple[float, float]:
    """Return beginning and end of the run, in seconds since the midnight before it."""
    return law["time_of_day_s"], law["time_of_day_s"] + duration_s


_HOUR_S = 3600.0
_LEAST = 1e-300  # of weights that are all 0, where the screen takes nothing
