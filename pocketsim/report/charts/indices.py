"""A chart of how much metrics depend on the ranges of a design: bars with their 95 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.charts import theme

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def chart(found: pd.DataFrame) -> go.Figure:
    """Return a chart of what `Study.sensitivity` returns: a row for each factor and metric."""
    import plotly.graph_objects as go

    shown = [(name, text) for name, text in _NAMES.items() if name in found.columns]
    beside = [name for name in _told_apart(found) if len(set(found[name])) > 1]
    names = [
        "<br>".join([str(row["factor"]), *(f"{name} {row[name]}" for name in beside)])
        for _, row in found.iterrows()
    ]
    height_px = _MARGIN_PX + _BAR_PX * len(shown) * len(found)
    figure = theme.figure(_TITLES[shown[0][0]], "", max(height_px, _LEAST_PX))
    for (name, text), colour in zip(shown, theme.colours(len(shown)), strict=True):
        at = found[name].tolist()
        ends = zip(found[f"{name}_ci95_low"], found[f"{name}_ci95_high"], strict=True)
        error = {**theme.bars(at, list(ends), signed=True), "color": theme.PUBLISHED}
        bar = go.Bar(
            x=at, y=names, name=text, orientation="h", error_x=error, marker={"color": colour}
        )
        figure.add_trace(bar)
    figure.update_yaxes(type="category", autorange="reversed")
    figure.update_layout(barmode="group")
    theme.make_room(figure)
    return figure


def _told_apart(found: pd.DataFrame) -> list[str]:
    """Return the columns that say whose row it is, but for the factor."""
    first = next(name for name in _NAMES if name in found.columns)
    columns = list(found.columns)
    return [name for name in columns[: columns.index(first)] if name != "factor"]


_NAMES = {
    "first_order": "alone (first order)",
    "total_order": "with others (total)",
    "mu_star": "mean of absolute effects (mu*)",
    "sigma": "their spread (sigma)",
}
_TITLES = {
    "first_order": "share of the variance",
    "mu_star": "effect over the whole range, in the metric's unit",
}
_BAR_PX, _MARGIN_PX, _LEAST_PX = 22, 150, 280
