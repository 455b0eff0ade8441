"""A chart of the report as a figure for print: a plotly chart, drawn by matplotlib.

What a chart shows is decided where it is made (`rates`, `latency`, ...) and stays. Its look
changes: it is as wide as a column of a journal, needs no colour to be read, and says everything
without a mouse. `print_traces` draws the traces; features of plotly that neither a chart of the
report nor a notebook uses are an error there.
"""

from __future__ import annotations

import importlib.util
import io
import itertools
import math
import textwrap
from typing import TYPE_CHECKING, Any

from pocketsim.report.charts import theme
from pocketsim.report.paper import print_traces
from pocketsim.sim.base.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from collections.abc import Sequence
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

    print_traces.check(chart)
    chart = _visible(chart)
    figure = Figure(figsize=(width_in, _height_in(chart)), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    marks = print_traces.Marks.of(axes, chart)
    for shape in chart.layout.shapes:
        (_rule if shape.type == "line" else _shade)(axes, shape)
    handles = [(handle, in_lines(name, _NAME_LETTERS)) for handle, name in marks.draw(chart)]
    words = caption, int(_LETTERS_PER_IN * width_in)
    for side, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        _arrange(axes, axis, chart.layout[f"{side}axis"], marks.places[side], words)
    if title := _title(chart):
        figure.suptitle(title, fontsize=8.5, x=0.01, ha="left")
    is_named = len(handles) >= (1 if chart.layout.showlegend else 2)
    if is_named and chart.layout.showlegend is not False:
        legend_below(figure, handles, chart.layout.legend.title.text)
    _thin(figure, axes)
    for note, shape in zip(chart.layout.annotations, chart.layout.shapes, strict=False):
        _note(axes, note, shape)
    return figure


def saved(figure: Figure, form: str) -> bytes:
    """Return a figure as a file, "svg" or "pdf", without a date; within `style`."""
    file = io.BytesIO()
    figure.savefig(file, format=form, metadata=_METADATA[form])
    return file.getvalue()


def _visible(chart: go.Figure) -> go.Figure:
    """Return a chart without what is hidden: what a slider or the legend leaves out."""
    shown = [trace for trace in chart.data if trace.visible in {None, True}]
    if len(shown) == len(chart.data):
        return chart
    return type(chart)(data=shown, layout=chart.layout)


def _height_in(chart: go.Figure) -> float:
    rows = [
        name
        for trace in chart.data
        for name in (trace.y if trace.y is not None else ())
        if isinstance(name, str)
    ]
    lines = sum(1 + name.count("<br>") for name in dict.fromkeys(rows))
    has_bars = any(trace.type == "bar" and trace.orientation == "h" for trace in chart.data)
    of_names = _FRAME_IN + _LINE_IN * lines
    height = of_names if has_bars else max(_HEIGHT_IN, of_names)
    return height + (_TITLE_IN if _title(chart) else 0)


def _title(chart: go.Figure) -> str:
    """Return what stands above a chart, with what its slider is at; nothing above the report's."""
    words = [chart.layout.title.text] + [
        f"{slider.currentvalue.prefix or ''}{slider.steps[slider.active or 0].label}"
        for slider in chart.layout.sliders
    ]
    return ", ".join(word for word in words if word)


def _shade(axes: Axes, shape: Any) -> None:
    style: dict[str, Any] = {"facecolor": shape.fillcolor, "linewidth": 0, "zorder": 0}
    style["alpha"] = shape.opacity
    if shape.xref.endswith("domain"):
        axes.axhspan(shape.y0, shape.y1, **style)
    else:
        axes.axvspan(shape.x0, shape.x1, **style)


def _rule(axes: Axes, shape: Any) -> None:
    """Draw a line across the plot, or from one point to another."""
    dash = {"dot": ":", "dash": "--", "dashdot": "-."}.get(shape.line.dash or "", "-")
    style: dict[str, Any] = {"color": _FAINT, "linestyle": dash, "linewidth": 0.9, "zorder": 1}
    if (shape.yref or "").endswith("domain"):
        axes.axvline(shape.x0, **style)
    elif (shape.xref or "").endswith("domain"):
        axes.axhline(shape.y0, **style)
    else:
        axes.plot([shape.x0, shape.x1], [shape.y0, shape.y1], **style)


def _note(axes: Axes, note: Any, shape: Any) -> None:
    """Write what a shaded span is: across its top, or where it is narrow along its left edge."""
    style: dict[str, Any] = {"va": "top", "fontsize": 6, "color": _FAINT}
    text = axes.text(note.x, 0.97, f" {note.text}", transform=axes.get_xaxis_transform(), **style)
    start, end = (axes.transData.transform((x, 0))[0] for x in (shape.x0, shape.x1))
    if text.get_window_extent().width > end - start:
        text.set_rotation(90)


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
        low, high = sorted(axis.get_view_interval())
        if high < _FEW_DECADES * low:  # too few powers of ten to read a value from
            axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
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


def legend_below(figure: Figure, handles: Sequence[Handle], title: str | None = None) -> None:
    """Name what is drawn below it, in as many columns as fit; the plot keeps its height."""
    for columns in range(min(len(handles), _COLUMNS), 0, -1):
        legend = figure.legend(
            *zip(*handles, strict=True),
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            title=title,
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
    end_of_last = -math.inf
    texts: list[str] = []
    for label, (start, end) in zip(labels, spans, strict=True):
        is_free = start >= end_of_last + _GAP_PX
        texts.append(label.get_text() if is_free else "")
        end_of_last = end if is_free else end_of_last
    axis.set_ticks([label.get_position()[place] for label in labels], texts)
    return 0.0


def _is_number(text: str) -> bool:
    return text.rstrip(" %").replace(".", "", 1).isdigit()


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
_HEIGHT_IN = 2.2  # above the legend
_FRAME_IN, _LINE_IN, _TITLE_IN = 0.6, 0.16, 0.25
_NAME_LETTERS = 46  # that a line of a legend has room for in a column
_LETTERS_PER_IN = 13  # of a title below or beside a plot, which is narrower than its figure
_SHORTEST = 6
_UPRIGHT_LETTERS = 30
_TICKS_MIN = 2
_FEW_DECADES = 10**2.5
_ROOM = 1.06
_COLUMNS = 4
_GAP_PX = 1
