"""A chart of the report as a figure for print: a plotly chart, drawn by matplotlib.

What a chart shows is decided where it is made (`rates`, `latency`, ...) and stays. Its look
changes: it is as wide as a column of a journal, needs no colour to be read, and says everything
without a mouse. Features of plotly that no chart of the report uses are an error here.
"""

from __future__ import annotations

import importlib.util
import io
import itertools
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.report.charts import theme
from pocketsim.report.paper.line_styles import LineStyle, line_styles
from pocketsim.sim.base.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import plotly.graph_objects as go
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    Places = dict[str, int]
    Handle = tuple[Any, str]

SINGLE_IN, DOUBLE_IN = 3.5, 7.2
"""Widths of a column and of a page of two, in inches."""


def pictures(
    chart: go.Figure, caption: str, width_in: float, forms: Sequence[str] = ("svg", "pdf")
) -> dict[str, bytes]:
    """Return a chart as files by suffix, as ".svg"; the same bytes for the same chart.

    Their text is in the file: as outlines in SVG, as TrueType in PDF. Needs matplotlib.
    """
    with style():
        figure = drawn(chart, caption, width_in)
        return {f".{form}": saved(figure, form) for form in forms}


def picture(chart: go.Figure, form: str) -> bytes:
    """Return a chart as one file as wide as a page: "svg" or "pdf".

    Raises EnvironmentMissingError without matplotlib.
    """
    check()
    return pictures(chart, "", DOUBLE_IN, [form])[f".{form}"]


def check() -> None:
    """Raise EnvironmentMissingError unless matplotlib is there."""
    if importlib.util.find_spec("matplotlib") is None:
        raise EnvironmentMissingError(_MISSING)


def style() -> AbstractContextManager[None]:
    """Return what has to be in effect while figures are drawn and saved, whoever set what else."""
    import matplotlib.style

    return matplotlib.style.context(["default", _STYLE])


def drawn(chart: go.Figure, caption: str, width_in: float) -> Figure:
    """Return a chart as a figure of that width; what its axis of values lacks, the caption says."""
    from matplotlib.figure import Figure

    if unknown := [trace.type for trace in chart.data if not _is_known(trace)]:
        raise TypeError(f"not drawn for print: {unknown}")
    figure = Figure(figsize=(width_in, _height_in(chart)), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    places = {side: _places(chart, side) for side in "xy"}
    for shape in chart.layout.shapes:
        _shade(axes, shape)
    handles = _traces(axes, chart, places)
    words = caption, int(_LETTERS_PER_IN * width_in)
    for side, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        _arrange(axes, axis, chart.layout[f"{side}axis"], places[side], words)
    if len(handles) >= (1 if chart.layout.showlegend else 2):
        legend_below(figure, handles)
    _thin(figure, axes)
    for note, shape in zip(chart.layout.annotations, chart.layout.shapes, strict=False):
        _note(axes, note, shape)
    return figure


def saved(figure: Figure, form: str) -> bytes:
    """Return a figure as a file, "svg" or "pdf", without a date; within `style`."""
    file = io.BytesIO()
    figure.savefig(file, format=form, metadata=_METADATA[form])
    return file.getvalue()


def _height_in(chart: go.Figure) -> float:
    bars = [trace for trace in chart.data if trace.type == "bar" and trace.orientation == "h"]
    if not bars:
        return _HEIGHT_IN
    lines: int = sum(1 + name.count("<br>") for name in bars[0].y)
    return _FRAME_IN + _LINE_IN * lines


def _places(chart: go.Figure, side: str) -> Places:
    """Return the places of names on an axis, in order; none on an axis of numbers."""
    order = list(chart.layout[f"{side}axis"].categoryarray or ())
    told = [
        name for trace in chart.data for name in (trace[side] if trace[side] is not None else ())
    ]
    names = [name for name in dict.fromkeys([*order, *told]) if isinstance(name, str)]
    return {name: place for place, name in enumerate(names)}


def _at(values: Sequence[Any], places: Places) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([places[value] if places else value for value in values], dtype=float)


def _shade(axes: Axes, shape: Any) -> None:
    style: dict[str, Any] = {"facecolor": shape.fillcolor, "linewidth": 0, "zorder": 0}
    if shape.xref.endswith("domain"):
        axes.axhspan(shape.y0, shape.y1, **style)
    else:
        axes.axvspan(shape.x0, shape.x1, **style)


def _note(axes: Axes, note: Any, shape: Any) -> None:
    """Write what a shaded span is: across its top, or where it is narrow along its left edge."""
    style: dict[str, Any] = {"va": "top", "fontsize": 6, "color": _FAINT}
    text = axes.text(note.x, 0.97, f" {note.text}", transform=axes.get_xaxis_transform(), **style)
    start, end = (axes.transData.transform((x, 0))[0] for x in (shape.x0, shape.x1))
    if text.get_window_extent().width > end - start:
        text.set_rotation(90)


def _traces(axes: Axes, chart: go.Figure, places: Mapping[str, Places]) -> list[Handle]:
    """Draw what a chart shows, and return what its legend names."""
    found: list[Handle] = []
    ends = np.zeros(len(places["y"]))
    boxes = [trace for trace in chart.data if trace.type == "box"]
    for trace, style in zip(chart.data, line_styles(chart.data), strict=True):
        if trace.type == "scatter":
            handle = _scatter(axes, trace, style, places)
        elif trace.type == "bar":
            handle = _bars(axes, trace, style, places["y"], ends)
        else:
            handle = _boxes(axes, trace, style, places["x"], (boxes.index(trace), len(boxes)))
        if trace.name and trace.showlegend is not False and len(trace.x):
            found.append((handle, in_lines(trace.name, _NAME_LETTERS)))
    return found


def _is_known(trace: Any) -> bool:
    return trace.type in {"scatter", "box"} or (trace.type == "bar" and trace.orientation == "h")


def _scatter(axes: Axes, trace: Any, style: LineStyle, places: Mapping[str, Places]) -> Any:
    x, y = (_at(trace[side], places[side]) for side in "xy")
    mode = trace.mode or "lines+markers"
    sizes = np.broadcast_to(np.array(_or(trace.marker.size, _MARKER_PX), dtype=float), x.shape)
    line = style.line if "lines" in mode and trace.line.width != 0 else "none"
    options: dict[str, Any] = {
        "color": style.colour,
        "linestyle": line,
        "linewidth": _PT * _or(trace.line.width, _LINE_PX),
        "marker": style.marker if "markers" in mode else "none",
        "markersize": _PT * float(sizes.max(initial=0.0)),
        "markevery": np.flatnonzero(sizes).tolist(),
        "markerfacecolor": "white" if style.is_open else style.colour,
        "alpha": trace.opacity,
    }
    high, low = trace.error_y.array, trace.error_y.arrayminus
    if high is None:
        return axes.plot(x, y, **options)[0]
    bars: dict[str, Any] = {"elinewidth": 0.7, "capsize": 1.8, "capthick": 0.7}
    return axes.errorbar(x, y, yerr=np.array([low, high], dtype=float), **bars, **options)


def _bars(axes: Axes, trace: Any, style: LineStyle, places: Places, ends: Any) -> Any:
    """Draw bars that lie, each where the one before it in its row ended."""
    at, long = [places[name] for name in trace.y], np.array(trace.x, dtype=float)
    edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.4, "hatch": style.hatch}
    handle = axes.barh(at, long, left=ends[at], height=0.7, color=style.colour, **edge)
    ends[at] += long
    return handle


