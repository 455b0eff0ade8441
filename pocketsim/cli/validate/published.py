"""`validate published`: the published experiments, simulated and compared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.cli.runs.report import PlotlyJs, shared_plotly
from pocketsim.cli.ui import completion, console, output_paths, progress
from pocketsim.cli.ui.options import OUT, AsJson, Jobs, Out
from pocketsim.sim.base import defaults

if TYPE_CHECKING:
    from pocketsim.calibration.validate.validation import ValidationResult


def validate(  # noqa: PLR0913, PLR0917 - each is an option
    out: Out = OUT,
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
    brief: Annotated[
        bool, typer.Option("--brief", help="Ten lines instead of a table of groups.")
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
        out, jobs or defaults.jobs(), subset, _PACKAGE, progress=progress.progress
    )
    if as_json:
        console.data(result.as_json().rstrip())
    elif brief:
        _print_brief(result)
    else:
        _print_tables(result, rows=rows or bool(subset), every_row=rows)
    if report:
        _write_report(result, report, plotly_js, brief=brief)
    if code := _EXIT_CODES[result.verdict]:
        raise typer.Exit(code)


def _write_report(
    result: ValidationResult, report: Path, plotly_js: Path | None, *, brief: bool
) -> None:
    if not result.run_dirs:  # block sizes alone follow from the format
        console.say("no report: nothing was run")
        return
    from pocketsim.report import write_report

    shared = shared_plotly(plotly_js, report)
    with output_paths.replacing(report) as aside:
        write_report(result.run_dirs, aside, result, plotly_js=shared)
    # Of ten lines the page is one.
    (console.data if brief else console.say)(f"page: {report}")


def _print_brief(result: ValidationResult) -> None:
    from pocketsim.calibration.validate.table import brief

    for line in brief(result):
        console.data(line)


def _print_tables(result: ValidationResult, *, rows: bool, every_row: bool) -> None:
    from rich.console import Console

    from pocketsim.calibration.validate.table import render

    # Lines are filled already, and a name is never cut.
    text = render(result, rows=rows, every_row=every_row)
    Console(file=sys.stdout, highlight=False).print(text, soft_wrap=True)
    if not rows:
        console.say("its figures: --rows, or --subset and a group's name")


_PACKAGE = Path(__file__).resolve().parents[2]  # the published rows name scenarios of the project
# Codes of validation.ALL_MET, KNOWN_MISSES and MISSED, which are spelt here so that help is quick.
_EXIT_CODES = {"all met": 0, "met but for known misses": 6, "missed": 3}
