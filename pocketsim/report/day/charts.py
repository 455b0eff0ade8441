"""Charts of a day by bins of time: who was on and reachable, and what became of what was asked.

Values are means over the repetitions of a run; what they are, `sim.plan.day` and
`sim.metrics.fates` say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.report.charts import theme
from pocketsim.report.runs.run import is_of_payments, is_of_trades
from pocketsim.report.sections import fates as fate_words
from pocketsim.sim.metrics import fates
from pocketsim.sim.metrics.family_metrics import traced_share
from pocketsim.sim.plan.day import SHORT_S, edges_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from pocketsim.report.runs.run import Run
    from pocketsim.sim.base.streams import Floats
    from pocketsim.sim.trace.columns import Columns

    Chart = tuple[str, str, go.Figure]


def charts(run: Run, parts: Sequence[Columns] | None) -> list[Chart]:
    """Return the charts of a run with a day; `parts` are its events, None where none are kept."""
    found = [("Phones on, and reachable", _ON, _on(run))]
    if run.metrics["day"][0]["asked_count"] is not None:
        caption = "in each bin of time"
        if parts and has_fates(run):
            caption = _PAID if is_of_payments(run) else _ASKED
        found.append(("What was asked for", caption, _asked(run, parts)))
    return found


def has_fates(run: Run) -> bool:
    """Tell whether each thing that was sent has a fate: a trade, or a payment."""
    return is_of_trades(run) or is_of_payments(run)


def hourly(run: Run) -> list[tuple[float, float, float, float]]:
    """Return of each hour of the first repetition begin and end in hours, and shares of phones.

    The shares are of those on, and of those reachable.
    """
    day, duration_s = run.metrics["day"][0], run.resolved["run"]["duration_s"]
    bins_s = edges_s(duration_s)
    hours_s = np.append(np.arange(0, duration_s, _HOUR_S), duration_s)
    shares = []
    for name in ("on_share", "reachable_share"):
        so_far_s = np.append(0.0, np.cumsum(np.array(day[name]) * np.diff(bins_s)))
        shares.append(np.diff(np.interp(hours_s, bins_s, so_far_s)) / np.diff(hours_s))
    ends = hours_s / _HOUR_S
    columns = (ends[:-1], ends[1:], *shares)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _on(run: Run) -> go.Figure:
    chart, middles = _chart(run, "% of phones")
    days = run.metrics["day"]
    names = list(days[0]["reachable_share_by_access"])
    for name, colour in zip(names, theme.colours(len(names)), strict=True):
        share = _mean([day["reachable_share_by_access"][name] for day in days])
        if share.any():
            chart.add_scatter(
                x=middles,
                y=(100 * share).tolist(),
                mode="lines",
                stackgroup="reachable",
                name=f"reachable by {name}",
                line={"color": colour, "width": 1},
            )
    on = (100 * _mean([day["on_share"] for day in days])).tolist()
    line = {"color": theme.FAINT, "dash": "dot"}
    chart.add_scatter(x=middles, y=on, mode="lines", name="on", line=line)
    chart.update_yaxes(range=[0, 103])
    return chart


def _asked(run: Run, parts: Sequence[Columns] | None) -> go.Figure:
    chart, middles = _chart(run, "in each bin, mean of repetitions")
    if parts and has_fates(run):
        widths = (_unit(run) * np.diff(edges_s(run.resolved["run"]["duration_s"]))).tolist()
        for fate, counts in _outcomes(run, parts).items():
            chart.add_bar(
                x=middles,
                y=counts.tolist(),
                width=widths,
                name=fate_words.words(fate),
                marker={"color": fate_words.colour(fate), "line": {"width": 0}},
            )
    asked = _mean([day["asked_count"] for day in run.metrics["day"]]).tolist()
    line = {"color": theme.FAINT, "dash": "dot"}
    chart.add_scatter(x=middles, y=asked, mode="lines", name="asked for", line=line)
    chart.update_layout(barmode="stack", bargap=0)
    theme.make_room(chart)
    return chart


def _outcomes(run: Run, parts: Sequence[Columns]) -> dict[str, Floats]:
    """Return what became of what was sent in each bin, done first, then losses by their causes."""
    bins_s = edges_s(run.resolved["run"]["duration_s"])
    found: dict[str, Floats] = {}
    for part in parts:
        sent = part.of_kind("send")
        message, first = np.unique(sent.message, return_index=True)
        ended = fates.each(part, message)
        several = {
            fate_words.STORED: ended.stored,
            **ended.lost,
            fate_words.IN_FLIGHT: ended.in_flight,
        }
        for reason, some in several.items():
            time_s = sent.time_s[first[np.searchsorted(message, some)]]
            count = (
                np.histogram(time_s, bins_s)[0] / traced_share(run.resolved["output"]) / len(parts)
            )
            fate = fate_words.cause_of(reason)
            found[fate] = found.get(fate, np.zeros(count.size)) + count
    known = {fate: count for fate, count in found.items() if count.any()}
    first_of = {fate_words.STORED: 0, fate_words.IN_FLIGHT: 1}
    return dict(sorted(known.items(), key=lambda one: (first_of.get(one[0], 2), -one[1].sum())))


def _chart(run: Run, y_title: str) -> tuple[go.Figure, list[float]]:
    """Return an empty chart over the time of a run, and the middles of its bins."""
    unit = "h" if _unit(run) == 1 / _HOUR_S else "min"
    chart = theme.figure(f"time since the start, {unit}", y_title)
    bins_s = edges_s(run.resolved["run"]["duration_s"])
    ends = _unit(run) * bins_s
    chart.update_xaxes(range=[0, float(ends[-1])], zeroline=False)
    chart.update_yaxes(rangemode="tozero")
    return chart, ((ends[1:] + ends[:-1]) / 2).tolist()


def _unit(run: Run) -> float:
    """Return what a second is on the axis of time: hours, of short runs minutes."""
    return 1 / 60.0 if run.resolved["run"]["duration_s"] < SHORT_S else 1 / _HOUR_S


def _mean(rows: Sequence[Sequence[float]]) -> Floats:
    found: Floats = np.mean(np.array(rows, dtype=float), axis=0)
    return found


_HOUR_S = 3600.0
_ON = (
    "mean over the time of each bin, as planned. A phone is reachable while it is on and its "
    "access network is in no outage; NATs and interruptions are not in it"
)
_ASKED = (
    "by the bin in which it was sent. What lies between the bars and the line was not sent: a "
    "phone was off"
)
_PAID = f"{_ASKED}, or the wallet did not hold the amount"