def _boxes(axes: Axes, trace: Any, style: LineStyle, places: Places, turn: tuple[int, int]) -> Any:
    """Draw boxes of one of several traces, side by side: `turn` is which one, of how many."""
    place, count = turn
    wide = _BOX / count
    keys = ("whislo", "q1", "med", "q3", "whishi")
    columns = (trace.lowerfence, trace.q1, trace.median, trace.q3, trace.upperfence)
    stats = [
        {**dict(zip(keys, row, strict=True)), "fliers": []} for row in zip(*columns, strict=True)
    ]
    drawn = axes.bxp(
        stats,
        positions=[places[name] + (place - (count - 1) / 2) * wide for name in trace.x],
        widths=0.8 * wide,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": style.colour, "hatch": style.hatch, "edgecolor": _INK, "alpha": 0.6},
        medianprops={"color": _INK, "linewidth": 1.4},
    )
    return drawn["boxes"][0]


def _arrange(axes: Axes, axis: Axis, asked: Any, places: Places, words: tuple[str, int]) -> None:
    """Give an axis its title, scale, range and ticks; `words`: a caption, letters of a line."""
    caption, letters = words
    is_x = axis is axes.xaxis
    title = asked.title.text or ("" if places else caption)
    axis.set_label_text(in_lines(title.replace("<br>", " "), letters if is_x else _UPRIGHT_LETTERS))
    if asked.showgrid is not False and not (places and is_x):
        axis.grid(visible=True, color=_GRID, linewidth=0.6)
    if asked.type == "log":
        (axes.set_xscale if is_x else axes.set_yscale)("log")
    _limit(axes, asked, is_x=is_x)
    if asked.autorange == "reversed":
        axis.set_inverted(inverted=True)
    if places:
        # Beside each other they share the width.
        room = max(_SHORTEST, letters // len(places)) if is_x else letters
        room = min(theme.NAME_LETTERS, room)
        names = [in_lines(name.replace("<br>", " "), room) for name in places]
        axis.set_ticks(list(places.values()), names)
        axis.set_tick_params(length=0)
    else:
        _ticks(axis, asked)


def _limit(axes: Axes, asked: Any, *, is_x: bool) -> None:
    limit = axes.set_xlim if is_x else axes.set_ylim
    if asked.range is not None:
        low, high = asked.range
        limit(*((10**low, 10**high) if asked.type == "log" else (low, high)))
    elif asked.rangemode == "tozero":
        interval = axes.dataLim.intervalx if is_x else axes.dataLim.intervaly
        limit(0, _ROOM * max(interval))


def _ticks(axis: Axis, asked: Any) -> None:
    from matplotlib import ticker

    if asked.type == "log":
        axis.set_minor_locator(ticker.NullLocator())
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    if asked.tickvals is not None:
        low, high = sorted(axis.get_view_interval())
        named = zip(asked.tickvals, asked.ticktext, strict=True)
        shown = [(value, text) for value, text in named if low <= value <= high]
        if len(shown) < _TICKS_MIN:
            axis.set_major_locator(ticker.MaxNLocator(_TICKS_MIN + 2))
        else:
            axis.set_ticks(*map(list, zip(*shown, strict=True)))
    elif asked.type != "log" and asked.dtick:
        axis.set_major_locator(ticker.MultipleLocator(asked.dtick))
    if asked.tickformat == ".0%":
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    elif asked.ticksuffix:
        suffix = asked.ticksuffix
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}{suffix}"))


