"""The first page: the runs of a folder side by side, and a metric of them as charts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pocketsim.report.charts import grids
from pocketsim.report.html.page import Page, interval, markup, table
from pocketsim.report.runs import choice, points
from pocketsim.report.runs import metric_words as words
from pocketsim.report.runs.run import by_scenario
from pocketsim.sim.base.errors import UserError, did_you_mean, nearest
from pocketsim.view.pages.page import ALL_RUNS, address, link, rendered, whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from markupsafe import Markup

    from pocketsim.report.runs.asked import Asked
    from pocketsim.report.runs.run import Run
    from pocketsim.view.recorded.run_folder import Listed


def html(listed: Listed, asked: Asked, columns: Sequence[str]) -> str:
    """Return the page; `asked` and `columns` name metrics, of which some run has each.

    Raises UserError, with the nearest choice, where none has.
    """
    runs = list(listed.by_name.values())
    page = Page(asked.question or "Runs side by side")
    page.heading()
    for said in listed.left_out:
        page.add(markup('<p class="notice">Not shown: {}</p>', said))
    if runs:
        _add_runs(page, listed, asked, columns)
    else:
        page.paragraph("No run is there yet. Load this page again when one is.")
    return whole(page, [ALL_RUNS])


def _add_runs(page: Page, listed: Listed, asked: Asked, columns: Sequence[str]) -> None:
    runs = list(listed.by_name.values())
    known = sorted({name for run in runs for name in run.metrics["metrics"] if run.has(name)})
    _check((*columns, *([asked.metric] if asked.metric else [])), known)
    drawn = choice.chosen(runs, asked)
    metric = drawn.metric if drawn else ""
    shown = [name for name in known if name in columns] or _usual(metric, known)
    page.add(rendered("choose_metric.html", metrics=known, chosen=metric, columns=shown))
    page.section("charts", words.title(metric) if metric else "No metric to show")
    _add_charts(page, runs, dataclasses.replace(asked, metric=metric))
    page.section("runs", "Runs")
    page.paragraph(_TABLE)
    names = {run.path: name for name, run in listed.by_name.items()}
    for group in by_scenario(runs).values():
        page.add(markup("<h3>{} <code>{}</code></h3>", group[0].title, group[0].scenario))
        page.add(_table(group, names, shown))


def _check(asked: Sequence[str], known: Sequence[str]) -> None:
    for name in asked:
        if name not in known:
            hint = did_you_mean(nearest(name, known))
            raise UserError(f"no run has a metric {name!r}{hint}")


def _usual(metric: str, known: Sequence[str]) -> list[str]:
    """Return the metrics of the table where none are chosen: that of the charts, and a few more."""
    able = [name for name in choice.METRICS if name in known and name != metric]
    return [name for name in (metric, *able) if name][:_COLUMNS]


def _add_charts(page: Page, runs: Sequence[Run], asked: Asked) -> None:
    """Append a chart for each scenario that has the metric at several points."""
    charts = []
    for group in by_scenario(runs).values():
        drawn = choice.chosen(group, asked) if any(run.has(asked.metric) for run in group) else None
        if drawn is not None and len(drawn.points) > 1:
            charts.append((group[0].title, grids.caption(drawn), grids.chart(drawn)))
    if charts:
        page.figures(charts)
    else:
        page.paragraph("Each scenario has one point: the table below says its value.")


def _table(runs: Sequence[Run], names: dict[Path, str], metrics: Sequence[str]) -> Markup:
    """Return a line for each run of a scenario: what tells it from the others, and its metrics."""
    places = [run.place for run in runs]
    keys = points.differing(places)[:_KEYS]
    heads = [next(place[key].name or key for place in places if key in place) for key in keys]
    lines = [
        [
            link(run.path.name, address("/run", run=names[run.path])),
            *(run.place[key].text if key in run.place else _NONE for key in keys),
            *(_cell(run, metric) for metric in metrics),
        ]
        for run in runs
    ]
    head = [f"run of {runs[0].scenario}", *heads, *metrics]
    return table(head, lines, range(len(head) - len(metrics), len(head)))


def _cell(run: Run, metric: str) -> Markup | str:
    if not run.has(metric):
        return _NONE
    said = words.number(run.mean(metric) or 0.0)
    return markup("{}{}", said, interval(run.bounds(metric)))


_TABLE = (
    "A row is a run, and leads to what happened in it. Below each number is its 95 % interval over "
    "the repetitions of this run."
)
_COLUMNS = 4
_KEYS = 8  # columns that a table can have beside its metrics
_NONE = "\N{EN DASH}"
