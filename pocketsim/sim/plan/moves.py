"""Phones on the move: when each leaves for which access network, and where it is there.

Times and interruptions of a phone are from its lane of the stream "name/moves": draw 0 is how much
later than its group's schedule it is, draw k the k-th of its interruptions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.streams import Floats, Lanes
from pocketsim.sim.plan import plan
from pocketsim.sim.plan.population import Goes, Indices, access_of, lanes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.sim.base.tables import Table
    from pocketsim.sim.plan.population import Population
    from pocketsim.sim.scenario import resolved as given
    from pocketsim.sim.scenario.resolved import Resolved


Columns = tuple[Floats, Indices, Indices]
"""Times, phones and networks of moves."""


@dataclass(frozen=True)
class Itinerary:
    """Moves as columns of one length, sorted by time: who leaves for which network, by number."""

    time_s: Floats
    interruption_s: Floats
    phone: Indices
    access: Indices

    def goes(self) -> Goes:
        """Return who goes where."""
        return self.phone, self.access


def by_groups(resolved: Resolved, name: str, files: Mapping[str, str]) -> list[Columns]:
    """Return when phones leave for where as their groups say; `files` are paths by digest.

    Raises ScenarioError for a file that has changed.
    """
    if not any("moves" in group for group in resolved["devices"]):
        return []
    # Here, as it loads what reads tables: children of other runs start faster without.
    from pocketsim.sim.scenario import move_files

    tables = move_files.again(resolved, files)
    of_phone, lane = lanes(resolved)
    streams = Lanes(resolved["run"]["seed"], f"{name}/moves")
    parts: list[Columns] = []
    for number, devices in enumerate(resolved["devices"]):
        if "moves" in devices:
            phones = np.flatnonzero(of_phone == number)
            law, table = devices["moves"], tables.get(number)
            stops = _told(resolved, table) if table else _scheduled(resolved, law)
            parts.append(_of_group(stops, phones, law, streams.uniform(lane[phones], 0)))
    return parts


def itinerary(resolved: Resolved, name: str, parts: Sequence[Columns]) -> Itinerary | None:
    """Return the moves of all phones in a repetition, of these parts; None where there are none.

    Who would go where it is stays.
    """
    if not parts:
        return None
    of_phone, lane = lanes(resolved)
    streams = Lanes(resolved["run"]["seed"], f"{name}/moves")
    time_s, phone, access = _changes(parts, access_of(resolved, name))
    in_run = time_s < resolved["run"]["duration_s"]
    time_s, phone, access = time_s[in_run], phone[in_run], access[in_run]
    ordinal = np.arange(phone.size) - np.searchsorted(phone, phone) + 1
    shares = streams.uniform(lane[phone], ordinal)
    interruption_s = _interruptions(resolved, of_phone[phone], shares)
    order = np.argsort(time_s, kind="stable")
    return Itinerary(time_s[order], interruption_s[order], phone[order], access[order])


def _changes(parts: Sequence[Columns], begins: Indices) -> Columns:
    """Return those of all parts that lead elsewhere, by phone and then by time."""
    time_s, phone, access = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((time_s, phone))
    time_s, phone, access = time_s[order], phone[order], access[order]
    before = np.roll(access, 1)
    is_first = np.diff(phone, prepend=-1) != 0
    before[is_first] = begins[phone[is_first]]
    goes = access != before
    return time_s[goes], phone[goes], access[goes]


def columns(
    made: Itinerary | None, people: Population, mcs: npt.NDArray[np.int64], nats: Indices
) -> plan.Moves | None:
    """Return the moves as the engine takes them.

    `mcs` and `nats` are the schemes and the classes of all attachments, those that phones begin
    with first; either may be empty.
    """
    if made is None:
        return None
    further, phones = people.further, people.lane.size
    networks = 1 + max(int(each.access.max(initial=0)) for each in (further, made))
    known, wanted = (each.phone * networks + each.access for each in (further, made))
    at = np.searchsorted(known, wanted)
    is_further = np.isin(wanted, known)
    return {
        "phone": plan.numbers(further.phone),
        "access": plan.numbers(further.access),
        "site": plan.numbers(further.site),
        "mcs": plan.numbers(mcs[phones:]),
        "nat_class": plan.numbers(nats[phones:]),
        "time_s": plan.floats(made.time_s),
        "interruption_s": plan.floats(made.interruption_s),
        "attachment": plan.numbers(np.where(is_further, phones + at, made.phone)),
    }


@dataclass(frozen=True)
class _Stops:
    """Times and networks of one phone, or of the phones of a file, numbered in their group."""

    time_s: Floats
    access: Indices
    phone: Indices | None


def _scheduled(resolved: Resolved, law: given.GroupMoves) -> _Stops:
    names = sorted(resolved["network"]["access"])
    at_s = np.array([stop["at_s"] for stop in law["schedule"]])
    access = np.array([names.index(stop["to"]) for stop in law["schedule"]])
    every_s = law.get("every_s")
    rounds = 1 if every_s is None else math.ceil(resolved["run"]["duration_s"] / every_s)
    begins_s = np.arange(rounds) * (every_s or 0.0)
    return _Stops((begins_s[:, None] + at_s).ravel(), np.tile(access, rounds), None)


def _told(resolved: Resolved, table: Table) -> _Stops:
    names = sorted(resolved["network"]["access"])
    numbers = np.array([names.index(name) for name in table.names])
    told = table.columns
    return _Stops(told["time_s"], numbers[told["access"]], told["phone"].astype(np.int64))


def _of_group(stops: _Stops, phones: Indices, law: given.GroupMoves, late: Floats) -> Columns:
    """Return the moves of a group, of whose phones each is late by a share of the spread."""
    if stops.phone is not None:
        return stops.time_s, phones[stops.phone], stops.access
    time_s = stops.time_s + law["spread_s"] * late[:, None]
    return time_s.ravel(), np.repeat(phones, stops.time_s.size), np.tile(stops.access, phones.size)


def _interruptions(resolved: Resolved, group: Indices, share: Floats) -> Floats:
    from scipy import special

    days = resolved.get("mobility")
    laws: list[given.GroupMoves | given.Days | None] = [
        days if days and devices["role"] == "person" else devices.get("moves")
        for devices in resolved["devices"]
    ]
    median_s = np.array([law["interruption_s"] if law else 0.0 for law in laws])[group]
    sigma = np.array([law["interruption_sigma"] if law else 0.0 for law in laws])[group]
    found: Floats = median_s * np.exp(sigma * special.ndtri(share))
    return found
