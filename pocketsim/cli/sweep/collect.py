"""`sweep collect`: what a sweep found, as one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pocketsim.cli.sweep.study import (
    EXIT_SOME_LACK,
    WHOLE,
    Shard,
    SweepFile,
    run_command,
    study_of,
)
from pocketsim.cli.ui import console, output_paths
from pocketsim.cli.ui.options import OUT, Out, output


def collect(
    file: SweepFile,
    table: Annotated[Path, output("File to write: .parquet or .csv.", "TABLE", "--table")],
    out: Out = OUT,
    shard: Shard = WHOLE,
) -> None:
    """Write the metrics of a sweep as one table, a row for each run and repetition.

    Exit 4 if some runs are missing; the others are written.
    """
    from pocketsim.sim.run import collect as collecting

    output_paths.check_outside_runs(table)
    as_csv = bool(table.suffix) and output_paths.by_suffix(table, _IS_CSV)
    study = study_of(file, out, shard)
    found, missing = collecting.table(study.sweep)
    if missing:
        every = len({run.directory for run in study.sweep.runs()})
        remedy = f"`{run_command(file, out, shard)}` makes them"
        console.fail(f"{len(missing)} of {every} runs are missing; {remedy}")
    if found.num_rows:
        with output_paths.replacing(table) as aside:
            collecting.write(found, aside, as_csv=as_csv)
        output_paths.tell(table)
    if missing:
        raise typer.Exit(EXIT_SOME_LACK)


_IS_CSV = {".parquet": False, ".csv": True}
