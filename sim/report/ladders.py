"""Charts of ladders that are not of rates: windows, buffers, threads, sizes; and shares of parts.

What belongs on the horizontal axis is found from the runs: the quantity with the most steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibration import published
from sim import axes
from sim.report import theme
from sim.report.runs import answers, is_of_trades, transport_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go

    from sim.report.runs import Run

    Chart = tuple[str, str, go.Figure]


def charts(runs: Sequence[Run]) -> list[Chart]:
    """Return the charts of one scenario's ladder, each with title and caption."""
    key = _horizontal(runs)
    title = runs[0].title
    if key is None:
        return (
            [(title, "share of the sum over all parts", _shares(runs))] if _has_shares(runs) else []
        )
    names = TRADE if is_of_trades(runs[0]) else tuple(name for name in METRICS if name not in TRADE)
    known = [name for name in names if any(_mean(run, name) is not None for run in runs)]
    return [(title, METRICS[name][0], _ladder(runs, key, name)) for name in known]


def _horizontal(runs: Sequence[Run]) -> str | None:
    """Return the key with the most values among runs that agree in everything else."""
    keys = dict.fromkeys(key for run in runs for key in run.axes)
    steps = {key: _steps(runs, key) for key in (*keys, PAYLOAD)}
    best = max(steps, key=lambda key: steps[key])
    return best if steps[best] > 1 else None


def _steps(runs: Sequence[Run], key: str) -> int:
    values: dict[Any, set[float]] = {}
    for run in runs:
        value = _value(run, key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            place = (run.transport, run.rate_per_s, *_others(run, key).items())
            values.setdefault(place, set()).add(value)
    return max(map(len, values.values()), default=0)


def _value(run: Run, key: str) -> Any:
    return run.payload_bytes if key == PAYLOAD else run.axes.get(key)


def _others(run: Run, key: str) -> Mapping[str, Any]:
    return {name: value for name, value in run.axes.items() if name != key}


def _ladder(runs: Sequence[Run], key: str, metric: str) -> go.Figure:
    what, unit = METRICS[metric]
    chart = theme.figure(axes.leaf(key).replace("_", " ") + _UNITS.get(axes.leaf(key), ""), what)
    lines: dict[str, list[Run]] = {}
    for run in runs:
        lines.setdefault(_line(run, key, runs), []).append(run)
    for (name, own), colour in zip(lines.items(), _colours(len(lines)), strict=True):
        ordered = sorted(own, key=lambda run: _value(run, key))
        chart.add_scatter(
            x=[_value(run, key) for run in ordered],
            y=[_mean(run, metric) for run in ordered],
            mode="lines+markers",
            name=name,
            line={"color": colour},
        )
    _printed(chart, runs, key, metric, unit)
    return chart


def _line(run: Run, key: str, runs: Sequence[Run]) -> str:
    """Return what tells the line of a run from the others of a chart."""
    several_transports = len({of.transport for of in runs}) > 1
    several_rates = len({of.rate_per_s for of in runs}) > 1
    parts = [
        transport_name(run.transport) if several_transports else "",
        f"{run.rate_per_s:g}/s" if several_rates else "",
        axes.words(_others(run, key)),
    ]
    return ", ".join(part for part in parts if part) or "simulated"


def _printed(chart: go.Figure, runs: Sequence[Run], key: str, metric: str, unit: str) -> None:
    rows = [row for row in published.rows() if row.target.metric == metric and row.unit == unit]
    points = [
        (_value(run, key), row.value, row.id)
        for row in rows
        if row.target.statistic == "mean"
        for run in runs
        if answers(run, row.target)
    ]
    if points:
        x, y, text = zip(*points, strict=True)
        marker = {"symbol": "diamond-open", "color": theme.PUBLISHED, "size": 10}
        chart.add_scatter(x=x, y=y, text=text, mode="markers", name="published", marker=marker)


def _has_shares(runs: Sequence[Run]) -> bool:
    return len(runs) > 1 and all(_mean(run, _PART) for run in runs)


def _shares(runs: Sequence[Run]) -> go.Figure:
    """Return what each part takes of the sum over all of them, beside what is printed."""
    chart = theme.figure("", "share, %")
    means = [_mean(run, _PART) or 0.0 for run in runs]
    names = [axes.words(run.axes) for run in runs]
    shares = [100 * mean / sum(means) for mean in means]
    chart.add_bar(x=names, y=shares, name="simulated", marker_color=_COLOURS[0])
    rows = [row for row in published.rows() if row.target.statistic == "share_percent"]
    printed = [next((row.value for row in rows if answers(run, row.target)), None) for run in runs]
    if any(printed):
        marker = {"symbol": "diamond-open", "color": theme.PUBLISHED, "size": 10}
        chart.add_scatter(x=names, y=printed, mode="markers", name="published", marker=marker)
    return chart


def _mean(run: Run, metric: str) -> float | None:
    return run.mean(metric) if metric in run.metrics["metrics"] else None


def _colours(count: int) -> list[str]:
    return [_COLOURS[number % len(_COLOURS)] for number in range(count)]


PAYLOAD = "payload"
# What is worth a chart, in words and in the unit that published rows print it in.
METRICS = {
    "task_rate_per_s": ("tasks per second", "1/s"),
    "data_rate_mb_per_s": ("data, MB/s", "MB/s"),
    "goodput_mb_per_s": ("goodput, MB/s", "MB/s"),
    "datagram_loss_ratio": ("datagrams lost / sent", "1"),
    "store_rate_per_s": ("stored per second", "1/s"),
    "rtt_ms_p50": ("median round trip, ms", "ms"),
}
TRADE = ("store_rate_per_s", "rtt_ms_p50")
_PART = "task_us_mean"
_UNITS = {
    "payload": ", bytes",
    "block": ", bytes",
    "socket_buffer": ", bytes",
    "window": ", blocks",
}
# Okabe and Ito's, as in the theme.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa4499", "#e69f00", "#56b4e9", "#117733", "#999933")
