"""The page of a host that was compared with its own simulation: calibration plots and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.calibration.host import judging, tables
from pocketsim.report.charts import theme
from pocketsim.report.host import page_frame
from pocketsim.report.host import second_device as other_section
from pocketsim.report.host import tokens as token_section
from pocketsim.report.html.page import Page, table

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
    found.add(table(tables.POINT_HEAD, tables.point_rows(judgement.rows)))
    token_section.add(found, tokens)
    if other:
        other_section.add(found, other)
    page_frame.end(found, measured)
    return found.html()


def chart(comparison: Comparison, quantity: str) -> go.Figure:
    """Return medians, simulated over measured: predictive intervals up, repetitions across.

    Points that fitted or were dropped are hollow; what has no positive median is not drawn.
    """
    scale, unit = _SCALES[quantity]
    pairs = zip(comparison.judgement.rows, comparison.compared, strict=True)
    known = [(row, one) for row, one in pairs if _is_drawn(row.errors[quantity])]
    dots = {
        (carrier, theme.colour(carrier)): [
            _dot(row, one, quantity, scale) for row, one in known if row.point.carrier == carrier
        ]
        for carrier in sorted({row.point.carrier for row, _ in known})
    }
    return page_frame.chart(f"measured, {unit}", f"simulated, {unit}", dots)


def _dot(row: Row, one: Compared, quantity: str, scale: float) -> page_frame.Dot:
    error = row.errors[quantity]
    values = [scale * getattr(figures, quantity) for figures in one.measured]
    return page_frame.Dot(
        row.point.name,
        scale * error.measured,
        (min(values), max(values)),
        scale * error.simulated,
        (scale * error.low, scale * error.high),
        is_hollow=not row.is_judged,
    )


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
