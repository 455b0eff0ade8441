"""`report`: one HTML page about some runs, or figures of them for a paper."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.cli.runs.run_directories import RunDirectories, complete
from pocketsim.cli.ui import completion, console, output_folder, output_paths
from pocketsim.cli.ui.options import output

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pocketsim.report.runs.asked import Asked


PlotlyJs = Annotated[
    Path | None,
    typer.Option(
        "--plotly-js",
        help="File with the chart library that several pages share: 5 MB less in each.",
        metavar="FILE",
    ),
]


Metric = Annotated[
    str,
    typer.Option(
        "--metric",
        help="Metric of the first chart.",
        metavar="NAME",
        autocompletion=completion.metrics,
    ),
]
X = Annotated[str, typer.Option("--x", help="Key path of its horizontal axis.", metavar="KEY")]
By = Annotated[
    str, typer.Option("--by", help="Key path that has a colour for each value.", metavar="KEY")
]
Paper = Annotated[
    Path | None,
    typer.Option(
        "--paper",
        help="Folder to write figures for a paper to (SVG, PDF, CSV), and its methods.",
        metavar="DIR",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files in DIR that were changed.")]


def report(  # noqa: PLR0913, PLR0917 - each is an option
    runs: RunDirectories,
    out: Annotated[Path | None, output("HTML file to write; report.html without --paper.")] = None,
    plotly_js: PlotlyJs = None,
    paper: Paper = None,
    force: Force = False,
    metric: Metric = "",
    x: X = "",
    by: By = "",
) -> None:
    """Write one self-contained HTML page about some runs, or figures of them for a paper.

    With --metric, --x or --by, --paper writes the one figure that these describe.
    What --paper finds in its folder and did not write, or what was changed since, is yours:
    without --force nothing is written there then, exit 2.
    """
    from pocketsim.report.runs.asked import BY_RULE

    below = {path: complete(path) for path in runs}
    for line in mixed(below):
        console.say(f"warning: {line}")
    directories = list(dict.fromkeys(found for each in below.values() for found in each))
    asked = BY_RULE.with_options(metric=metric, x=x, by=by)
    page = out or (None if paper else Path("report.html"))
    if page:
        output_paths.check_outside_runs(page)
    if paper:
        write_paper(directories, paper, asked if asked.options else None, force=force)
    if page:
        write_page(directories, page, plotly_js, asked)


def mixed(below: Mapping[Path, Sequence[Path]]) -> Iterator[str]:
    """Yield a sentence for each path below which runs of several scenarios were found."""
    for path, directories in below.items():
        folders = list(dict.fromkeys(found.parent for found in directories))
        if len(folders) > 1:
            yield (
                f"{path}: this report is of runs of {len(folders)} scenarios or studies; for those"
                f" of one, name its folder, such as {folders[0]}"
            )


def write_page(
    directories: Sequence[Path], page: Path, plotly_js: Path | None, asked: Asked
) -> None:
    """Write the page about some runs, and tell where it is."""
    from pocketsim.report import write_report

    output_paths.check_outside_runs(page)
    shared = shared_plotly(plotly_js, page)
    with output_paths.replacing(page) as aside:
        write_report(directories, aside, plotly_js=shared, asked=asked)
    output_paths.tell(page)


def write_paper(
    directories: Sequence[Path], folder: Path, asked: Asked | None, *, force: bool
) -> None:
    """Write a folder for a paper, and tell where it is: the figure that is asked for, or all."""
    from pocketsim.report.paper import answer_figure, paper_files

    output_folder.check(folder)
    files = (
        paper_files.files(directories)
        if asked is None
        else answer_figure.of_runs(directories, asked).files()
    )
    with output_paths.writing(folder):
        output_folder.write(folder, files, force=force)
    output_paths.tell(folder)


def shared_plotly(plotly_js: Path | None, page: Path) -> str | None:
    """Write what draws charts to a file of its own, and return where a page finds it."""
    if plotly_js is None:
        return None
    output_paths.check_outside_runs(plotly_js)
    from plotly.offline import get_plotlyjs

    output_paths.put(plotly_js, get_plotlyjs())
    return Path(os.path.relpath(plotly_js.absolute(), page.absolute().parent)).as_posix()
