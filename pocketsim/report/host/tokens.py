"""The section of a host's page about batches of tokens: rates predicted over real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.calibration.host.tokens import tables
from pocketsim.calibration.host.tokens.judging import operation_s
from pocketsim.report.charts import theme
from pocketsim.report.host import page_frame
from pocketsim.report.html.page import table

if TYPE_CHECKING:
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
    page.add(table(tables.HEAD, tables.rows_of(rows)))


def chart(tokens: TokenComparison) -> go.Figure:
    """Return predicted rates over real ones: predictive intervals up, repetitions across.

    Batches that were dropped are hollow.
    """
    rows = tokens.judgement.rows
    operations = list(dict.fromkeys(row.operation for row in rows))
    colours = theme.colours(len(operations))
    dots = {
        (operation, colour): [_dot(row, tokens) for row in rows if row.operation == operation]
        for operation, colour in zip(operations, colours, strict=True)
    }
    return page_frame.chart("measured, tokens/s", "predicted, tokens/s", dots)


def _dot(row: Row, tokens: TokenComparison) -> page_frame.Dot:
    costs = tokens.measured[row.batch]
    rates = [row.batch.tokens / operation_s(each, row.operation) for each in costs]
    return page_frame.Dot(
        f"{row.batch.tokens} tokens, {row.batch.place}",
        row.rate_per_s,
        (min(rates), max(rates)),
        row.predicted_per_s,
        (row.low_per_s, row.high_per_s),
        is_hollow=row.is_dropped,
    )


_CAPTION = (
    "Upright: where 90 % of predictions are. Across: the range of real ones. Hollow: dropped as "
    "too noisy."
)
