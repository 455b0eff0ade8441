"""A folder for a paper: the report's charts as figures for print, their data, and the methods.

It reads run directories and writes nothing: `files` is what the folder is to hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.html.page import data_csv
from pocketsim.report.page_layout import arranged
from pocketsim.report.paper import methods, print_figures, prose
from pocketsim.report.runs.run import load

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pocketsim.report.html.page import Drawn


def files(run_dirs: Iterable[Path]) -> dict[str, bytes]:
    """Return the files of a paper about `run_dirs`, complete run directories, by name.

    Equal runs and an equal matplotlib give equal bytes. Raises as `write_report` does, and
    EnvironmentMissingError without matplotlib.
    """
    print_figures.check()
    runs = load(run_dirs)
    charts = arranged(runs).charts
    texts = {
        **{f"{_name(one)}.csv": data_csv(one.chart) for one in charts},
        "captions.md": "".join(map(_caption, charts)),
        **methods.files(runs),
    }
    drawn = {
        f"{_name(one)}{suffix}": content
        for one in charts
        for suffix, content in print_figures.pictures(
            one.chart, one.caption, _width_in(one)
        ).items()
    }
    return {**drawn, **{name: text.encode() for name, text in texts.items()}}


def _name(drawn: Drawn) -> str:
    return f"{drawn.section}_{drawn.number_there}"


def _width_in(drawn: Drawn) -> float:
    return print_figures.DOUBLE_IN if drawn.is_wide else print_figures.SINGLE_IN


def _caption(drawn: Drawn) -> str:
    """Return what a figure shows, and what the columns of its data are."""
    titles = (drawn.chart.layout[f"{side}axis"].title.text for side in "xy")
    axes = [
        f"`{side}` {prose.plain(text)}" for side, text in zip("xy", titles, strict=True) if text
    ]
    columns = f"Columns: {'; '.join(axes)}; `above`, `below`: of its interval.\n"
    title, caption = prose.plain(drawn.title), prose.plain(drawn.caption)
    said = f"{title}: {caption}. {_width_in(drawn):g} in wide.\n"
    return f"## {_name(drawn)}\n\n{said}{columns}\n"
