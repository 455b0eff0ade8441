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
    figure = theme.figure("", TITLE.format(first=first), _HEIGHT_PX)
    ones = {"x": list(order), "y": [1.0] * len(order)}
    line = {"color": theme.FAINT, "dash": "dash", "width": 1}
    figure.add_trace(go.Scatter(**ones, mode="lines", name=first, line=line))
    for (name, found), colour in zip(known.items(), theme.colours(len(known)), strict=True):
        at = [one.ratio for one in found]
        bounds = [(one.ci95_low, one.ci95_high) for one in found]
        figure.add_trace(
            go.Scatter(
                x=[_name(one) for one in found],
                y=at,
                error_y=theme.bars(at, bounds),
                mode="markers",
                name=name,
                marker={"color": colour},
            )
        )
    figure.update_xaxes(type="category", categoryorder="array", categoryarray=list(order))
    figure.update_yaxes(**theme.log_decades(one.ratio for found in known.values() for one in found))
    theme.make_room(figure)
    return figure


def _name(one: Ratio) -> str:
    return one.path.partition(".")[2].removesuffix("_s")


TITLE = "as a ratio of {first}"
_HEIGHT_PX = 440
