"""`sweep report`: one page about the runs of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pocketsim.cli.runs import report as run_report
from pocketsim.cli.sweep.study import (
    EXIT_SOME_LACK,
    WHOLE,
    Shard,
    SweepFile,
    run_command,
    study_of,
)
from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import OUT, Out, output


def report(  # noqa: PLR0913, PLR0917 - each is an option
    file: SweepFile,
    page: Annotated[Path, output("HTML file to write.", "PAGE", "--page")] = Path("report.html"),
    plotly_js: run_report.PlotlyJs = None,
    metric: run_report.Metric = "",
    x: run_report.X = "",
    by: run_report.By = "",
    out: Out = OUT,
    shard: Shard = WHOLE,
) -> None:
    """Write one HTML page about the runs of a sweep that are there.

    Runs of which only metrics were kept have no page.
    """
    study = study_of(file, out, shard)
    directories = [run.directory for run in study.runs]
    if not directories:
        remedy = f"`{run_command(file, out, shard)}` makes them"
        console.fail(f"no run has a directory; {remedy}")
        raise typer.Exit(EXIT_SOME_LACK)
    asked = study.asked.with_options(metric=metric, x=x, by=by)
    run_report.write_page(directories, page, plotly_js, asked)
