"""`sweep report`: one page about the runs of a sweep, or one figure for a paper."""

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
    page: Annotated[
        Path | None, output("HTML file to write; report.html without --paper.", "PAGE", "--page")
    ] = None,
    plotly_js: run_report.PlotlyJs = None,
    paper: run_report.Paper = None,
    force: run_report.Force = False,
    metric: run_report.Metric = "",
    x: run_report.X = "",
    by: run_report.By = "",
    out: Out = OUT,
    shard: Shard = WHOLE,
) -> None:
    """Write one HTML page about the runs of a sweep that are there, or one figure for a paper.

    The figure is the page's first chart, with its caption, data and a methods paragraph.
    Runs of which only metrics were kept have no page.
    """
    study = study_of(file, out, shard)
    directories = [run.directory for run in study.runs]
    if not directories:
        remedy = f"`{run_command(file, out, shard)}` makes them"
        console.fail(f"no run has a directory; {remedy}")
        raise typer.Exit(EXIT_SOME_LACK)
    asked = study.asked.with_options(metric=metric, x=x, by=by)
    if paper:
        run_report.write_paper(directories, paper, asked, force=force)
    if page or not paper:
        run_report.write_page(directories, page or Path("report.html"), plotly_js, asked)
