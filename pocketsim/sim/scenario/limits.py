"""How much a scenario may ask for: what the trace cannot count, and what no memory would hold.

Mistakes are `ScenarioError`s with the place of the mistake, before anything is drawn. How long a
run takes does not matter here: a long one can be waited for. What the loop of a paced workload asks
for depends on costs, and is `loops`' to tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario import android, mobility, walks
from pocketsim.sim.scenario.churn import Churn
from pocketsim.sim.scenario.compute import Compute
from pocketsim.sim.scenario.town import Town
from pocketsim.sim.scenario.workloads import Paced, Poisson

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for the first thing that `scenario` asks too much of."""
    workload = scenario.workload
    _check_transitions(scenario, path)
    _check_moves(scenario, path)
    for walked in walks.expected(scenario):
        share = _WITHIN * DRAWN_MAX / max(walked.count, 1)
        suggestion = walked.written(share)
        check_count((path, walked.place), walked.what, walked.count, suggestion=suggestion)
    at_places = mobility.expected_contacts(scenario)
    check_count((path, at_places[0]), "contacts", at_places[1])
    if isinstance(workload, Compute):
        _check_task(workload, path)
        tasks = float(max(workload.threads) * workload.count * scenario.phone_count())
        check_count((path, "workload.count"), "tasks", tasks)
    found = asked(scenario)
    if found and not isinstance(workload, Paced):
        check_count((path, found.place), found.what, found.expected)


@dataclass(frozen=True)
class Asked:
    """How much a repetition is expected to ask for, by which key."""

    place: str
    what: str
    expected: float


def asked(scenario: Scenario) -> Asked | None:
    """Return what all phones together are asked for at the highest rate; None where no rate is."""
    workload = scenario.workload
    if isinstance(workload, Paced) and workload.pacing != "unpaced":
        active_s = scenario.run.duration - workload.start
        return Asked("workload.rate", "proposals", max(workload.rate) * active_s)
    if isinstance(workload, Poisson):
        active_s = scenario.run.duration - workload.start
        if workload.hours is not None:
            since_s = workload.time_of_day or 0.0
            active_s = _active_s(workload.hours, workload.start, scenario.run.duration, since_s)
        expected = _asked_per_s(scenario, max(workload.rate)) * active_s
        return Asked("workload.rate", "proposals", expected)
    if isinstance(workload, Town):
        paying_s = _active_s(workload.hours, workload.start, scenario.run.duration)
        expected = _asked_per_s(scenario, max(workload.payments)) * paying_s
        return Asked("workload.payments", "payments", expected)
    return None


def check_count(
    place: tuple[str | Path, str],
    what: str,
    expected: float,
    because: str = "",
    suggestion: str | None = None,
) -> None:
    """Raise ScenarioError at a file and key that asks for more than a repetition may hold."""
    if expected > DRAWN_MAX:
        reason = (
            f"asks for about {expected:.2g} {what} in each repetition{because}; "
            f"a run may ask for {DRAWN_MAX:,}"
        )
        raise ScenarioError(*place, reason, suggestion)


def _asked_per_s(scenario: Scenario, rate_per_s: float) -> float:
    """Return what all persons together are asked for; all phones, but for a town."""
    return math.fsum(
        group.count * (rate_per_s if group.rate is None else group.rate)
        for group in scenario.devices
        if group.role == "person"
    )


def _check_task(workload: Compute, path: Path) -> None:
    bytes_ = workload.largest_task_bytes(workload.tokens)
    if bytes_ <= TASK_BYTES_MAX:
        return
    alone = workload.largest_task_bytes(1)
    place = "workload.tokens" if alone <= TASK_BYTES_MAX else "workload.payload"
    reason = f"a task would be on {bytes_:,} bytes; a trace counts up to {TASK_BYTES_MAX:,}"
    raise ScenarioError(path, place, reason)


def _check_transitions(scenario: Scenario, path: Path) -> None:
    """Refuse lengths so short that no memory holds the transitions of all phones."""
    for number, group in enumerate(scenario.devices):
        churn = scenario.churn if group.churn is None else group.churn
        place = "churn" if group.churn is None else f"devices[{number}].churn"
        if not isinstance(churn, Churn):
            continue
        laws = {"session": churn.session, "gap": churn.gap}
        # The mean of a law with `longest` is at most either.
        means_s = {
            part: law.mean_s if law.longest is None else min(law.longest, law.mean_s)
            for part, law in laws.items()
        }
        expected = 2 * group.count * scenario.run.duration / math.fsum(means_s.values())
        shorter = min(means_s, key=lambda part: means_s[part])
        check_count((path, f"{place}.{shorter}"), "transitions", expected)
    for place, law in android.laws(scenario).items():
        phones = scenario.phone_count()
        for key, episodes in law.episodes().items():
            drawn = episodes.per_day * phones * (1 + scenario.run.duration / _DAY_S)
            check_count((path, f"{place}.{key}.per_day"), "episodes", drawn)


def _check_moves(scenario: Scenario, path: Path) -> None:
    """Refuse a schedule that begins again so often that no memory holds the moves of all phones."""
    for number, group in enumerate(scenario.devices):
        every = group.moves.every if group.moves else None
        if group.moves is not None and group.moves.schedule and every is not None:
            rounds = math.ceil(scenario.run.duration / every)
            expected = float(rounds * len(group.moves.schedule) * group.count)
            check_count((path, f"devices[{number}].moves.every"), "moves", expected)


def _active_s(
    hours: list[float], start_s: float, duration_s: float, time_of_day_s: float = 0.0
) -> float:
    """Return the seconds at the mean rate that ask for as much as the hours of the run."""
    ends_s = (start_s + time_of_day_s, duration_s + time_of_day_s)
    before, until = (_asked_until_s(hours, end_s) for end_s in ends_s)
    return until - before


def _asked_until_s(hours: list[float], end_s: float) -> float:
    days, rest_s = divmod(end_s, len(hours) * _HOUR_S)
    of_today = (
        weight * min(max(rest_s - hour * _HOUR_S, 0.0), _HOUR_S)
        for hour, weight in enumerate(hours)
    )
    return days * math.fsum(hours) * _HOUR_S + math.fsum(of_today)


TASK_BYTES_MAX = 2**31 - 1
"""Sizes in a trace are signed, of 32 bits."""
DRAWN_MAX = 50_000_000
"""Payments, proposals, tasks or transitions of one repetition: each is kept in memory.

A limit chosen by us: over a thousand times what the largest shipped scenario asks for.
"""
_WITHIN = 0.9  # a suggestion is of two digits
_HOUR_S = 3600.0
_DAY_S = 86_400.0
