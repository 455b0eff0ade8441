"""Charts of what was sent, stored and delivered, beside what was published."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pocketsim.report.charts import theme
from pocketsim.report.runs.run import Run, Series, transport_name
from pocketsim.sim.metrics import COMPLETE_FROM, STALLED_BELOW
from pocketsim.sim.scenario.resolved import comes_and_goes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from pocketsim.calibration.validate import published


def rates(series: Series) -> go.Figure:
    """Return send and store rate against workload, all over all phones, on logarithmic axes."""
    chart = theme.figure(asked_title(series.runs), f"per second{_phones(series.runs)}")
    asked = [run.asked_per_s for run in series.runs]
    # Phones that are off ask for nothing.
    name = (
        "asked for, were all phones on" if comes_and_goes(series.runs[0].resolved) else "asked for"
    )
    line = {"color": "#c3cbd3", "dash": "dot"}
    chart.add_scatter(x=asked, y=asked, mode="lines+markers", marker_size=3, name=name, line=line)
    colours = (("send_rate_per_s", "sent", theme.SEND), ("store_rate_per_s", "stored", None))
    for metric, name, shade in colours:
        colour = shade or theme.colour(series.transport)
        _simulated(chart, series, metric, name, colour)
        _published(chart, series.published(metric), name, colour)
    chart.update_xaxes(**theme.log_ticks(asked))
    shown = _shown(series)
    room = [math.log10(min(shown) / 2), math.log10(max(shown) * 1.6)] if shown else None
    chart.update_yaxes(**theme.log_decades(shown), range=room)
    return chart


def success(group: Sequence[Series]) -> go.Figure:
    """Return the share of transactions stored against workload, one line for each series."""
    every = [run for one in group for run in one.runs]
    chart = theme.figure(asked_title(every), "share of what was sent")
    for one in group:
        line = {"color": theme.colour(one.transport), "dash": _dash(one, group)}
        for metric, words, look in FATES:
            runs = [run for run in one.runs if run.has(metric)]
            share = [run.mean(metric) or 0.0 for run in runs]
            chart.add_scatter(
                x=[run.asked_per_s for run in runs],
                y=share,
                error_y=theme.bars(share, [run.bounds(metric) for run in runs]),
                mode="lines+markers",
                name=f"{_short(one, group)}{words}",
                showlegend=not words,
                line={**line, **look["line"]},
                marker=look["marker"],
            )
    chart.update_xaxes(**theme.log_ticks([run.asked_per_s for run in every]))
    chart.update_yaxes(range=[-0.04, 1.06], tickformat=".0%")
    theme.make_room(chart)
    return chart


def asked_title(runs: Sequence[Run]) -> str:
    """Return the title of an axis of workloads, over all phones if several send."""
    return f"rate asked for, messages per second{_phones(runs)}"


def outcomes(series: Series) -> go.Figure:
    """Return the share stored by every single run, simulated beside published."""
    chart = theme.figure(asked_title(series.runs), "stored / sent, each run", 400)
    places = {run.rate_per_s: place for place, run in enumerate(series.runs)}
    chart.add_hrect(y0=-0.06, y1=STALLED_BELOW, fillcolor="#f7dfd3", line_width=0, layer="below")
    chart.add_hrect(y0=COMPLETE_FROM, y1=1.08, fillcolor="#dcefe9", line_width=0, layer="below")
    for name, dots, colour, symbol in (
        (
            "simulated runs",
            _simulated_runs(series, places),
            theme.colour(series.transport),
            "circle",
        ),
        ("published runs", _published_runs(series, places), theme.PUBLISHED, "diamond-open"),
    ):
        marker = {"color": colour, "symbol": symbol, "size": 9, "line": {"width": 1.6}}
        x, y, text = ([dot[part] for dot in dots] for part in range(3))
        chart.add_scatter(x=x, y=y, text=text, mode="markers", name=name, marker=marker)
    ticks = [f"{run.asked_per_s:g}" for run in series.runs]
    chart.update_xaxes(
        tickvals=list(places.values()), ticktext=ticks, showgrid=False, zeroline=False
    )
    chart.update_yaxes(range=[-0.06, 1.08], tickformat=".0%")
    return chart


def block_sizes(series: Series) -> go.Figure:
    """Return smallest, mean and largest stored block against workload, in bytes."""
    chart = theme.figure(asked_title(series.runs), "stored block, bytes")
    runs = [run for run in series.runs if run.mean("stored_block_bytes_mean") is not None]
    colour = theme.colour(series.transport)
    mean, least, most = (
        [run.mean(f"stored_block_bytes_{name}") or 0.0 for run in runs]
        for name in ("mean", "min", "max")
    )
    chart.add_scatter(
        x=[run.asked_per_s for run in runs],
        y=mean,
        error_y=theme.bars(mean, list(zip(least, most, strict=True))),
        mode="markers",
        name="simulated: mean, smallest to largest",
        marker={"color": colour, "size": 8},
    )
    rows = series.published("stored_block_bytes_mean", "run")
    chart.add_scatter(
        x=[row.target.rate_min_per_s * _NUDGE for row in rows],
        y=[row.value for row in rows],
        mode="markers",
        name="published means, each run",
        marker=_open(theme.PUBLISHED),
    )
    chart.update_xaxes(**theme.log_ticks([run.asked_per_s for run in series.runs]))
    return chart


def _phones(runs: Sequence[Run]) -> str:
    return ", all phones" if any(run.senders > 1 for run in runs) else ""


def _simulated(chart: go.Figure, series: Series, metric: str, name: str, colour: str) -> None:
    # A logarithmic axis has no place for 0: runs that stored nothing are in the success chart.
    runs = [run for run in series.runs if run.mean(metric)]
    mean = [run.mean(metric) or 0.0 for run in runs]
    chart.add_scatter(
        x=[run.asked_per_s for run in runs],
        y=mean,
        error_y=theme.bars(mean, [run.bounds(metric) for run in runs], log=True),
        mode="lines+markers",
        name=f"{name}, simulated",
        # What was stored often lies on what was sent: the wide line stays visible under it.
        line={"color": colour, "width": 6 if name == "sent" else 2},
        opacity=0.55 if name == "sent" else 1.0,
        marker={"size": 6},
    )


def _published(chart: go.Figure, rows: Sequence[published.Row], name: str, colour: str) -> None:
    if not rows:
        return
    values = [row.value or 0.0 for row in rows]
    chart.add_scatter(
        x=[row.target.rate_min_per_s * _NUDGE for row in rows],
        y=values,
        error_y=theme.bars(values, [_printed(row) for row in rows], log=True),
        mode="markers",
        name=f"{name}, published",
        marker=_open(colour if name == "sent" else theme.PUBLISHED),
    )


def _simulated_runs(series: Series, places: dict[float, int]) -> list[tuple[float, float, str]]:
    dots = []
    for run in series.runs:
        shares = [(value, f"{value:.1%} of run {at}") for at, value in enumerate(_shares(run))]
        dots += [
            (places[run.rate_per_s] - _SIDE + _spread(at, len(shares)), share, text)
            for at, (share, text) in enumerate(shares)
        ]
    return dots


def _shares(run: Run) -> list[float]:
    pairs = zip(run.values("store_count"), run.values("send_count"), strict=True)
    return [stored / sent if sent else 0.0 for stored, sent in pairs]


def _published_runs(series: Series, places: dict[float, int]) -> list[tuple[float, float, str]]:
    """Return stores over sends; sends of a single run are not printed, so their mean rate is."""
    sent = {row.target.rate_min_per_s: row.value for row in series.published("send_rate_per_s")}
    dots = []
    for row in series.published("store_count", "run"):
        rate, run = row.target.rate_min_per_s, row.run or 0
        if rate in places and sent.get(rate):
            whole = (sent[rate] or 0.0) * series.runs[0].resolved["run"]["duration_s"]
            share = min(1.0, (row.value or 0.0) / whole)
            text = f"{row.value:g} blocks, run {run}"
            dots.append((places[rate] + _SIDE + _spread(run, _RUNS), share, text))
    return dots


def _spread(at: int, count: int) -> float:
    """Return a fixed sideways shift, so that equal dots stand side by side."""
    return 0.0 if count < 2 else (at / (count - 1) - 0.5) * _WIDTH  # noqa: PLR2004 - one dot is centred


def _short(one: Series, group: Sequence[Series]) -> str:
    """Return a name without the payload when all have the same."""
    several = len({other.payload_bytes for other in group}) > 1
    return one.name if several else transport_name(one.transport)


def _dash(one: Series, group: Sequence[Series]) -> str:
    payloads = sorted({other.payload_bytes for other in group})
    return theme.dashes(len(payloads))[payloads.index(one.payload_bytes)]


def _printed(row: published.Row) -> tuple[float, float] | None:
    """Return a row's interval as its authors print it, around its value."""
    value = row.value or 0.0
    return (value - row.ci95, value + row.ci95) if row.ci95 else None


def _open(colour: str) -> dict[str, Any]:
    return {"symbol": "diamond-open", "size": 9, "color": colour, "line": {"width": 1.8}}


def _shown(series: Series) -> list[float]:
    """Return every mean of a chart of rates; its axis holds them, intervals may be cut."""
    means = [run.mean(f"{name}_rate_per_s") for run in series.runs for name in ("send", "store")]
    means += [run.asked_per_s for run in series.runs if run.senders > 1]
    rows = [*series.published("send_rate_per_s"), *series.published("store_rate_per_s")]
    return [value for value in [*means, *(row.value for row in rows)] if value]


# What a chart of success shows: a share that is not stored may still be on its way. Legends name
# the first, captions say which the second is.
FATES: tuple[tuple[str, str, dict[str, dict[str, Any]]], ...] = (
    ("success_ratio", "", {"line": {}, "marker": {"size": 6}}),
    (
        "in_flight_ratio",
        ", in flight at the end",
        {"line": {"width": 1}, "marker": {"size": 7, "symbol": "triangle-up"}},
    ),
)
_NUDGE = 1.035  # published dots stand a little to the right of simulated ones
_SIDE, _WIDTH, _RUNS = 0.18, 0.24, 5
