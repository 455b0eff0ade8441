"""`report` and `validate`: hand run directories to those who present and judge them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sim.children import default_jobs
from sim.cli import console
from sim.cli.running import Jobs
from sim.errors import ScenarioError

RunDirectories = Annotated[list[Path], typer.Argument(help="Run directories.")]


def report(
    runs: RunDirectories,
    out: Annotated[Path, typer.Option("--out", help="HTML file to write.")] = Path("report.html"),
) -> None:
    """Write one self-contained HTML page about some runs."""
    complete = _complete(runs)
    from sim.report import write_report

    write_report(complete, out)
    console.data(str(out))


def validate(
    out: Annotated[Path, typer.Option("--out", help="Folder for run directories.")] = Path("runs"),
    report: Annotated[Path | None, typer.Option("--report", help="HTML file to write.")] = None,
    jobs: Jobs = None,
) -> None:
    """Run the published experiments and compare, fitted and predicted apart; exit 3 on a miss."""
    from calibration.validation import validate as compare

    if not compare(out=out, report=report, jobs=jobs or default_jobs()):
        raise typer.Exit(_EXIT_CHECK_FAILED)


def _complete(runs: list[Path]) -> list[Path]:
    for directory in runs:
        if not (directory / "metrics.json").is_file():
            raise ScenarioError(directory, "", "not a run directory (no metrics.json)")
    return runs


_EXIT_CHECK_FAILED = 3
