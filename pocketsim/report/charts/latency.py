"""Charts of round trips: percentiles against rate and payload, and distributions by rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.report.charts import theme
from pocketsim.report.charts.rates import asked_title
from pocketsim.report.runs.round_trips import completions, of_run
from pocketsim.report.runs.run import Run, Series, transport_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import plotly.graph_objects as go

    from pocketsim.report.runs.round_trips import RoundTrips


def against_rate(group: Sequence[Series]) -> go.Figure:
    """Return median and 95th percentile against workload, one pair of lines per series."""
    every = [run for one in group for run in one.runs]
    chart = theme.figure(asked_title(every), "round trip, ms")
    for one in group:
        _percentiles(chart, one.transport, list(one.runs), lambda run: run.asked_per_s)
        _published_spans(chart, one)
    chart.update_xaxes(**theme.log_ticks([run.asked_per_s for run in every]))
    names = ("rtt_ms_p50", "rtt_ms_p95")
    shown = [run.mean(name) for run in every for name in names]
    shown += [row.value for one in group for row in one.published(*_MEDIAN)]
    chart.update_yaxes(**theme.log_decades(shown))
    theme.make_room(chart)
    return chart


def against_payload(runs: Sequence[Run]) -> go.Figure:
    """Return median and 95th percentile against payload at one rate, by transport."""
    chart = theme.figure("payload, bytes", "round trip, ms")
    for transport in dict.fromkeys(run.transport for run in runs):
        own = [run for run in runs if run.transport == transport]
        own = sorted(own, key=lambda run: run.payload_bytes)
        _percentiles(chart, transport, own, lambda run: float(run.payload_bytes))
    chart.update_xaxes(**theme.log_ticks([float(run.payload_bytes) for run in runs]))
    chart.update_yaxes(rangemode="tozero")
    return chart


def distributions(group: Sequence[Series]) -> go.Figure:
    """Return box plots by rate: quartiles, and whiskers from the 5th to the 95th percentile."""
    every = [run for one in group for run in one.runs]
    names = [f"{rate:g}" for rate in sorted({run.asked_per_s for run in every})]
    chart = theme.figure(asked_title(every), "round trip, ms", 400)
    for one in group:
        _boxes(chart, one.transport, {f"{run.asked_per_s:g}": quantiles(run) for run in one.runs})
    return _arranged(chart, names)


def repetitions(run: Run) -> go.Figure:
    """Return a box plot for each repetition of a run: how far those are from each other."""
    trips = {str(at): found for at, found in enumerate(of_run(run).repetitions(), start=1)}
    chart = theme.figure("repetition", "round trip, ms", 400)
    _boxes(chart, run.transport, {at: _quantiles(found) for at, found in trips.items()})
    return _arranged(chart, list(trips))


def _boxes(chart: go.Figure, transport: str, boxes: Mapping[str, tuple[float, ...] | None]) -> None:
    """Draw the boxes of a transport, by their place; None has none."""
    import plotly.graph_objects as go

    known = {name: box for name, box in boxes.items() if box is not None}
    if not known:
        return
    low, first, middle, third, high = zip(*known.values(), strict=True)
    chart.add_trace(
        go.Box(
            x=list(known),
            q1=first,
            median=middle,
            q3=third,
            lowerfence=low,
            upperfence=high,
            name=transport_name(transport),
            marker_color=theme.colour(transport),
            line_width=1.4,
        )
    )


def _arranged(chart: go.Figure, names: Sequence[str]) -> go.Figure:
    """Return a chart of boxes with its axes: places in the order of `names`."""
    shown = [value for box in chart.data for value in (*box.lowerfence, *box.upperfence)]
    chart.update_xaxes(type="category", categoryorder="array", categoryarray=names)
    chart.update_yaxes(**theme.log_decades(shown))
    chart.update_layout(boxmode="group", boxgap=0.35, boxgroupgap=0.15)
    return chart


def distribution_functions(group: Sequence[Series]) -> go.Figure:
    """Return which share of round trips took no longer, with the 50th, 95th and 99th percentile.

    A line for each rate that was asked for, of at most six, spread over those that were.
    """
    chart = theme.figure("round trip, ms", "share that took no longer, %", 400)
    shown: list[float] = []
    for one, run, line in _lines(group):
        trips = of_run(run)
        if not trips.count:
            continue
        at_ms = trips.percentiles_ms(_SHARES)
        shown += at_ms.tolist()
        marked = np.isin(_SHARES, _MARKED)
        chart.add_scatter(
            x=at_ms,
            y=_SHARES,
            mode="lines+markers",
            name=_line_name(one, run),
            line=line,
            marker={"size": np.where(marked, 7, 0)},
        )
    chart.update_xaxes(**theme.log_decades(shown))
    chart.update_yaxes(range=[0, 101])
    theme.make_room(chart)
    return chart


def completion(group: Sequence[Series]) -> go.Figure:
    """Return which share of what was sent is done how long after its send: lost is never done.

    Of some repetitions it is the mean of their curves, for as long as each of them was watched. A
    line for each rate that was asked for, of at most six, spread over those that were.
    """
    chart = theme.figure("time since the send, s", "share of what was sent that is done, %", 400)
    shown: list[float] = []
    for one, run, line in _lines(group):
        # One in which nothing is ever done has no steps, and counts.
        curves = [curve for curve in completions(run) if curve.watched_s > 0]
        if not any(curve.since_s.size for curve in curves):
            continue
        watched_s = min(curve.watched_s for curve in curves)
        steps_s = np.unique(np.concatenate([curve.since_s for curve in curves]))
        at_s = np.append(steps_s[(steps_s > 0) & (steps_s < watched_s)], watched_s)
        at_s = at_s[np.unique(np.linspace(0, at_s.size - 1, _POINTS).round().astype(int))]
        shares = [[100 * curve.within(since_s) for since_s in at_s] for curve in curves]
        shown += at_s.tolist()
        # The last step holds until nobody watched any more.
        chart.add_scatter(
            x=at_s,
            y=np.mean(shares, axis=0),
            mode="lines",
            name=_line_name(one, run),
            line={**line, "shape": "hv"},
        )
    chart.update_xaxes(**theme.log_decades(shown))
    chart.update_yaxes(range=[0, 101])
    theme.make_room(chart)
    return chart


def _lines(group: Sequence[Series]) -> Iterator[tuple[Series, Run, dict[str, Any]]]:
    """Yield at most six of the runs, spread over all, with how each one's line looks.

    Its colour is that of its transport where no other line has that.
    """
    every = [(one, run) for one in group for run in one.runs]
    places = np.unique(np.linspace(0, len(every) - 1, _LINES).round().astype(int))
    chosen = [every[place] for place in places]
    transports = [one.transport for one, _ in chosen]
    colours = [theme.colour(transport) for transport in transports]
    if len({*transports}) < len(chosen):
        colours = theme.colours(len(chosen))
    looks = zip(colours, theme.dashes(len(chosen)), strict=True)
    for (one, run), (colour, dash) in zip(chosen, looks, strict=True):
        yield one, run, {"color": colour, "dash": dash, "width": 1.6}


def _line_name(one: Series, run: Run) -> str:
    return f"{transport_name(one.transport)}, {run.asked_per_s:g}/s"


def quantiles(run: Run) -> tuple[float, ...] | None:
    """Return the 5th, 25th, 50th, 75th and 95th percentile of a run's round trips, in ms."""
    return _quantiles(of_run(run))


