"""What a report could show of runs that are planned, checked before any of them is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.runs import choice, pooled
from pocketsim.report.runs.run import of_files, told_apart
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.metrics import names
from pocketsim.sim.scenario import point_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pocketsim.report.runs.asked import Asked
    from pocketsim.report.runs.pooled import Point
    from pocketsim.report.runs.run import Run
    from pocketsim.sim.run import sweep
    from pocketsim.sim.run.results import Manifest, Metrics


def check(runs: Iterable[sweep.Run], asked: Asked) -> None:
    """Raise UserError, with the nearest choice, where no report of all the runs has what is asked.

    Where no metric is asked for, the report chooses one by values that are not known yet, and shows
    the runs that have it: what is asked for has to be there with one of them.
    """
    points = pooled.of_runs(told_apart([_planned(run) for run in runs]))
    groups = _by_metrics(points)
    known = list(dict.fromkeys(name for metrics in groups for name in metrics))
    if asked.metric:
        choice.check_metric(asked, known)
    refused: UserError | None = None
    for metrics, group in groups.items():
        if asked.metric and asked.metric not in metrics:
            continue
        try:
            choice.check_axes(group, asked)
        except UserError as error:
            refused = refused or error
        else:
            return
    if refused:
        raise refused


def _by_metrics(points: Sequence[Point]) -> dict[tuple[str, ...], list[Point]]:
    """Return the points that a report shows, by the metrics with which it shows these alone."""
    having: dict[str, list[int]] = {}
    for number, point in enumerate(points):
        for name in dict.fromkeys(name for run in point.runs for name in names(run.resolved)):
            having.setdefault(name, []).append(number)
    found: dict[tuple[int, ...], list[str]] = {}
    for name, numbers in having.items():
        found.setdefault(tuple(numbers), []).append(name)
    return {tuple(some): [points[at] for at in numbers] for numbers, some in found.items()}


def _planned(run: sweep.Run) -> Run:
    resolved = run.rung.resolved
    implementation = resolved["implementation"]
    manifest: Manifest = {
        "scenario": point_values.values(run.task.document.scenario, run.rung.at),
        "point": {**run.place},
        "profiles": {name: one["digest"] for name, one in resolved["profiles"].items()},
        "implementation": {implementation["called"]: implementation["digest"]},
        "repetitions": [],
        "final_index": None,
    }
    metrics: Metrics = {
        "rung": resolved["rung"],
        "repetitions": 0,
        "metrics": {},
        "counts": {"sent": 0, "stored": 0, "in_flight": 0, "lost": {}},
        "fates": [],
        "point": {},
    }
    return of_files(run.directory, resolved, metrics, manifest)
