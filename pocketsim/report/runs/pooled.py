"""Points of a study: runs that differ in their seeds alone, and what they come to together."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.report.runs import points as places
from pocketsim.report.runs.points import Setting
from pocketsim.sim.metrics import completion, repetitions
from pocketsim.sim.scenario.resolved import streams_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.report.runs.run import Bounds, Run

SCENARIO = "scenario"
"""The key of a place that says which scenario it is of, where there are several."""


@dataclass(frozen=True)
class Point:
    """Runs of one scenario whose settings are equal but for their seeds.

    `place` is what tells it from other points.
    """

    runs: tuple[Run, ...]
    place: dict[str, Setting]

    @property
    def run(self) -> Run:
        """The first run: what the others are, too, but for what was drawn."""
        return self.runs[0]

    @property
    def repetitions(self) -> int:
        """Repetitions of all its runs."""
        return sum(int(run.resolved["run"]["repetitions"]) for run in self.runs)

    def has(self, metric: str) -> bool:
        """Return whether a metric is there and defined in one of the runs."""
        return bool(self._known(metric))

    def mean(self, metric: str) -> float | None:
        """Return a metric over all repetitions; None where it is undefined.

        Of one run a quantile is pooled over repetitions, of several the mean of the repetitions'.
        """
        known = self._known(metric)
        if len(known) == 1:
            return known[0].mean(metric)
        return float(np.nanmean(_values(known, metric))) if known else None

    def bounds(self, metric: str) -> Bounds | None:
        """Return the 95 % interval of that value; None where it is undefined."""
        known = self._known(metric)
        if len(known) < _SEVERAL:
            return known[0].bounds(metric) if known else None
        names = set.intersection(*(set(run.metrics["metrics"]) for run in known))
        values = {name: _values(known, name) for name in sorted(names)}
        found = repetitions.interval_of_mean(metric, values, known[0].resolved)
        found = found.within(0.0, math.inf)  # nothing that is measured is below 0
        is_known = math.isfinite(found.low) and math.isfinite(found.high)
        return (found.low, found.high) if is_known else None

    def by_draw(self, metric: str) -> dict[tuple[int, int], float]:
        """Return the metric of each repetition by its seed and the number of its streams."""
        return {
            (run.resolved["run"]["seed"], streams_number(run.resolved["run"], repetition)): (
                math.nan if value is None else value
            )
            for run in self._known(metric)
            for repetition, value in enumerate(run.metrics["metrics"][metric]["values"])
        }

    def _known(self, metric: str) -> list[Run]:
        known = [run for run in self.runs if run.has(metric)]
        # As within a run: a mean of those that came to the share would leave out the slowest.
        is_cut = metric in completion.SHARES and len(known) < len(self.runs)
        return [] if is_cut else known


def of_runs(runs: Sequence[Run]) -> list[Point]:
    """Return the points of runs, in their order."""
    several = len({run.scenario for run in runs}) > 1
    found: dict[str, list[Run]] = {}
    for run in runs:
        values = {key: one.value for key, one in _without_seeds(run).items()}
        found.setdefault(json.dumps([run.scenario, values], sort_keys=True), []).append(run)
    return [Point(tuple(group), _place(group[0], several=several)) for group in found.values()]


def _without_seeds(run: Run) -> dict[str, Setting]:
    return {key: one for key, one in run.place.items() if key not in places.SEEDS}


def _place(run: Run, *, several: bool) -> dict[str, Setting]:
    own = _without_seeds(run)
    return {SCENARIO: Setting(run.title), **own} if several else own


def _values(runs: Sequence[Run], metric: str) -> list[float]:
    """Return the value of each repetition of all runs, nan where it is undefined."""
    found = [value for run in runs for value in run.metrics["metrics"][metric]["values"]]
    return [math.nan if value is None else value for value in found]


_SEVERAL = 2
