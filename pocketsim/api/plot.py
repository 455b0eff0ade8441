"""The report's figures of runs, one of devices, as plotly figures: to show, change and save.

Those of runs take one scenario's and find the horizontal axis from what differs between them. In a
notebook each has a picture beside plotly's data, so that every viewer shows it (needs matplotlib).
`paper` is for print, by matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.charts import devices as _devices
from pocketsim.report.charts import grids, indices, latency, rates
from pocketsim.report.paper import answer_figure as _answer_figure
from pocketsim.report.paper.pictures import Figure, slider
from pocketsim.report.runs import run as reported
from pocketsim.report.runs.asked import Asked as _Asked
from pocketsim.report.sections import fates as _fates
from pocketsim.sim.base.errors import UserError, did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from pocketsim.api.profile_stats import DeviceComparison
    from pocketsim.api.results import Run
    from pocketsim.report.paper.answer_figure import AnswerFigure

__all__ = [
    "Figure",
    "devices",
    "distribution_functions",
    "distributions",
    "fates",
    "metric",
    "paper",
    "round_trips",
    "send_and_store",
    "sensitivity",
    "slider",
    "success",
]


def metric(runs: Iterable[Run], name: str) -> Figure:
    """Return a metric of docs/metrics.md against what varies most: mean and 95 % interval.

    What else differs makes lines; runs that no quantity puts in order stand beside each other.
    Raises UserError where no run has it, or runs are of several scenarios.
    """
    found = _of_one_scenario(runs)
    if not any(run.has(name) for run in found):
        known = [key for run in found for key in run.metrics["metrics"] if run.has(key)]
        raise UserError(f"no run has a metric {name!r}{did_you_mean(nearest(name, known))}")
    return Figure(grids.of_metric(found, name))


def success(runs: Iterable[Run]) -> Figure:
    """Return the share of what was sent that was stored, against what varies most."""
    return metric(runs, "success_ratio")


def fates(runs: Iterable[Run]) -> Figure:
    """Return what became of what was sent: a bar for each run, in percent."""
    return Figure(_fates.chart(_of_one_scenario(runs)))


def send_and_store(runs: Iterable[Run]) -> Figure:
    """Return rates of sends and of stores against the rate that was asked for.

    Raises UserError where the runs differ in something else than the rate.
    """
    series = _series(runs)
    if len(series) > 1:
        names = "; ".join(one.name for one in series)
        raise UserError(f"these are several: {names}; plot each of them alone")
    return Figure(rates.rates(series[0]))


def round_trips(runs: Iterable[Run]) -> Figure:
    """Return median and 95th percentile of round trips against the rate that was asked for, ms."""
    return Figure(latency.against_rate(_series(runs)))


def distributions(runs: Iterable[Run]) -> Figure:
    """Return box plots of round trips by rate: quartiles, 5th and 95th percentile, ms.

    Reads the events of all runs.
    """
    return Figure(latency.distributions(_series(runs)))


def distribution_functions(runs: Iterable[Run]) -> Figure:
    """Return which share of round trips took no longer than so many ms, with their percentiles.

    Reads the events of all runs; of many rates six are shown.
    """
    return Figure(latency.distribution_functions(_series(runs)))


def sensitivity(found: pd.DataFrame) -> Figure:
    """Return what `Study.sensitivity` found, as bars with 95 % intervals: a bar for each range."""
    return Figure(indices.chart(found))


def devices(found: DeviceComparison) -> Figure:
    """Return each number of devices as a ratio of the first one's, with its 95 % interval."""
    return Figure(_devices.chart(found.first, found.ratios))


def paper(runs: Iterable[Run], metric: str = "", *, x: str = "", by: str = "") -> AnswerFigure:
    """Return one figure of one metric for a paper: 3.5 in wide, with caption and methods.

    `x` and `by` are key paths: the horizontal axis, and what has a colour for each value. What is
    left out is chosen as for a report's first chart (docs/studies.md). `save(folder)` writes SVG,
    PDF, CSV, caption, methods and bibliography; `draw()` returns matplotlib's figure, to change.
    Raises UserError where the runs have no such metric or key, EnvironmentMissingError without
    matplotlib.
    """
    asked = _Asked(metric=metric, x=x, by=by)
    return _answer_figure.of_runs((run.directory for run in runs), asked)


def _series(runs: Iterable[Run]) -> list[reported.Series]:
    found = [run for run in _of_one_scenario(runs) if reported.is_of_trades(run)]
    if not found:
        raise UserError("these runs are not of trades, which have rates and round trips")
    return reported.as_series(found)


def _of_one_scenario(runs: Iterable[Run]) -> list[reported.Run]:
    found = reported.load(run.directory for run in runs)
    if not found:
        raise UserError("there is no run to plot")
    names = dict.fromkeys(run.scenario for run in found)
    if len(names) > 1:
        raise UserError(f"runs of several scenarios: {', '.join(names)}; plot each of them alone")
    return found
