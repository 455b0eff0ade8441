"""`validate` and `report`: hand run directories to those who judge and present them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.cli.runs.run import AsJson, Jobs, Out
from pocketsim.cli.ui import completion, console, output_folder, output_paths, progress
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.run import rundir
from pocketsim.sim.run.children import default_jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.validate.validation import ValidationResult

PlotlyJs = Annotated[
    Path | None,
    typer.Option(
        "--plotly-js",
        help="File that several pages share, of what draws charts: 5 MB less in each.",
        metavar="FILE",
    ),
]
RunDirectories = Annotated[
    list[Path],
    typer.Argument(help="Run directories, or folders that hold some.", metavar="RUN..."),
]


def validate(
    out: Out = Path("runs"),
    report: Annotated[Path | None, typer.Option("--report", help="HTML file to write.")] = None,
    subset: Annotated[
        list[str] | None,
        typer.Option(
            "--subset",
            help="Only this group, or rows such as 'B1_*'; may be repeated.",
            metavar="NAME",
            autocompletion=completion.subsets,
        ),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="Every figure too; with --subset, those of it.")
    ] = False,
    plotly_js: PlotlyJs = None,
    as_json: AsJson = False,
    jobs: Jobs = None,
) -> None:
    """Repeat the published experiments: exit 0 if all bars are met, 6 but for known misses, else 3.

    A line for each group of published figures; every figure beside the simulated one with --rows
    or for a --subset. A bar is applied to all rows of a group; beside its verdict stand the errors
    of the predicted and of the fitted rows, each alone, and of models that know no mechanism. Runs
    that are there already are not repeated.
    """
    if report:
        output_paths.check_outside_runs(report)
    from pocketsim.calibration.validate import validation

    result = validation.validate(
        out, jobs or default_jobs(), subset, _PACKAGE, progress=progress.progress
    )
    if as_json:
        console.data(result.as_json().rstrip())
    else:
        _print_tables(result, rows=rows or bool(subset), every_row=rows)
    if report:
        _write_report(result, report, plotly_js)
    if code := _EXIT_CODES[result.verdict]:
        raise typer.Exit(code)


def report(
    runs: RunDirectories,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="HTML file to write; report.html without --paper.", metavar="FILE"
        ),
    ] = None,
    plotly_js: PlotlyJs = None,
    paper: Annotated[
        Path | None,
        typer.Option(
            "--paper",
            help="Folder to write figures for a paper to (SVG, PDF, CSV), and its methods.",
            metavar="DIR",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite what is in DIR and was changed.")
    ] = False,
) -> None:
    """Write one self-contained HTML page about some runs, or figures of them for a paper.

    What --paper finds in its folder and did not write, or what was changed since, is yours:
    without --force nothing is written there then, exit 2.
    """
    directories = list(dict.fromkeys(found for path in runs for found in complete(path)))
    page = out or (None if paper else Path("report.html"))
    if page:
        output_paths.check_outside_runs(page)
    if paper:
        output_folder.check(paper)
        _write_paper(directories, paper, force=force)
    if page:
        from pocketsim.report import write_report

        shared = _shared(plotly_js, page)
        with output_paths.replacing(page) as aside:
            write_report(directories, aside, plotly_js=shared)
        output_paths.tell(page)


def _write_paper(directories: Sequence[Path], folder: Path, *, force: bool) -> None:
    from pocketsim.report.paper import paper_files

    with output_paths.writing(folder):
        output_folder.write(folder, paper_files.files(directories), force=force)
    output_paths.tell(folder)


def _shared(plotly_js: Path | None, page: Path) -> str | None:
    """Write what draws charts to a file of its own, and return where a page finds it."""
    if plotly_js is None:
        return None
    output_paths.check_outside_runs(plotly_js)
    from plotly.offline import get_plotlyjs

    with output_paths.replacing(plotly_js) as aside:
        aside.write_text(get_plotlyjs(), encoding="utf-8")
    return Path(os.path.relpath(plotly_js.absolute(), page.absolute().parent)).as_posix()


def _write_report(result: ValidationResult, report: Path, plotly_js: Path | None) -> None:
    if not result.run_dirs:  # block sizes alone follow from the format
        console.say("no report: nothing was run")
        return
    from pocketsim.report import write_report

    shared = _shared(plotly_js, report)
    with output_paths.replacing(report) as aside:
        write_report(result.run_dirs, aside, result, plotly_js=shared)
    console.say(f"report: {report}")


def _print_tables(result: ValidationResult, *, rows: bool, every_row: bool) -> None:
    from rich.console import Console

    from pocketsim.calibration.validate.table import render

    # Lines are filled already, and a name is never cut.
    text = render(result, rows=rows, every_row=every_row)
    Console(file=sys.stdout, highlight=False).print(text, soft_wrap=True)
    if not rows:
        console.say("its figures: --rows, or --subset and a group's name")


def complete(path: Path, *, several: bool = True) -> list[Path]:
    """Return `path`, or the run directories in it: a scenario's folder, or one of those."""
    found = rundir.runs_in(path) if several or rundir.is_run(path) else []
    if not found:
        raise ScenarioError(path, "", "not a run directory (no metrics.json)")
    return found


_PACKAGE = Path(__file__).resolve().parents[2]  # the published rows name scenarios of the project
# Codes of validation.ALL_MET, KNOWN_MISSES and MISSED, which are spelt here so that help is quick.
_EXIT_CODES = {"all met": 0, "met but for known misses": 6, "missed": 3}
