"""How lines, dots, bars and boxes of a printed chart differ: not by colour alone.

A journal may be printed in grey. So each line has a symbol or a dash of its own, each part of a bar
and each group of boxes a hatch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pocketsim.report.charts import theme

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class LineStyle:
    """What one trace is drawn with, in matplotlib's words."""

    colour: str
    line: str | tuple[float, tuple[float, ...]]
    marker: str
    is_open: bool
    hatch: str


def line_styles(traces: Sequence[Any]) -> list[LineStyle]:
    """Return the style of each of a chart's traces, in order.

    Dashes and symbols that a chart has chosen are kept where they tell its lines apart. Traces of
    one colour and dash belong together: those after the first are in no legend, and have symbols.
    """
    kinds = list(dict.fromkeys(map(_kind, traces)))
    dashes = {dash for _, dash in kinds}
    return [
        _line_style(trace, kinds.index(_kind(trace)), has_own_dash=len(dashes) > 1)
        for trace in traces
    ]


def of_line(colour: str, dash: str, place: int) -> LineStyle:
    """Return the style of a line of that colour and dash, the one at `place` of a figure."""
    return LineStyle(colour, _LINES[dash], _MARKERS[place % len(_MARKERS)], is_open=False, hatch="")


def is_scatter(trace: Any) -> bool:
    """Return whether a trace is of lines or dots, whatever plotly draws them with."""
    return trace.type in {"scatter", "scattergl"}


def _kind(trace: Any) -> tuple[str, str]:
    return _colour(trace), _dash(trace)


def _line_style(trace: Any, place: int, *, has_own_dash: bool) -> LineStyle:
    symbol = trace.marker.symbol if is_scatter(trace) else None
    dash = _dash(trace) if has_own_dash else theme.DASHES[place % len(theme.DASHES)]
    return LineStyle(
        colour=_colour(trace),
        line=_LINES[dash],
        marker=_SYMBOLS[symbol] if symbol else _MARKERS[place % len(_MARKERS)],
        is_open=(symbol or "").endswith("-open"),
        hatch=_HATCHES[place % len(_HATCHES)],
    )


def _colour(trace: Any) -> str:
    line = trace.line.color if is_scatter(trace) else None
    return str(line or trace.marker.color or theme.INK)


def _dash(trace: Any) -> str:
    return str(trace.line.dash or "solid") if is_scatter(trace) else "solid"


_LINES: dict[str, str | tuple[float, tuple[float, ...]]] = {
    "solid": "-",
    "dash": (0, (5, 2)),
    "dot": (0, (1, 1.5)),
    "dashdot": (0, (5, 1.5, 1, 1.5)),
    "longdash": (0, (9, 2)),
}
_SYMBOLS = {
    "circle": "o",
    "diamond": "D",
    "diamond-open": "D",
    "triangle-up": "^",
    "square": "s",
    "x": "X",
    "cross": "P",
}
_MARKERS = ("o", "s", "v", "X", "P", "*", "<", ">")
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo", "----")
