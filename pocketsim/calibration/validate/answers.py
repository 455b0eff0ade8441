"""What simulated rungs answer to a published row, and the shape of every comparison."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pocketsim.sim.metrics.intervals import Z_95, Mean, agree, normal_ci95

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pocketsim.calibration.validate import published


class RungKey(NamedTuple):
    """What tells simulated rungs apart; `axes` are the rung's, sorted by key."""

    scenario: str
    transport: str
    rate_per_s: float
    payload_bytes: int
    axes: tuple[tuple[str, Any], ...] = ()


Rungs = dict[RungKey, "Mapping[str, Any]"]
"""metrics.json by rung."""


@dataclass(frozen=True)
class Baseline:
    """What a baseline says of a row: its value, and how that is judged where it is."""

    value: float
    error_ratio: float | None
    holds: bool | None


@dataclass(frozen=True)
class OutcomeCounts:
    """Runs that stalled, broke part-way and completed, in this order."""

    published: tuple[int, int, int]
    simulated: tuple[int, int, int]


@dataclass(frozen=True)
class Comparison:
    """One published figure beside its simulation, both in `unit`.

    `ci95` and `simulated_ci95` are like for like, 1.96 s / sqrt(n) over so many runs; neither is an
    interval that covers 95 %. `error_ratio` is simulated / published - 1 where rows are judged by
    it. `agrees` says whether the two differ by no more than the scatter of both explains. `holds`
    is the verdict on a claim or an exact figure. All three are None where they do not apply,
    `simulated` where nothing answers the row. `in_flight_ratio` stands beside a share of success.
    `claim_error_ratio` is by how much a claim fails, 0 where it holds. `outcomes` are counts of
    runs with their `p_value` (`calibration.validate.counts`). `session`, `metric` and `statistic`
    are the row's; `reading` is the same for rows that are read off the same runs. `nulls` are what
    models without a mechanism say (`calibration.validate.baselines`).
    """

    id: str
    what: str
    group: str
    basis: str
    unit: str
    published: float | None
    ci95: float | None
    simulated: float | None = None
    simulated_ci95: float | None = None
    runs: int = 1
    simulated_runs: int = 1
    error_ratio: float | None = None
    agrees: bool | None = None
    holds: bool | None = None
    in_flight_ratio: float | None = None
    note: str = ""
    claim_error_ratio: float | None = None
    outcomes: OutcomeCounts | None = None
    p_value: float | None = None
    session: str = ""
    metric: str = ""
    statistic: str = ""
    reading: str = ""
    nulls: Mapping[str, Baseline] = field(default_factory=dict)


def blank(row: published.Row) -> Comparison:
    """Return `row` as a comparison that nothing answers yet."""
    return Comparison(
        id=row.id,
        what=row.what,
        group=row.group,
        basis=row.basis,
        unit=row.unit,
        published=row.value,
        ci95=row.ci95,
        runs=row.runs,
        note=row.note,
        session=row.session,
        metric=row.target.metric,
        statistic=row.target.statistic,
        reading=_reading(row),
    )


def _reading(row: published.Row) -> str:
    """Return what tells readings of different runs, or of different work, apart.

    Rates and counts of sends and stores are one reading of a run; a row that stands for one run is
    that run's.
    """
    target = row.target
    parts = (
        *(row.session, target.transport, target.rate_min_per_s, target.rate_max_per_s),
        *(target.payload_bytes, target.axes, row.run),
        _SAME_READING.get(target.metric, target.metric) or row.id,
    )
    return " ".join(map(str, parts))


def answer(row: published.Row, rungs: Rungs) -> Comparison:
    """Return the row with what was simulated for it."""
    target = row.target
    answers = [rung["metrics"][target.metric] for rung in matching(target, rungs) if target.metric]
    known = [metric for metric in answers if metric["mean"] is not None]
    if not known:
        note = f"{row.note}; no simulated value" if row.note else "no simulated value"
        return replace(blank(row), note=note)
    simulated = _STATISTICS[target.statistic]([metric["mean"] for metric in known])
    found = replace(blank(row), simulated=simulated, in_flight_ratio=_in_flight(target, rungs))
    if target.statistic == "share_percent":
        whole = _over_all_axes(target, rungs)
        return replace(found, simulated=100 * simulated / whole if whole else None)
    if len(known) > 1:
        return found
    runs = sum(value is not None for value in known[0]["values"])
    return replace(found, simulated_ci95=known[0]["normal_ci95"], simulated_runs=runs)


