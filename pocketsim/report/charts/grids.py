"""Charts of grids and sweeps: windows, threads, populations, latencies; and shares of parts.

The horizontal axis is the quantity of the runs with the most steps. What else differs makes lines.
Where no quantity has steps, runs stand beside each other by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.calibration.validate import published
from pocketsim.report.charts import theme
from pocketsim.report.charts.rates import FATES
from pocketsim.report.runs import points
from pocketsim.report.runs.run import PAYLOAD, RATE, TRANSPORT, answers, is_of_trades, labels
from pocketsim.sim.metrics import custom_metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from pocketsim.report.runs.points import Axis
    from pocketsim.report.runs.run import Run

    Chart = tuple[str, str, go.Figure]


def charts(runs: Sequence[Run]) -> list[Chart]:
    """Return the charts of one scenario's grid or sweep, each with title and caption."""
    axis = horizontal(runs)
    title = runs[0].title
    if axis is None and len(runs) > 1 and all(run.has(_PART) for run in runs):
        return [(title, "share of the sum over all parts", _shares(runs))]
    names = TRADE if is_of_trades(runs[0]) else tuple(name for name in METRICS if name not in TRADE)
    names = (*custom_metrics.names(runs[0].resolved), *names)
    known = [name for name in names if any(run.has(name) for run in runs)]
    along = _along(runs, axis)
    return [
        (title, f"{_caption(name)}{along}", of_metric(runs, name))
        for name in known
        if axis or len(runs) > 1
    ]


def _caption(metric: str) -> str:
    said, _ = METRICS.get(metric, (metric, ""))
    return _CAPTIONS.get(metric, said)


def horizontal(runs: Sequence[Run]) -> Axis | None:
    """Return the quantity with the most steps; of payload and rate only where no other has them."""
    return points.horizontal([run.place for run in runs], last=(PAYLOAD, RATE))


def _along(runs: Sequence[Run], axis: Axis | None) -> str:
    """Return in words what moves along with the horizontal axis."""
    places = [run.place for run in runs]
    parts = [
        f"{places[0][key].name or _NAMES.get(key, '')} {points.listed(at[key] for at in places)}"
        for key in (axis.along if axis else ())
    ]
    return f"; along with it {'; '.join(parts)}" if parts else ""


def of_metric(runs: Sequence[Run], metric: str) -> go.Figure:
    """Return a metric of one scenario's runs, of which one has it, against what varies most."""
    axis = horizontal(runs)
    title, _ = METRICS.get(metric, (metric, ""))
    chart = theme.figure(_title(runs, axis), title)
    if metric == _SUCCESS:
        chart.update_yaxes(range=[-0.04, 1.06], tickformat=".0%")
    else:
        chart.update_yaxes(rangemode="tozero")
    if axis:
        _lines(chart, runs, axis, metric)
    else:
        _beside(chart, runs, metric)
    theme.make_room(chart)
    return chart


def _lines(chart: go.Figure, runs: Sequence[Run], axis: Axis, metric: str) -> None:
    known = [run for run in runs if run.has(metric)]
    lines: dict[str, list[Run]] = {}
    for run, name in zip(runs, labels(runs, {axis.key, *axis.along}), strict=True):
        if run in known:
            lines.setdefault(name or "simulated", []).append(run)
    looks = zip(theme.colours(len(lines)), theme.dashes(len(lines)), strict=True)
    for (name, own), (colour, dash) in zip(lines.items(), looks, strict=True):
        ordered = sorted(own, key=lambda run: axis.at(run.place))
        line = {"color": colour, "dash": dash}
        _add(chart, [axis.at(run.place) for run in ordered], ordered, (name, metric), line)
    _printed(chart, known, axis, metric)
    if axis.is_log:
        chart.update_xaxes(**theme.log_ticks([axis.at(run.place) for run in known]))


def _title(runs: Sequence[Run], axis: Axis | None) -> str:
    if axis is None:
        return ""
    if axis.key in _NAMES:
        each = " for each phone" if axis.key == RATE and runs[0].senders > 1 else ""
        return f"{_NAMES[axis.key]}{axis.title}{each}"
    return axis.title


def _beside(chart: go.Figure, runs: Sequence[Run], metric: str) -> None:
    """Draw runs beside each other that no quantity puts in order."""
    named = [pair for pair in zip(labels(runs), runs, strict=True) if pair[1].has(metric)]
    names, known = [name for name, _ in named], [run for _, run in named]
    line = {"color": theme.colours(1)[0]}
    _add(chart, names, known, ("simulated", metric), line, mode="markers")
    chart.update_xaxes(type="category")


def _add(
    chart: go.Figure,
    x: Sequence[float] | Sequence[str],
    runs: Sequence[Run],
    what: tuple[str, str],
    line: dict[str, str],
    mode: str = "lines+markers",
) -> None:
    """Draw runs at `x`: `what` is the line's name and its metric."""
    name, metric = what
    shown = FATES if metric == _SUCCESS else ((metric, "", FATES[0][2]),)
    for own, words, look in shown:
        mean = [run.mean(own) or 0.0 for run in runs]
        chart.add_scatter(
            x=x,
            y=mean,
            error_y=theme.bars(mean, [run.bounds(own) for run in runs]),
            mode=mode,
            name=f"{name}{words}",
            showlegend=not words,
            line={**line, **look["line"]},
            marker={"color": line["color"], **look["marker"]},
        )


def _printed(chart: go.Figure, runs: Sequence[Run], axis: Axis, metric: str) -> None:
    _, unit = METRICS.get(metric, ("", ""))
    rows = [row for row in published.rows() if row.target.metric == metric and row.unit == unit]
    dots = [
        (axis.at(run.place), row.value, row.id)
        for row in rows
        if row.target.statistic == "mean"
        for run in runs
        if row.target.rate_min_per_s <= run.rate_per_s <= row.target.rate_max_per_s
        if answers(run, row.target)
    ]
    if dots:
        x, y, text = zip(*dict.fromkeys(dots), strict=True)  # several lines answer one row
        marker = {"symbol": "diamond-open", "color": theme.PUBLISHED, "size": 10}
        chart.add_scatter(x=x, y=y, text=text, mode="markers", name="published", marker=marker)


def _shares(runs: Sequence[Run]) -> go.Figure:
    """Return what each part takes of the sum over all of them, beside what is printed."""
    chart = theme.figure("share, %", "")
    means = [run.mean(_PART) or 0.0 for run in runs]
    names = labels(runs, {TRANSPORT, PAYLOAD, RATE})
    shares = [100 * mean / sum(means) for mean in means]
    # Lying down, so that long names have room.
    look = {"orientation": "h", "marker_color": theme.colours(1)[0]}
    chart.add_bar(x=shares, y=names, name="simulated", **look)
    rows = [row for row in published.rows() if row.target.statistic == "share_percent"]
    printed = [next((row.value for row in rows if answers(run, row.target)), None) for run in runs]
    if any(printed):
        marker = {"symbol": "diamond-open", "color": theme.PUBLISHED, "size": 10}
        chart.add_scatter(x=printed, y=names, mode="markers", name="published", marker=marker)
    chart.update_yaxes(type="category", autorange="reversed")
    return chart


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
_PART = "task_us_mean"
_SUCCESS = "success_ratio"
_CAPTIONS = {_SUCCESS: "stored over sent; thin, with triangles: in flight at the end"}
_NAMES = {PAYLOAD: "payload", RATE: "workload asked for", TRANSPORT: "transport"}
