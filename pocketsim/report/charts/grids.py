"""Charts of grids and sweeps: windows, threads, populations, latencies; and shares of parts.

What is drawn, `runs.choice` decides. Runs that differ in their seeds alone are one point. Where no
quantity has steps, points stand beside each other by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.validate import published
from pocketsim.report.charts import theme
from pocketsim.report.charts.rates import FATES
from pocketsim.report.runs import choice, points, pooled
from pocketsim.report.runs import metric_words as words
from pocketsim.report.runs.asked import BY_RULE, Asked
from pocketsim.report.runs.run import PAYLOAD, RATE, TRANSPORT, answers, is_of_trades, labels
from pocketsim.sim.metrics import custom_metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from pocketsim.report.runs.choice import Choice, Line
    from pocketsim.report.runs.points import Axis
    from pocketsim.report.runs.pooled import Point
    from pocketsim.report.runs.run import Run

    Chart = tuple[str, str, go.Figure]


def charts(runs: Sequence[Run], asked: Asked = BY_RULE) -> list[Chart]:
    """Return the charts of one scenario's grid or sweep, each with title and caption."""
    title = runs[0].title
    own = custom_metrics.names(runs[0].resolved)
    names = TRADE if is_of_trades(runs[0]) else tuple(name for name in METRICS if name not in TRADE)
    found = [
        drawn
        for name in (*own, *names)
        if any(run.has(name) for run in runs)
        if (drawn := choice.chosen(runs, replace(asked, metric=name))) is not None
        if len(drawn.points) > 1
    ]
    if found and found[0].axis is None and all(run.has(_PART) for run in runs):
        return [(title, "share of the sum over all parts", _shares(pooled.of_runs(runs)))]
    return [(title, caption(drawn), chart(drawn)) for drawn in found]


def is_swept(runs: Sequence[Run]) -> bool:
    """Return whether a quantity has several steps in some runs of one scenario."""
    drawn = choice.chosen(runs, BY_RULE)
    return drawn is not None and drawn.axis is not None


def caption(drawn: Choice) -> str:
    """Return what a chart shows, and what moves along with its horizontal axis."""
    said, _ = METRICS.get(drawn.metric, (words.title(drawn.metric), ""))
    return "; ".join(filter(None, (marks(drawn) or said, along(drawn))))


def marks(drawn: Choice) -> str:
    """Return what the two kinds of lines of a chart are; nothing where there is one kind."""
    return _MARKS.get(drawn.metric, "")


def along(drawn: Choice) -> str:
    """Return in words what moves along with the horizontal axis; nothing where nothing does."""
    places = [point.place for point in drawn.points]
    parts = [
        f"{places[0][key].name or _NAMES.get(key, '')} {points.listed(at[key] for at in places)}"
        for key in (drawn.axis.along if drawn.axis else ())
    ]
    return f"along with it {'; '.join(parts)}" if parts else ""


def of_metric(runs: Sequence[Run], metric: str) -> go.Figure:
    """Return a metric of one scenario's runs, of which one has it, against what varies most."""
    drawn = choice.chosen(runs, Asked(metric=metric))
    assert drawn is not None, "a run has it"
    return chart(drawn)


def chart(drawn: Choice) -> go.Figure:
    """Return the chart of a choice: lines over an axis, or points beside each other."""
    title, _ = METRICS.get(drawn.metric, (words.title(drawn.metric), ""))
    found = theme.figure(axis_title(drawn), title)
    if drawn.metric.endswith("_ratio"):
        found.update_yaxes(range=_share_range(drawn), tickformat=".0%")
    else:
        found.update_yaxes(rangemode="tozero")
    if drawn.axis:
        _lines(found, drawn, drawn.axis)
    else:
        _beside(found, drawn)
    theme.make_room(found)
    return found


def _share_range(drawn: Choice) -> list[float]:
    """Return from where to where a share's axis goes: from none, to all where shares are large."""
    highs = [
        (point.bounds(metric) or (0.0, point.mean(metric) or 0.0))[1]
        for metric, *_ in _shown(drawn.metric)
        for point in drawn.points
    ]
    top = _ROOM * max(highs)
    return [-0.04, 1.06] if top > _MOST_OF_ALL or not top else [-0.04 * top, top]


def _shown(metric: str) -> tuple[tuple[str, str, dict[str, dict[str, Any]]], ...]:
    """Return what is drawn of a metric: of success also what was in flight at the end."""
    return FATES if metric == _SUCCESS else ((metric, "", FATES[0][2]),)


def _lines(found: go.Figure, drawn: Choice, axis: Axis) -> None:
    for line, look in zip(drawn.lines, looks(drawn), strict=True):
        x = [axis.at(point.place) for point in line.points]
        _add(found, x, line.points, (line.name, drawn.metric), look)
    _printed(found, drawn, axis)
    if axis.is_log:
        found.update_xaxes(**theme.log_ticks([axis.at(point.place) for point in drawn.points]))


def looks(drawn: Choice) -> list[dict[str, str]]:
    """Return `color` and `dash` of each line: a colour for a group, dashes within it."""
    groups = list(dict.fromkeys(line.group for line in drawn.lines))
    colours = dict(zip(groups, theme.colours(len(groups)), strict=True))
    of_group = {group: [line for line in drawn.lines if line.group == group] for group in groups}
    dashes = theme.dashes(len(drawn.lines))
    return [
        {"color": colours[line.group], "dash": dashes[_place(line, drawn, of_group)]}
        for line in drawn.lines
    ]


