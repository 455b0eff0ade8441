"""One figure of one metric for a paper: what a report's first chart shows, drawn for a column.

`report.runs.choice` decides what is drawn; matplotlib draws it here from the runs' own numbers.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pocketsim.report.answer import finding, limits, opening
from pocketsim.report.charts import grids, theme
from pocketsim.report.paper import methods, print_figures, prose
from pocketsim.report.paper.line_styles import of_line
from pocketsim.report.runs import choice
from pocketsim.report.runs import metric_words as words
from pocketsim.report.runs.run import load
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.base.files import aside, at_home
from pocketsim.sim.run.csv_cells import cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pocketsim.report.runs.asked import Asked
    from pocketsim.report.runs.choice import Choice
    from pocketsim.report.runs.points import Axis
    from pocketsim.report.runs.pooled import Point
    from pocketsim.report.runs.run import Run


@dataclass(frozen=True)
class AnswerFigure:
    """A figure of runs and what a paper says of it; `title` is the study's question."""

    title: str
    drawn: Choice
    runs: tuple[Run, ...]

    def draw(self, width_in: float = print_figures.SINGLE_IN) -> Figure:
        """Return it as matplotlib's, so wide."""
        with print_figures.style():
            return _figure(self.drawn, width_in)

    def files(self, width_in: float = print_figures.SINGLE_IN) -> dict[str, bytes]:
        """Return the files of a folder for a paper, by name: figure, data, caption and methods.

        Equal runs and an equal matplotlib give equal bytes.
        """
        with print_figures.style():
            figure = _figure(self.drawn, width_in)
            pictures = {f"{_NAME}.{form}": print_figures.saved(figure, form) for form in _FORMS}
        texts = {f"{_NAME}.csv": self._data(), "captions.md": self._markdown(width_in)}
        texts |= methods.files(self.runs)
        return {**pictures, **{name: text.encode() for name, text in texts.items()}}

    def save(self, folder: str | Path, width_in: float = print_figures.SINGLE_IN) -> list[Path]:
        """Write `files` into a folder, which is made, over those of the last time; return paths."""
        target = at_home(folder)
        paths = []
        for name, content in self.files(width_in).items():
            with aside(target / name) as made:
                (made / name).write_bytes(content)
                paths.append((made / name).replace(target / name))
        return paths

    def _repr_svg_(self) -> str:
        with print_figures.style():
            return print_figures.saved(_figure(self.drawn, print_figures.SINGLE_IN), "svg").decode()

    def caption(self) -> str:
        """Return what the figure shows, what it finds and what limits it, in sentences."""
        shown = f"{words.title(self.drawn.metric)}: {opening.caption(self.drawn)}"
        rest = [*finding.sentences(self.drawn), *limits.sentences(self.drawn, self.runs)]
        if self._has_published():
            rest.insert(0, "Open diamonds are published figures.")
        return " ".join([f"{shown}.", *rest])

    def _markdown(self, width_in: float) -> str:
        said = f"{prose.plain(self.title)}\n\n{prose.plain(self.caption())}"
        about = f"{width_in:g} in wide. Columns: `x` {self._x() or 'a point'}; `y` "
        columns = f"{self.drawn.metric}; `low`, `high`: its 95 % interval; `n`: repetitions.\n"
        return f"## {_NAME}\n\n{said}\n\n{about}{columns}"

    def _x(self) -> str:
        return prose.plain(grids.axis_title(self.drawn))

    def _has_published(self) -> bool:
        axis = self.drawn.axis
        return axis is not None and bool(grids.published_dots(self.drawn, axis))

    def _data(self) -> str:
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("name", "x", "y", "low", "high", "n"))
        axis, metric = self.drawn.axis, self.drawn.metric
        for line in self.drawn.lines:
            for point in line.points:
                x = "" if axis is None else axis.at(point.place)
                bounds = point.bounds(metric) or ("", "")
                row = (cell(line.name), x, point.mean(metric), *bounds, point.repetitions)
                rows.writerow(row)
        return text.getvalue()


def of_runs(run_dirs: Iterable[Path], asked: Asked) -> AnswerFigure:
    """Return the figure of complete run directories: by rule, or as `asked`.

    Raises UserError where they have no metric to draw, or where what is asked for is not there, and
    EnvironmentMissingError without matplotlib.
    """
    print_figures.check()
    runs = load(run_dirs)
    drawn = choice.chosen(runs, asked) if runs else None
    if drawn is None:
        raise UserError("these runs have no metric that a figure could show")
    return AnswerFigure(opening.title(runs, drawn, asked), drawn, tuple(runs))


