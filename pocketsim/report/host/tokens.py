"""The section of a host's page about batches of tokens: rates predicted over real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.calibration.host.tokens import tables
from pocketsim.calibration.host.tokens.judging import operation_s
from pocketsim.report.charts import theme
from pocketsim.report.host import page_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from pocketsim.calibration.host.tokens.comparing import TokenComparison
    from pocketsim.calibration.host.tokens.judging import Row
    from pocketsim.report.html.page import Page


def add(page: Page, tokens: TokenComparison) -> None:
    """Append the section: a chart and a table."""
    rows = tokens.judgement.rows
    page.section("tokens", "Tokens")
    for text in (tables.NOTE, *tokens.left_out):
        page.paragraph(text)
    page.figures([("Tokens a second", _CAPTION, chart(tokens))])
    page.add(page_frame.plain_table(tables.HEAD, tables.rows_of(rows)))


def chart(tokens: TokenComparison) -> go.Figure:
    """Return predicted rates over real ones: predictive intervals up, repetitions across.

    Batches that were dropped are hollow.
    """
    import plotly.graph_objects as go

    drawn = theme.figure("measured, tokens/s", "predicted, tokens/s")
    rows = tokens.judgement.rows
    operations = list(dict.fromkeys(row.operation for row in rows))
    for operation, colour in zip(operations, theme.colours(len(operations)), strict=True):
        some = [row for row in rows if row.operation == operation]
        drawn.add_trace(_points(some, colour, tokens))
    both = [rate for row in rows for rate in (row.rate_per_s, row.predicted_per_s)]
    line = {"color": theme.FAINT, "width": 1, "dash": "dot"}
    ends = [min(both), max(both)]
    drawn.add_trace(go.Scatter(x=ends, y=ends, mode="lines", name="equal", line=line))
    drawn.update_xaxes(type="log")
    drawn.update_yaxes(type="log")
    theme.make_room(drawn)
    return drawn


def _points(some: Sequence[Row], colour: str, tokens: TokenComparison) -> go.Scatter:
    import plotly.graph_objects as go

    real, predicted = [row.rate_per_s for row in some], [row.predicted_per_s for row in some]
    bounds = [(row.low_per_s, row.high_per_s) for row in some]
    repeated = [_range(row, tokens) for row in some]
    return go.Scatter(
        x=real,
        y=predicted,
        mode="markers",
        name=some[0].operation,
        text=[f"{row.batch.tokens} tokens, {row.batch.place}" for row in some],
        error_x=theme.bars(real, repeated, log=True),
        error_y=theme.bars(predicted, bounds, log=True),
        marker={
            "color": colour,
            "size": 8,
            "symbol": ["circle-open" if row.is_dropped else "circle" for row in some],
        },
    )


def _range(row: Row, tokens: TokenComparison) -> tuple[float, float]:
    costs = tokens.measured[row.batch]
    rates = [row.batch.tokens / operation_s(each, row.operation) for each in costs]
    return min(rates), max(rates)


_CAPTION = (
    "Upright: where 90 % of predictions are. Across: the range of real ones. Hollow: dropped as "
    "too noisy."
)