def _quantiles(trips: RoundTrips) -> tuple[float, ...] | None:
    if not trips.count:
        return None
    return tuple(trips.percentiles_ms(_PERCENTS).tolist())


def _percentiles(
    chart: go.Figure, transport: str, runs: Sequence[Run], place: Callable[[Run], float]
) -> None:
    for metric, name, dash in (("rtt_ms_p50", "median", "solid"), ("rtt_ms_p95", "95 %", "dot")):
        known = [run for run in runs if run.has(metric)]
        mean = [run.mean(metric) or 0.0 for run in known]
        chart.add_scatter(
            x=[place(run) for run in known],
            y=mean,
            error_y=theme.bars(mean, [run.bounds(metric) for run in known]),
            mode="lines+markers",
            name=f"{transport_name(transport)}, {name}",
            line={"color": theme.colour(transport), "dash": dash, "width": 2},
            marker={"size": 6},
        )


def _published_spans(chart: go.Figure, one: Series) -> None:
    """Draw a published median across the rates that it was printed for."""
    for row in one.published(*_MEDIAN):
        span = [row.target.rate_min_per_s, row.target.rate_max_per_s]
        chart.add_scatter(
            x=span,
            y=[row.value, row.value],
            mode="lines+markers",
            name=f"{row.value:g} ms published, {transport_name(one.transport)}",
            line={"color": theme.PUBLISHED, "dash": "dash", "width": 1.4},
            marker={
                "symbol": "diamond-open",
                "size": 9,
                "color": theme.colour(one.transport),
                "line": {"width": 1.8},
            },
        )


_MEDIAN = ("rtt_ms_p50", "median")  # as published
_PERCENTS = (5, 25, 50, 75, 95)
_SHARES = np.array([*range(100), 99.5, 99.9, 100.0])
_MARKED = (50, 95, 99)
_POINTS = 500  # of a line
_LINES = 6  # that a chart can tell apart