def _figure(drawn: Choice, width_in: float) -> Figure:
    from matplotlib.figure import Figure

    count = len(drawn.points)
    height_in = _HEIGHT_IN if drawn.axis else _FRAME_IN + _ROW_IN * count
    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    if drawn.axis:
        handles = _lines(axes, drawn, drawn.axis)
        _arrange_lines(axes, drawn, drawn.axis)
        if len(handles) > 1:
            print_figures.legend_below(figure, handles)
    else:
        _beside(axes, drawn)
    return figure


def _lines(axes: Axes, drawn: Choice, axis: Axis) -> list[tuple[Any, str]]:
    """Draw lines with intervals and published figures; return what a legend names."""
    handles: list[tuple[Any, str]] = []
    for place, (line, look) in enumerate(zip(drawn.lines, grids.looks(drawn), strict=True)):
        style = of_line(look["color"], look["dash"], place)
        handle = axes.errorbar(
            [axis.at(point.place) for point in line.points],
            [_mean(point, drawn) for point in line.points],
            yerr=_bars(line.points, drawn),
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            **_LOOK,
        )
        handles.append((handle, line.name))
    if published := grids.published_dots(drawn, axis):
        x, y, _ = zip(*published, strict=True)
        shown = [_scale(drawn) * value for value in y]
        dots = axes.plot(x, shown, "D", color=theme.PUBLISHED, fillstyle="none", markersize=4.5)
        handles.append((dots[0], "published"))
    return handles


def _beside(axes: Axes, drawn: Choice) -> None:
    """Draw points that no quantity puts in order, one above the other by name."""
    points = drawn.points
    names = [line.name for line in drawn.lines for _ in line.points]
    means = [_mean(point, drawn) for point in points]
    places = range(len(points))
    style = of_line(theme.colours(1)[0], "solid", 0)
    axes.errorbar(
        means,
        places,
        xerr=_bars(points, drawn),
        color=style.colour,
        linestyle="none",
        marker="o",
        **_LOOK,
    )
    axes.set_yticks(list(places), [print_figures.in_lines(name, _NAME_LETTERS) for name in names])
    axes.set_ylim(len(points) - 0.5, -0.5)
    axes.set_xlabel(_title(drawn))
    axes.set_xlim(*_ends(axes.dataLim.intervalx, drawn))
    axes.grid(visible=True, axis="x", color=theme.GRID, linewidth=0.6)


def _arrange_lines(axes: Axes, drawn: Choice, axis: Axis) -> None:
    from matplotlib import ticker

    axes.set_xlabel(grids.axis_title(drawn))
    axes.set_ylabel(print_figures.in_lines(_title(drawn), _UPRIGHT_LETTERS))
    axes.set_ylim(*_ends(axes.dataLim.intervaly, drawn))
    axes.grid(visible=True, color=theme.GRID, linewidth=0.6)
    if axis.is_log:
        shown = theme.log_ticks([axis.at(point.place) for point in drawn.points], _TICKS)
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(ticker.NullLocator())
        axes.set_xticks(shown["tickvals"], shown["ticktext"])


def _title(drawn: Choice) -> str:
    """Return the metric in words with its unit: "Median round trip (ms)"."""
    return f"{words.title(drawn.metric)}{words.in_brackets(drawn.metric)}"


def _ends(interval: Sequence[float], drawn: Choice) -> tuple[float, float]:
    """Return from where to where an axis of the metric goes: 0 and all that is drawn are on it."""
    low, high = min(0.0, _ROOM * interval[0]), max(0.0, _ROOM * interval[1])
    if _is_share(drawn) and interval[1] <= _PERCENT:
        high = min(high, _ROOM * _PERCENT)
    return (low, high) if low < high else (0.0, 1.0)


def _mean(point: Point, drawn: Choice) -> float:
    return _scale(drawn) * (point.mean(drawn.metric) or 0.0)


def _bars(points: Sequence[Point], drawn: Choice) -> list[list[float]]:
    """Return how far each point's interval reaches below and above it."""
    means = [point.mean(drawn.metric) or 0.0 for point in points]
    bars = theme.bars(means, [point.bounds(drawn.metric) for point in points])
    return [[_scale(drawn) * part for part in bars[side]] for side in ("arrayminus", "array")]


def _scale(drawn: Choice) -> float:
    return _PERCENT if _is_share(drawn) else 1.0


def _is_share(drawn: Choice) -> bool:
    return drawn.metric.endswith("_ratio")


_NAME, _FORMS = "figure", ("svg", "pdf")
_LOOK: dict[str, Any] = {
    "linewidth": 1.2,
    "markersize": 3.6,
    "elinewidth": 0.7,
    "capsize": 1.8,
    "capthick": 0.7,
}
_HEIGHT_IN, _FRAME_IN, _ROW_IN = 2.2, 0.6, 0.24
_NAME_LETTERS, _UPRIGHT_LETTERS = 26, 30
_TICKS = 8
"""Numbers of four digits that fit beside each other below a column."""
_ROOM, _PERCENT = 1.05, 100.0
