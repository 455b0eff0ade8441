"""The day of a plan in bins of time: who is on, who is reachable by what, what is asked for.

A phone is reachable by its access network while it is on and the network is in no outage.
Interruptions of links, and whom NATs let in, are not in it. Shares are of the time of a bin, over
all phones but the tokens' authority.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.plan.churn import Transitions
from pocketsim.sim.plan.population import ROLES
from pocketsim.sim.scenario.resolved import comes_and_goes

if TYPE_CHECKING:
    from pocketsim.sim.base.engine_output import Day
    from pocketsim.sim.base.streams import Floats
    from pocketsim.sim.plan.plan import Plan
    from pocketsim.sim.plan.population import Indices
    from pocketsim.sim.scenario.resolved import Resolved

SHORT_S, SHORT_BIN_S, BIN_S = 3 * 3600.0, 300.0, 1800.0
"""Runs shorter than the first have bins of the second length, others of the third."""


@dataclass(frozen=True)
class AccessChanges:
    """Which access network phones are on, by number, as columns of one length.

    The first rows, at 0 s, are where each phone begins; others follow in order of time.
    """

    time_s: Floats
    phone: Indices
    access: Indices


def has_day(resolved: Resolved) -> bool:
    """Tell whether the day of a run is kept: its phones come and go, move, or are on a map."""
    moves = "mobility" in resolved or any("moves" in group for group in resolved["devices"])
    return comes_and_goes(resolved) or moves or resolved["output"].get("map", False)


def edges_s(duration_s: float) -> Floats:
    """Return where the bins of a run begin and end; the last ends with the run."""
    bin_s = bin_length_s(duration_s)
    return np.append(np.arange(math.ceil(duration_s / bin_s)) * bin_s, duration_s)


def bin_length_s(duration_s: float) -> float:
    """Return how long the bins of a run are but the last, in seconds."""
    return SHORT_BIN_S if duration_s < SHORT_S else BIN_S


def day(resolved: Resolved, whole: Plan) -> Day:
    """Return the day of a plan; what is asked for is None where a program sends in a loop."""
    duration_s, workload = whole["duration_s"], whole["workload"]
    bins_s = edges_s(duration_s)
    names = sorted(resolved["network"]["access"])
    stays = _stays(whole)
    time_s = _phone_seconds(whole, len(names), bins_s, stays)
    phones = np.count_nonzero(~_is_authority(whole))
    on, reachable = time_s / (phones * np.diff(bins_s))
    asked = None
    if not workload["loops"]:
        asked = np.histogram(np.asarray(workload["time_s"]), bins_s)[0].tolist()
    return {
        "bin_s": bin_length_s(duration_s),
        "on_share": on.sum(axis=0).tolist(),
        "reachable_share": reachable.sum(axis=0).tolist(),
        "reachable_share_by_access": {
            name: share.tolist() for name, share in zip(names, reachable, strict=True)
        },
        "asked_count": asked,
    }


def on_changes(whole: Plan) -> Transitions:
    """Return when phones of a plan go off and on."""
    changes = whole["churn"]
    return Transitions(
        np.asarray(changes["time_s"]),
        np.asarray(changes["phone"], dtype=np.int64),
        np.asarray(changes["on"], dtype=bool),
    )


def access_changes(whole: Plan) -> AccessChanges:
    """Return the networks of all phones of a plan; one that leaves is at once where it goes."""
    begins = np.asarray(whole["phones"]["access"], dtype=np.int64)
    phones, moves = np.arange(begins.size), whole["moves"]
    if moves is None:
        return AccessChanges(np.zeros(begins.size), phones, begins)
    attachment = np.asarray(moves["attachment"], dtype=np.int64)
    phone = np.concatenate([phones, np.asarray(moves["phone"], dtype=np.int64)])[attachment]
    access = np.concatenate([begins, np.asarray(moves["access"], dtype=np.int64)])[attachment]
    return AccessChanges(
        np.concatenate([np.zeros(begins.size), np.asarray(moves["time_s"])]),
        np.concatenate([phones, phone]),
        np.concatenate([begins, access]),
    )


def _stays(whole: Plan) -> tuple[Indices, Floats, Floats]:
    """Return network, begin and end of every time in which a phone is on one network."""
    changes, networks = on_changes(whole), access_changes(whole)
    unknown = np.full(changes.time_s.size, -1)
    time_s = np.concatenate([networks.time_s, changes.time_s])
    phone = np.concatenate([networks.phone, changes.phone])
    access = np.concatenate([networks.access, unknown])
    # A phone begins on: the first row of each is the network where it begins.
    begins = np.arange(networks.time_s.size) < len(whole["phones"]["access"])
    on = np.concatenate([np.where(begins, 1, -1), changes.on.astype(np.int64)])
    order = np.lexsort((np.arange(phone.size), time_s, phone))
    time_s, phone = time_s[order], phone[order]
    access, on = last_known(access[order]), last_known(on[order])
    is_last = np.append(phone[1:] != phone[:-1], True)
    end_s = np.where(is_last, whole["duration_s"], np.append(time_s[1:], 0.0))
    kept = (on == 1) & ~_is_authority(whole)[phone]
    return access[kept], time_s[kept], end_s[kept]


def last_known(values: Indices) -> Indices:
    """Return values with the last before it in the place of each -1; the first is known."""
    place = np.maximum.accumulate(np.where(values >= 0, np.arange(values.size), 0))
    found: Indices = values[place]
    return found


def _phone_seconds(
    whole: Plan, networks: int, bins_s: Floats, stays: tuple[Indices, Floats, Floats]
) -> Floats:
    """Return phone seconds on each network in each bin: all of them, and outside its outages."""
    access, begin_s, end_s = stays
    found = np.zeros((2, networks, bins_s.size - 1))
    for number in range(networks):
        here = access == number
        outages = [one for one in whole["outages"] if one["access"] == number]
        cuts_s = [one[key] for one in outages for key in ("start_s", "end_s")]
        every_s = np.unique(np.clip([*bins_s, *cuts_s], 0.0, bins_s[-1]))
        middle_s = (every_s[1:] + every_s[:-1]) / 2
        spent_s = np.diff(_before(begin_s[here], every_s) - _before(end_s[here], every_s))
        out = np.zeros(middle_s.size, dtype=bool)
        for one in outages:
            out |= (one["start_s"] <= middle_s) & (middle_s < one["end_s"])
        place = np.searchsorted(bins_s, middle_s) - 1
        for row, part_s in enumerate((spent_s, np.where(out, 0.0, spent_s))):
            found[row, number] = np.bincount(place, part_s, bins_s.size - 1)
    return found


def _before(times_s: Floats, at_s: Floats) -> Floats:
    """Return, for each moment, how long ago the times before it are, summed up."""
    ordered = np.sort(times_s)
    count = np.searchsorted(ordered, at_s)
    found: Floats = count * at_s - np.append(0.0, np.cumsum(ordered))[count]
    return found


def _is_authority(whole: Plan) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = np.asarray(whole["phones"]["role"]) == ROLES.index("authority")
    return found
