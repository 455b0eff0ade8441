"""The page of a host that was compared with its own simulation: calibration plots and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.calibration.host import judging, tables
from pocketsim.report.charts import theme
from pocketsim.report.host import page_frame
from pocketsim.report.host import second_device as other_section
from pocketsim.report.host import tokens as token_section
from pocketsim.report.html.page import Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from pocketsim.calibration.host.comparing import Comparison
    from pocketsim.calibration.host.judging import Compared, Error, Row
    from pocketsim.calibration.host.other import OtherComparison
    from pocketsim.calibration.host.tokens.comparing import TokenComparison


def page(
    comparison: Comparison,
    title: str,
    said: Sequence[str],
    tokens: TokenComparison,
    other: OtherComparison | None = None,
) -> str:
    """Return the page as HTML: what came of it first, how it was measured last.

    `said` are sentences about the host and how it was measured, of which the last is the verdict.
    """
    judgement = comparison.judgement
    found = Page(title)
    *measured, verdict = said
    bars = (*judgement.bars, *tokens.judgement.bars, *(other.bars if other else ()))
    page_frame.begin(found, verdict, bars)
    found.section("points", "Predicted against measured")
    found.paragraph(tables.NOTE)
    found.figures([(name, _CAPTION, chart(comparison, key)) for key, name in _DRAWN.items()])
    found.section("rows", "Points")
    found.add(page_frame.plain_table(tables.POINT_HEAD, tables.point_rows(judgement.rows)))
    token_section.add(found, tokens)
    if other:
        other_section.add(found, other)
    page_frame.end(found, measured)
    return found.html()


def chart(comparison: Comparison, quantity: str) -> go.Figure:
    """Return medians, simulated over measured: predictive intervals up, repetitions across.

    Points that fitted or were dropped are hollow; what has no positive median is not drawn.
    """
    import plotly.graph_objects as go

    scale, unit = _SCALES[quantity]
    drawn = theme.figure(f"measured, {unit}", f"simulated, {unit}")
    pairs = zip(comparison.judgement.rows, comparison.compared, strict=True)
    known = [(row, one) for row, one in pairs if _is_drawn(row.errors[quantity])]
    for carrier in sorted({row.point.carrier for row, _ in known}):
        some = [(row, one) for row, one in known if row.point.carrier == carrier]
        drawn.add_trace(_points(some, quantity, carrier, scale))
    errors = [row.errors[quantity] for row, _ in known]
    both = [scale * value for error in errors for value in (error.measured, error.simulated)]
    if both:
        ends = [min(both), max(both)]
        line = {"color": theme.FAINT, "width": 1, "dash": "dot"}
        drawn.add_trace(go.Scatter(x=ends, y=ends, mode="lines", name="equal", line=line))
    drawn.update_xaxes(type="log")
    drawn.update_yaxes(type="log")
    theme.make_room(drawn)
    return drawn


def _points(
    some: Sequence[tuple[Row, Compared]], quantity: str, carrier: str, scale: float
) -> go.Scatter:
    import plotly.graph_objects as go

    errors = [row.errors[quantity] for row, _ in some]
    measured = [scale * error.measured for error in errors]
    simulated = [scale * error.simulated for error in errors]
    predicted = [(scale * error.low, scale * error.high) for error in errors]
    repeated = [_range(one, quantity, scale) for _, one in some]
    return go.Scatter(
        x=measured,
        y=simulated,
        mode="markers",
        name=carrier,
        text=[row.point.name for row, _ in some],
        error_x=theme.bars(measured, repeated, log=True),
        error_y=theme.bars(simulated, predicted, log=True),
        marker={
            "color": theme.colour(carrier),
            "size": 8,
            "symbol": ["circle" if row.is_judged else "circle-open" for row, _ in some],
        },
    )


def _range(one: Compared, quantity: str, scale: float) -> tuple[float, float]:
    values = [scale * getattr(figures, quantity) for figures in one.measured]
    return min(values), max(values)


def _is_drawn(error: Error) -> bool:
    values = (error.measured, error.simulated, error.low, error.high)
    return all(math.isfinite(value) and value > 0 for value in values)


_DRAWN = {
    judging.RTT_P50: "Round trips, median",
    judging.RTT_P95: "Round trips, 95th percentile",
    judging.STORE_RATE: "Stores",
}
_SCALES = {
    judging.RTT_P50: (1000.0, "ms"),
    judging.RTT_P95: (1000.0, "ms"),
    judging.STORE_RATE: (1.0, "1/s"),
}
_CAPTION = (
    "Upright: where 90 % of simulated medians are, each of as many repetitions as were measured. "
    "Across: the range of real repetitions. Hollow: of nulls, or dropped as too noisy."
)
