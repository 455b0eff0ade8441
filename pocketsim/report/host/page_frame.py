"""The frame of a page that compares real trades with their simulation.

It begins with the verdict and ends with how the trades were measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pocketsim.calibration.host import tables
from pocketsim.report.charts import theme
from pocketsim.report.html.page import table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go

    from pocketsim.calibration.host.judging import Bar
    from pocketsim.report.html.page import Page


class Dot(NamedTuple):
    """What was measured, with the range of repetitions, and predicted, with its interval.

    What fitted, or was dropped, `is_hollow`.
    """

    name: str
    measured: float
    repeated: tuple[float, float]
    predicted: float
    interval: tuple[float, float]
    is_hollow: bool


def chart(x_title: str, y_title: str, dots: Mapping[tuple[str, str], Sequence[Dot]]) -> go.Figure:
    """Return what was predicted over what was measured: intervals up, repetitions across.

    Dots are by their name in the legend and their colour.
    """
    drawn = theme.figure(x_title, y_title)
    for (name, colour), some in dots.items():
        measured, predicted = [dot.measured for dot in some], [dot.predicted for dot in some]
        symbols = ["circle-open" if dot.is_hollow else "circle" for dot in some]
        drawn.add_scatter(
            x=measured,
            y=predicted,
            mode="markers",
            name=name,
            text=[dot.name for dot in some],
            error_x=theme.bars(measured, [dot.repeated for dot in some], log=True),
            error_y=theme.bars(predicted, [dot.interval for dot in some], log=True),
            marker={"color": colour, "size": 8, "symbol": symbols},
        )
    if dots:
        both = [
            at for some in dots.values() for dot in some for at in (dot.measured, dot.predicted)
        ]
        ends = [min(both), max(both)]
        line = {"color": theme.FAINT, "width": 1, "dash": "dot"}
        drawn.add_scatter(x=ends, y=ends, mode="lines", name="equal", line=line)
    drawn.update_xaxes(type="log")
    drawn.update_yaxes(type="log")
    theme.make_room(drawn)
    return drawn


def begin(found: Page, verdict: str, bars: Sequence[Bar]) -> None:
    """Append the title, the verdict, and a section of the bars, if there are any."""
    found.heading()
    found.paragraph(verdict)
    if bars:
        found.section("bars", "Bars")
        found.add(table(tables.BAR_HEAD, tables.bar_rows(bars)))


def end(found: Page, said: Sequence[str]) -> None:
    """Append the section of how it was measured, if there is anything to say."""
    if said:
        found.section("measured", "How it was measured")
    for text in said:
        found.paragraph(text)
