"""How far two runs differ in a metric, and in what their scenarios differ.

Either side is a run, or several of one scenario, whose repetitions are taken together. What the
scenarios of both differ in is said beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pocketsim.report.runs.difference import Difference, between
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.scenario.resolved import streams_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pocketsim.api.results import Run

__all__ = ["Difference", "by_scenario", "compare", "differing"]


def compare(first: Run | Sequence[Run], second: Run | Sequence[Run], metric: str) -> Difference:
    """Return by how much `second` differs from `first` in a metric of docs/metrics.md.

    Each is a run, or several whose repetitions are taken together. Raises UserError where one of
    them lacks the metric, or any value of it.
    """
    ours, theirs = _values(_several(first), metric), _values(_several(second), metric)
    found = between(metric, ours, theirs)
    if found.ci95_low < found.ci95_high:
        return found
    low, high = _newcombe(first, second, found)
    return replace(found, ci95_low=low, ci95_high=high)


def differing(first: Run, second: Run) -> list[tuple[str, Any, Any]]:
    """Return what the resolved scenarios differ in: key path, value in each; None where absent."""
    ours, theirs = dict(_leaves(first.resolved)), dict(_leaves(second.resolved))
    keys = dict.fromkeys((*ours, *theirs))
    return [
        (key, ours.get(key), theirs.get(key)) for key in keys if ours.get(key) != theirs.get(key)
    ]


def by_scenario(runs: Sequence[Run]) -> list[list[Run]]:
    """Return runs by scenario, in order: those that differ in seed and repetitions alone."""
    found: list[tuple[dict[str, Any], list[Run]]] = []
    for run in {run.directory.resolve(): run for run in runs}.values():
        scenario = {key: value for key, value in _leaves(run.resolved) if key not in _CHANCE}
        for known, several in found:
            if known == scenario:
                several.append(run)
                break
        else:
            found.append((scenario, [run]))
    return [several for _, several in found]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield numbers and texts of a document by key path, lists of such as one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for place, item in enumerate(value):
            yield from _leaves(item, f"{path}[{place}]")
    else:
        yield path, value


def _several(side: Run | Sequence[Run]) -> Sequence[Run]:
    return side if isinstance(side, Sequence) else [side]


def _values(runs: Sequence[Run], metric: str) -> dict[tuple[int, int], float]:
    """Return a metric's values by seed and number of the repetition's streams."""
    found = {
        (run.resolved["run"]["seed"], streams_number(run.resolved["run"], repetition)): (
            math.nan if value is None else value
        )
        for run in runs
        for repetition, value in enumerate(run.values(metric))
    }
    if all(math.isnan(value) for value in found.values()):
        raise UserError(f"{runs[0].name} has no value of {metric!r}")
    return found


def _newcombe(
    first: Run | Sequence[Run], second: Run | Sequence[Run], found: Difference
) -> tuple[float, float]:
    """Return the interval of a difference of means by those of both; nothing of pooled ones."""
    means, difference = (found.first_mean, found.second_mean), found.difference
    runs = (*_several(first), *_several(second))
    if len(runs) > _TWO:
        return difference, difference
    bounds = [run.metrics["metrics"][found.metric] for run in runs]
    lows = [one["ci95_low"] for one in bounds if one["ci95_low"] is not None]
    highs = [one["ci95_high"] for one in bounds if one["ci95_high"] is not None]
    if min(len(lows), len(highs)) < _TWO:
        return difference, difference
    below = math.hypot(min(lows[1] - means[1], 0), max(highs[0] - means[0], 0))
    above = math.hypot(max(highs[1] - means[1], 0), min(lows[0] - means[0], 0))
    return difference - below, difference + above


_TWO = 2  # runs, and bounds of them
_CHANCE = ("run.seed", "run.repetitions", "run.first_repetition")  # what runs may be pooled over