def judged(found: Comparison, resolution: float) -> Comparison:
    """Return a comparison of two means with its error, and whether they agree.

    They do when they differ by no more than Welch's test at 95 % allows, with the scatter of both,
    and half of `resolution` for the rounding of the printed value. Where there is one simulated
    run, or the figure is of several rungs, its own scatter is unknown and counts as none.
    """
    said, had = found.published, found.simulated
    if had is None or not said:
        return found
    found = replace(found, error_ratio=had / said - 1)
    if found.ci95 is None:
        return found
    ours = Mean(had, (found.simulated_ci95 or 0.0) / Z_95, found.simulated_runs)
    theirs = Mean(said, found.ci95 / Z_95, found.runs)
    return replace(found, agrees=agree(theirs, ours, resolution / 2))


def _in_flight(target: published.Target, rungs: Rungs) -> float | None:
    """Return what was in flight at the end of what was sent, at most, beside a success ratio."""
    if target.metric not in {"settled_success_ratio", "unmatched_count"}:
        return None
    shares = [rung["metrics"]["in_flight_ratio"]["mean"] for rung in matching(target, rungs)]
    return max((share for share in shares if share is not None), default=None)


def matching(target: published.Target, rungs: Rungs) -> list[Mapping[str, Any]]:
    """Return the metrics of the rungs that `target` covers, in order of rate, payload and axes."""
    return [
        rungs[key]
        for key in sorted(rungs)
        if key.scenario in target.scenarios
        and target.transport in {"", key.transport}
        and target.rate_min_per_s <= key.rate_per_s <= target.rate_max_per_s
        and target.payload_bytes in {None, key.payload_bytes}
        and target.covers(dict(key.axes))
    ]


def _over_all_axes(target: published.Target, rungs: Rungs) -> float:
    """Return the sum of the metric over the rungs that differ from the target's in axes only."""
    every = matching(replace(target, axes=()), rungs)
    means = [rung["metrics"][target.metric]["mean"] for rung in every]
    return float(sum(mean for mean in means if mean is not None))


def mean_of_runs(rows: Sequence[published.Row]) -> published.Row:
    """Return the rows of the runs of one table as one row: their mean and its interval."""
    values = [row.value for row in rows if row.value is not None]
    return replace(
        rows[0],
        id=rows[0].id.replace(f"_run{rows[0].run}", ""),
        quantity=f"{rows[0].quantity}, mean",
        value=statistics.fmean(values),
        resolution=0.0,
        ci95=normal_ci95(values),
        runs=len(values),
        run=None,
        basis=_worst_basis(rows),
        note=f"mean of {len(values)} runs",
        target=replace(rows[0].target, statistic="mean"),
    )


def _worst_basis(rows: Sequence[published.Row]) -> str:
    """A figure made of several rows is fitted as soon as one of them is."""
    bases = [row.basis for row in rows]
    return "fitted" if "fitted" in bases else bases[0]


_STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda values: values[0],
    "classes": lambda values: values[0],
    "growth": lambda values: values[-1] / values[0] if values[0] else math.inf,
    "share_percent": lambda values: values[0],
    "median": statistics.median,
    "sum": sum,
    "min": min,
    "max": max,
}
_TRADE, _TASKS = "trades of the runs", "tasks"
_SAME_READING = {
    **dict.fromkeys(("send_rate_per_s", "send_count"), _TRADE),
    **dict.fromkeys(("store_rate_per_s", "store_count"), _TRADE),
    **dict.fromkeys(("task_rate_per_s", "data_rate_mb_per_s"), _TASKS),
}
