"""`sweep plan`: the points of a sweep and which of their runs are there."""

from __future__ import annotations

from pocketsim.cli.sweep.study import (
    WHOLE,
    WORDS,
    Shard,
    SweepFile,
    run_row,
    show_status,
    status_numbers,
    study_of,
)
from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import OUT, AsJson, Jobs, Out
from pocketsim.sim.base import axes


def plan(
    file: SweepFile,
    out: Out = OUT,
    jobs: Jobs = None,
    shard: Shard = WHOLE,
    as_json: AsJson = False,
) -> None:
    """Show the points of a sweep and which of their runs are there; runs nothing."""
    study = study_of(file, out, shard)
    status = study.status(jobs)
    every = [(run, run.state) for run in study.sweep.runs()]
    if as_json:
        rows = [run_row(run, state) for run, state in every]
        console.json_data({**status_numbers(status), "rows": rows})
        return
    show_status(status)
    cells = [
        (*map(axes.text, run.at.values.values()), run.directory, WORDS[state])
        for run, state in every
    ]
    head = (
        *(study.sweep.points[0].values if study.sweep.points else ()),
        "run directory",
        "status",
    )
    console.table("points", head, cells)
