"""How charts look: colours and the layout that all of them share. The page is in style.css.

Colours are Okabe and Ito's, which stay apart for colour-blind readers and in grey print.
"""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import plotly.graph_objects as go

TRANSPORT_COLOURS = {
    "udp": "#0072b2",
    "quic_keep": "#d55e00",
    "quic_reconnect": "#009e73",
    "tftp": "#aa4499",
    "eva": "#117733",
}
SEND = "#8a97a6"
PUBLISHED = "#75818d"  # to be seen on a white and on a dark ground
INK, FAINT, GRID = "#1d2733", "#5b6875", "#e6eaee"
BASIS_COLOURS = {
    "measured": "#007a58",
    "published": "#0065a0",
    "proxy": "#35708f",
    "fitted": "#8a5a00",
    "assumed": "#a84300",
}
GOOD, BAD, NEUTRAL = "#0b7a5a", "#b3261e", "#5b6875"

_LABELS = 14  # numbers of four digits that fit beside each other under half a page

# Dragging zooms and a double click resets; the row of buttons would cover the chart's top.
PLOT_OPTIONS = {
    "responsive": True,
    "plotlyServerURL": "",
    "displaylogo": False,
    # Shown when the mouse is over a chart: it saves the picture.
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg"},
}


def colour(transport: str) -> str:
    """Return the colour of a transport; grey for one that has none."""
    return TRANSPORT_COLOURS.get(transport, NEUTRAL)


def figure(x_title: str, y_title: str, height_px: int = 360) -> go.Figure:
    """Return an empty chart with the report's axes, fonts and legend below the plot."""
    import plotly.graph_objects as go

    chart = go.Figure()
    axis = {
        "gridcolor": GRID,
        "linecolor": FAINT,
        "zerolinecolor": GRID,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": FAINT,
        "automargin": True,
    }
    chart.update_layout(
        template="none",
        height=height_px,
        autosize=True,
        # On the right is room for half of an axis's last number: plotly leaves it out otherwise.
        margin={"l": 62, "r": 24, "t": 12, "b": 84},
        font={"family": FONT, "size": 13, "color": INK},
        # The page shows through, be it light or dark.
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        # At the bottom, below whatever the axis needs: on a phone its labels stand upright.
        legend={
            "orientation": "h",
            "yref": "container",
            "yanchor": "bottom",
            "y": 0,
            "x": 0,
            "font": {"size": 12},
            "itemwidth": 30,
        },
        hoverlabel={"font": {"family": FONT}},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": FAINT, "activecolor": FAINT},
        xaxis={**axis, "title": {"text": x_title, "standoff": 8, "font": {"size": 13}}},
        yaxis={**axis, "title": {"text": y_title, "standoff": 10, "font": {"size": 13}}},
    )
    return chart


def colours(count: int) -> list[str]:
    """Return `count` colours for lines that have none of their own."""
    return [_COLOURS[number % len(_COLOURS)] for number in range(count)]


def bars(
    middle: Sequence[float],
    bounds: Sequence[tuple[float, float] | None],
    *,
    log: bool = False,
    signed: bool = False,
) -> dict[str, Any]:
    """Return error bars from lower to upper bound, as far from `middle` as each is.

    What is not `signed` cannot be negative, so bars end at 0; on a logarithmic axis, which has no
    0, at 5 % of the middle.
    """
    known = [bound or (at, at) for at, bound in zip(middle, bounds, strict=True)]
    above = [max(0.0, high - at) for at, (_, high) in zip(middle, known, strict=True)]
    below = [max(0.0, at - low) for at, (low, _) in zip(middle, known, strict=True)]
    if not signed:
        most = _LOG_BAR if log else 1.0
        below = [min(part, most * at) for part, at in zip(below, middle, strict=True)]
    sides = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
    return {**sides, "thickness": 1.2, "width": 3}


def dashes(count: int) -> list[str]:
    """Return as many dashes, so that a line shows under another that lies on it."""
    return [DASHES[number % len(DASHES)] for number in range(count)]


def wrapped(name: str) -> str:
    """Return a name in lines as long as a phone's screen has room for beside a chart."""
    return "<br>".join(textwrap.wrap(name, NAME_LETTERS))


def make_room(chart: go.Figure) -> None:
    """Make a chart higher by the rows that its legend has beyond two, half a page wide."""
    names = [len(trace.name or "") for trace in chart.data if trace.showlegend is not False]
    across = max(1, _LEGEND_PX // (_SYMBOL_PX + _LETTER_PX * max(names, default=1)))
    more_px = _ROW_PX * max(0, -(-len(names) // across) - _ROWS)
    margin = {**chart.layout.margin.to_plotly_json(), "b": chart.layout.margin.b + more_px}
    chart.update_layout(height=chart.layout.height + more_px, margin=margin)


def log_ticks(values: list[float], most: int = _LABELS) -> dict[str, Any]:
    """Return an axis that is logarithmic and labelled at `values`, at most so many of them."""
    shown = sorted({value for value in values if value > 0})
    apart = (shown[-1] / shown[0]) ** (1 / most) if shown else 1.0
    kept: list[float] = []
    for value in shown:
        if not kept or value / kept[-1] >= apart:
            kept.append(value)
    return {"type": "log", "tickvals": kept, "ticktext": [f"{value:g}" for value in kept]}


def log_decades(values: Iterable[float | None]) -> dict[str, Any]:
    """Return a logarithmic axis for `values`, labelled in full numbers, finer for a short span."""
    known = [value for value in values if value and math.isfinite(value)]
    span = max(known) / min(known) if known else 1.0
    digits = next(digits for at_least, digits in _DIGITS if span >= at_least)
    ticks = [digit * 10.0**power for power in range(-4, 7) for digit in digits]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{value:g}" for value in ticks]}


FONT = '"Inter", "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif'
# Labels of a decade, by how much of them an axis spans: none is left with one or two.
_DIGITS = (
    (1000.0, (1,)),
    (30.0, (1, 2, 5)),
    (4.0, (1, 1.5, 2, 3, 5, 7)),
    (1.0, (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9)),
)
_LOG_BAR = 0.95
# Okabe and Ito's.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa4499", "#e69f00", "#56b4e9", "#117733", "#999933")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_LEGEND_PX, _SYMBOL_PX, _LETTER_PX, _ROW_PX = 400, 50, 6, 19
NAME_LETTERS = 24
_ROWS = 2  # rows of a legend that fit below a chart as it is
