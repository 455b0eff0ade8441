"""What a chart shows, drawn by matplotlib: lines, dots, bars and boxes, each told apart in grey.

Axes, titles and legends are `print_figures`'. What plotly could draw and this cannot is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.report.charts import theme
from pocketsim.report.paper.line_styles import LineStyle, is_scatter, line_styles

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go
    from matplotlib.axes import Axes

    Places = dict[str, int]


@dataclass
class Marks:
    """Draws the traces of a chart into axes; what each row of bars has reached is kept here."""

    axes: Axes
    places: dict[str, Places]
    """Places of names, by the side "x" or "y"."""
    ends: np.ndarray[Any, np.dtype[np.float64]]

    @classmethod
    def of(cls, axes: Axes, chart: go.Figure) -> Marks:
        """Return those of a chart."""
        places = {side: _places(chart, side) for side in "xy"}
        row = "x" if any(map(is_upright, chart.data)) else "y"
        return cls(axes, places, np.zeros(len(places[row])))

    def draw(self, chart: go.Figure) -> list[tuple[Any, str]]:
        """Draw what a chart shows, and return what its legend names."""
        found: list[tuple[Any, str]] = []
        beside = chart.layout.barmode == "group"
        for trace, style in zip(chart.data, line_styles(chart.data), strict=True):
            alike = [other for other in chart.data if other.type == trace.type]
            turn = alike.index(trace), len(alike)
            if is_scatter(trace):
                handle = self._scatter(trace, style)
            elif trace.type == "bar":
                handle = self._bars(trace, style, turn if beside else (0, 1))
            elif trace.boxpoints == "all" and trace.pointpos == 0:
                handle = self._strip(trace, style, turn)
            else:
                handle = self._boxes(trace, style, turn)
            if trace.name and trace.showlegend is not False and len(trace.x):
                found.append((handle, trace.name))
        return found

    def _at(self, values: Sequence[Any], side: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        places = self.places[side]
        return np.array([places[value] if places else value for value in values], dtype=float)

    def _scatter(self, trace: Any, style: LineStyle) -> Any:
        x, y = (self._at(trace[side], side) for side in "xy")
        mode = trace.mode or "lines+markers"
        sizes = np.broadcast_to(np.array(_or(trace.marker.size, _MARKER_PX), dtype=float), x.shape)
        line = style.line if "lines" in mode and trace.line.width != 0 else "none"
        options: dict[str, Any] = {
            "color": style.colour,
            "linestyle": line,
            "linewidth": PT * _or(trace.line.width, _LINE_PX),
            "marker": style.marker if "markers" in mode else "none",
            "markersize": PT * float(sizes.max(initial=0.0)),
            "markevery": np.flatnonzero(sizes).tolist(),
            "markerfacecolor": "white" if style.is_open else style.colour,
            "alpha": _or(trace.opacity, trace.marker.opacity),
            "drawstyle": "steps-post" if trace.line.shape == "hv" else "default",
        }
        if "text" in mode:
            self._texts(x, y, trace)
        errors = {f"{side}err": _errors(trace[f"error_{side}"]) for side in "xy"}
        if all(error is None for error in errors.values()):
            return self.axes.plot(x, y, **options)[0]
        return self.axes.errorbar(x, y, **errors, **_ERROR_BARS, **options)

    def _texts(self, x: Any, y: Any, trace: Any) -> None:
        """Write a text beside each dot, on the side that was asked for."""
        upright, _, level = (trace.textposition or "middle center").partition(" ")
        align = {"left": "right", "right": "left"}.get(level, "center")
        offset = (_AWAY_PT * _SIDES.get(level, 0), _AWAY_PT * _SIDES.get(upright, 0))
        for one in zip(x, y, trace.text, strict=True):
            self.axes.annotate(
                f"{one[2]}", one[:2], offset, textcoords="offset points", ha=align, fontsize=6
            )

    def _bars(self, trace: Any, style: LineStyle, turn: tuple[int, int]) -> Any:
        """Draw bars, each where the one before it in its row ended; or in turn, beside each other.

        `turn` is which one this is, of how many.
        """
        upright = is_upright(trace)
        names, long = (trace.x, trace.y) if upright else (trace.y, trace.x)
        long = np.array(long, dtype=float)
        at = self._at(names, "x" if upright else "y")
        edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.4, "hatch": style.hatch}
        place, count = turn
        wide = _BAR / count
        at_middle = at + (place - (count - 1) / 2) * wide
        if count > 1 or not len(self.ends):
            starts: Any = 0.0
        else:
            starts = self.ends[at.astype(int)]
            self.ends[at.astype(int)] += long
        errors = _errors(trace.error_y if upright else trace.error_x)
        look: dict[str, Any] = {"color": style.colour, "error_kw": _ERROR_BARS, **edge}
        if upright:
            return self.axes.bar(at_middle, long, bottom=starts, width=wide, yerr=errors, **look)
        return self.axes.barh(at_middle, long, left=starts, height=wide, xerr=errors, **look)

    def _boxes(self, trace: Any, style: LineStyle, turn: tuple[int, int]) -> Any:
        """Draw boxes of one of several traces, side by side: `turn` is which one, of how many."""
        place, count = turn
        wide = _BOX / count
        stats = _told(trace) if trace.q1 is not None else _of_samples(trace)
        drawn = self.axes.bxp(
            [{**box, "fliers": []} for box in stats.values()],
            positions=[self.places["x"][name] + (place - (count - 1) / 2) * wide for name in stats],
            widths=0.8 * wide,
            patch_artist=True,
            manage_ticks=False,
            boxprops={
                "facecolor": style.colour,
                "hatch": style.hatch,
                "edgecolor": theme.INK,
                "alpha": 0.6,
            },
            medianprops={"color": theme.INK, "linewidth": 1.4},
        )
        return drawn["boxes"][0]

    def _strip(self, trace: Any, style: LineStyle, turn: tuple[int, int]) -> Any:
        """Draw a dot for each value, moved aside so that few cover each other."""
        place, count = turn
        wide = _BOX / count
        aside = (np.arange(len(trace.x)) * _GOLDEN) % 1.0 - 0.5
        x = self._at(trace.x, "x") + (place - (count - 1) / 2 + _SPREAD * aside) * wide
        dots: dict[str, Any] = {"markersize": PT * _MARKER_PX, "alpha": 0.8, "linestyle": "none"}
        y = np.array(trace.y, dtype=float)
        return self.axes.plot(x, y, color=style.colour, marker=style.marker, **dots)[0]


def check(chart: go.Figure) -> None:
    """Raise TypeError for a chart with what is not drawn."""
    if unknown := [trace.type for trace in chart.data if not _is_known(trace)]:
        raise TypeError(f"not drawn for print: {unknown}")
    if any({trace.xaxis, trace.yaxis} - {None, "x", "y"} for trace in chart.data):
        raise TypeError("not drawn for print: several plots in one figure")


def is_upright(trace: Any) -> bool:
    """Return whether a trace is of bars that stand."""
    return bool(trace.type == "bar" and trace.orientation != "h")


def _is_known(trace: Any) -> bool:
    is_box = trace.type == "box" and trace.x is not None and trace.orientation != "h"
    return is_scatter(trace) or trace.type == "bar" or is_box


def _places(chart: go.Figure, side: str) -> Places:
    """Return the places of names on an axis, in order; none on an axis of numbers."""
    order = list(chart.layout[f"{side}axis"].categoryarray or ())
    told = [
        name for trace in chart.data for name in (trace[side] if trace[side] is not None else ())
    ]
    names = [name for name in dict.fromkeys([*order, *told]) if isinstance(name, str)]
    return {name: place for place, name in enumerate(names)}


def _errors(asked: Any) -> Any:
    if asked.array is None:
        return None
    high = np.array(asked.array, dtype=float)
    low = high if asked.arrayminus is None else np.array(asked.arrayminus, dtype=float)
    return np.array([low, high])


def _told(trace: Any) -> dict[str, dict[str, float]]:
    columns = (trace.lowerfence, trace.q1, trace.median, trace.q3, trace.upperfence)
    rows = zip(*columns, strict=True)
    return {
        name: dict(zip(_BOX_KEYS, row, strict=True))
        for name, row in zip(trace.x, rows, strict=True)
    }


def _of_samples(trace: Any) -> dict[str, dict[str, float]]:
    """Return boxes of samples, as plotly draws them: whiskers reach as far as 1.5 quartile ranges.

    What lies beyond is not drawn.
    """
    values = np.array(trace.y, dtype=float)
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(trace.x):
        here = values[np.array([one == name for one in trace.x]) & np.isfinite(values)]
        q1, median, q3 = np.quantile(here, (0.25, 0.5, 0.75))
        reach = 1.5 * (q3 - q1)
        low, high = here[here >= q1 - reach].min(), here[here <= q3 + reach].max()
        row = (float(low), float(q1), float(median), float(q3), float(high))
        found[name] = dict(zip(_BOX_KEYS, row, strict=True))
    return found


def _or(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


PT = 0.6
"""Points for a pixel of the page, whose columns are wider."""
_MARKER_PX, _LINE_PX = 6, 2  # plotly's own
_BOX_KEYS = ("whislo", "q1", "med", "q3", "whishi")
_BOX, _BAR = 0.8, 0.7
_ERROR_BARS: dict[str, Any] = {"elinewidth": 0.7, "capsize": 1.8, "capthick": 0.7}
_AWAY_PT = 4.0
_SIDES = {"left": -1, "right": 1, "top": 1, "bottom": -1.8}
_GOLDEN = (5**0.5 - 1) / 2  # the multiples of no other number are spread as evenly
_SPREAD = 0.6