def legend_below(figure: Figure, handles: Sequence[Handle]) -> None:
    """Name what is drawn below it, in as many columns as fit; the plot keeps its height."""
    for columns in range(min(len(handles), _COLUMNS), 0, -1):
        legend = figure.legend(
            *zip(*handles, strict=True), loc="outside lower center", ncols=columns, frameon=False
        )
        extent = legend.get_window_extent()
        if columns == 1 or extent.width <= figure.bbox.width:
            break
        legend.remove()
    figure.set_figheight(figure.get_figheight() + extent.height / figure.dpi)


def _thin(figure: Figure, axes: Axes) -> None:
    """Turn names below a plot that touch each other upright, and leave out numbers that do."""
    figure.draw_without_rendering()
    higher_px = _thin_axis(axes.xaxis, "x")
    _thin_axis(axes.yaxis, "y")
    figure.set_figheight(figure.get_figheight() + higher_px / figure.dpi)


def _thin_axis(axis: Axis, side: str) -> float:
    """Make the labels of an axis apart, and return by how much their figure has to be higher."""
    place = "xy".index(side)
    low, high = sorted(axis.get_view_interval())
    labels = [label for label in axis.get_ticklabels() if label.get_text()]
    labels = [label for label in labels if low <= label.get_position()[place] <= high]
    labels.sort(key=lambda label: label.get_position()[place])
    spans = [label.get_window_extent().get_points()[:, place].tolist() for label in labels]
    if not any(end + _GAP_PX > start for (_, end), (start, _) in itertools.pairwise(spans)):
        return 0.0
    if not all(_is_number(label.get_text()) for label in labels):
        axis.set_tick_params(rotation=90 if side == "x" else 0)
        return max(end - start for start, end in spans) if side == "x" else 0.0
    end_of_last = -np.inf
    texts: list[str] = []
    for label, (start, end) in zip(labels, spans, strict=True):
        is_free = start >= end_of_last + _GAP_PX
        texts.append(label.get_text() if is_free else "")
        end_of_last = end if is_free else end_of_last
    axis.set_ticks([label.get_position()[place] for label in labels], texts)
    return 0.0


def _is_number(text: str) -> bool:
    return text.rstrip(" %").replace(".", "", 1).isdigit()


def _or(value: Any, otherwise: float) -> Any:
    return otherwise if value is None else value


def in_lines(text: str, letters: int) -> str:
    """Return text in lines of so many letters; no word is broken."""
    return "\n".join(textwrap.wrap(text, letters, break_long_words=False))


_STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "font.size": 7,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 6.5,
    "legend.handlelength": 3.0,  # a dash is told from a dot
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,  # Type 3 is refused by publishers
    "svg.fonttype": "path",
    "svg.hashsalt": "pocketsim",
    "savefig.dpi": 72,
    "figure.dpi": 72,
}
# Nothing of when and by what: equal charts are equal files.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_MISSING = "matplotlib, which draws figures for papers, is missing: pip install 'pocketsim[paper]'"
_INK, _FAINT, _GRID = theme.INK, theme.FAINT, theme.GRID
_PT = 0.6  # points for a pixel of the page, whose columns are wider
_MARKER_PX, _LINE_PX = 6, 2  # plotly's own
_HEIGHT_IN = 2.2  # above the legend
_FRAME_IN, _LINE_IN = 0.6, 0.16
_NAME_LETTERS = 46  # that a line of a legend has room for in a column
_LETTERS_PER_IN = 13  # of a title below or beside a plot, which is narrower than its figure
_SHORTEST = 6
_UPRIGHT_LETTERS = 30
_TICKS_MIN = 2
_ROOM = 1.06
_COLUMNS = 4
_BOX = 0.8
_GAP_PX = 1
