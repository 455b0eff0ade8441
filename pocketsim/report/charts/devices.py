"""A chart of how far devices differ: each number as a ratio of the first device's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.report.charts import theme

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go

    from pocketsim.sim.devices.ratios import Ratio


def chart(first: str, ratios: Mapping[str, Sequence[Ratio]]) -> go.Figure:
    """Return a chart of the ratios of each other device to `first`; what has none is left out."""
    import plotly.graph_objects as go

    known = {
        name: [one for one in found if math.isfinite(one.ratio)] for name, found in ratios.items()
    }
    order = dict.fromkeys(_name(one) for found in known.values() for one in found)
    # Lying down, so that long names have room.
    figure = theme.figure(TITLE.format(first=first), "", _MARGIN_PX + _ROW_PX * len(order))
    ones = {"x": [1.0] * len(order), "y": list(order)}
    line = {"color": theme.FAINT, "dash": "dash", "width": 1}
    figure.add_trace(go.Scatter(**ones, mode="lines", name=first, line=line))
    for (name, found), colour in zip(known.items(), theme.colours(len(known)), strict=True):
        at = [one.ratio for one in found]
        bounds = [(one.ci95_low, one.ci95_high) for one in found]
        figure.add_trace(
            go.Scatter(
                x=at,
                y=[_name(one) for one in found],
                error_x=theme.bars(at, bounds),
                orientation="h",
                mode="markers",
                name=name,
                marker={"color": colour},
            )
        )
    names = {"categoryorder": "array", "categoryarray": list(order), "autorange": "reversed"}
    figure.update_yaxes(type="category", **names)
    ends = (
        end for found in known.values() for one in found for end in (one.ci95_low, one.ci95_high)
    )
    figure.update_xaxes(**theme.log_decades(ends))
    theme.make_room(figure)
    return figure


def _name(one: Ratio) -> str:
    return one.path.partition(".")[2].removesuffix("_s")


TITLE = "as a ratio of {first}"
_MARGIN_PX, _ROW_PX = 150, 22