def _place(line: Line, drawn: Choice, of_group: dict[str, list[Line]]) -> int:
    """Return by what number a line is dashed: within its colour, or of all if each has its own."""
    if len(of_group) == len(drawn.lines):
        return drawn.lines.index(line)
    return of_group[line.group].index(line)


def axis_title(drawn: Choice) -> str:
    """Return what the horizontal axis of a choice is called, with its unit."""
    axis = drawn.axis
    if axis is None:
        return ""
    if axis.key in _NAMES:
        is_each = axis.key == RATE and drawn.points[0].run.senders > 1
        return f"{_NAMES[axis.key]}{axis.title}{' for each phone' if is_each else ''}"
    return axis.title


def _beside(found: go.Figure, drawn: Choice) -> None:
    """Draw points beside each other that no quantity puts in order."""
    names = [line.name for line in drawn.lines for _ in line.points]
    look = {"color": theme.colours(1)[0]}
    _add(found, names, drawn.points, ("simulated", drawn.metric), look, mode="markers")
    found.update_xaxes(type="category")


def _add(
    found: go.Figure,
    x: Sequence[float] | Sequence[str],
    some: Sequence[Point],
    what: tuple[str, str],
    line: dict[str, str],
    mode: str = "lines+markers",
) -> None:
    """Draw points at `x`: `what` is the line's name and its metric."""
    name, metric = what
    for own, ending, look in _shown(metric):
        mean = [point.mean(own) or 0.0 for point in some]
        found.add_scatter(
            x=x,
            y=mean,
            error_y=theme.bars(mean, [point.bounds(own) for point in some]),
            mode=mode,
            name=f"{name}{ending}",
            showlegend=not ending,
            line={**line, **look["line"]},
            marker={"color": line["color"], **look["marker"]},
        )


def published_dots(drawn: Choice, axis: Axis) -> list[tuple[float, float, str]]:
    """Return place, value and identifier of each published figure that a chart's points answer."""
    _, unit = METRICS.get(drawn.metric, ("", ""))
    rows = [
        row for row in published.rows() if row.target.metric == drawn.metric and row.unit == unit
    ]
    dots = [
        (axis.at(point.place), row.value, row.id)
        for row in rows
        if row.target.statistic == "mean" and row.value is not None
        for point in drawn.points
        if row.target.rate_min_per_s <= point.run.rate_per_s <= row.target.rate_max_per_s
        if answers(point.run, row.target)
    ]
    return list(dict.fromkeys(dots))  # several lines answer one row


def _printed(found: go.Figure, drawn: Choice, axis: Axis) -> None:
    if dots := published_dots(drawn, axis):
        x, y, text = zip(*dots, strict=True)
        marker = {"symbol": "diamond-open", "color": theme.PUBLISHED, "size": 10}
        found.add_scatter(x=x, y=y, text=text, mode="markers", name="published", marker=marker)


def _shares(some: Sequence[Point]) -> go.Figure:
    """Return what each part takes of the sum over all of them, beside what is printed."""
    found = theme.figure("share, %", "")
    means = [point.mean(_PART) or 0.0 for point in some]
    names = labels(some, {TRANSPORT, PAYLOAD, RATE})
    shares = [100 * mean / sum(means) for mean in means]
    # Lying down, so that long names have room.
    look = {"orientation": "h", "marker_color": theme.colours(1)[0]}
    found.add_bar(x=shares, y=names, name="simulated", **look)
    rows = [row for row in published.rows() if row.target.statistic == "share_percent"]
    printed = [
        next((row.value for row in rows if answers(point.run, row.target)), None) for point in some
    ]
    if any(printed):
        marker = {"symbol": "diamond-open", "color": theme.PUBLISHED, "size": 10}
        found.add_scatter(x=printed, y=names, mode="markers", name="published", marker=marker)
    found.update_yaxes(type="category", autorange="reversed")
    return found


# What is worth a chart, in words and in the unit that published rows print it in.
METRICS = {
    "deliveries_per_transaction": ("deliveries of each transaction", "1"),
    "delivery_ms_p95": ("95th percentile of deliveries, ms", "ms"),
    "task_rate_per_s": ("tasks per second", "1/s"),
    "data_rate_mb_per_s": ("data, MB/s", "MB/s"),
    "goodput_mb_per_s": ("goodput, MB/s", "MB/s"),
    "datagram_loss_ratio": ("datagrams lost / sent", "1"),
    "store_rate_per_s": ("stored per second, all phones", "1/s"),
    "success_ratio": ("share of what was sent", "1"),
    "rtt_ms_p50": ("median round trip, ms", "ms"),
    "rtt_ms_p95": ("95th percentile of round trips, ms", "ms"),
    "completed_ratio": ("payments completed / asked for", "1"),
    "payment_ms_p95": ("95th percentile of payments, ms", "ms"),
    "token_recipients_mean": ("recipients of a paid token, mean", "1"),
    "energy_mj_per_payment": ("mJ for each completed payment", "mJ"),
}
TRADE = ("store_rate_per_s", "success_ratio", "rtt_ms_p50", "rtt_ms_p95")
_ROOM, _MOST_OF_ALL = 1.3, 0.6
_PART = "task_us_mean"
_SUCCESS = "success_ratio"
_MARKS = {_SUCCESS: "stored over sent; thin, with triangles: in flight at the end"}
_NAMES = {PAYLOAD: "payload", RATE: "rate asked for", TRANSPORT: "transport"}
