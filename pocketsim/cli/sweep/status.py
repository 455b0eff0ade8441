"""`sweep status`: how far a sweep is."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer

from pocketsim.cli.sweep.study import (
    EXIT_SOME_LACK,
    WHOLE,
    Shard,
    SweepFile,
    show_status,
    status_numbers,
    study_of,
)
from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import OUT, AsJson, Jobs, Out


def status(
    file: SweepFile,
    out: Out = OUT,
    jobs: Jobs = None,
    shard: Shard = WHOLE,
    watch: Annotated[
        bool, typer.Option("--watch", help="Print again at each change, until all runs exist.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the progress of a sweep, also of a running one; exit 4 if runs are missing."""
    said = None
    while True:
        now = study_of(file, out, shard).status(jobs)
        is_done = now.runs["there"] == now.runs["all"]
        if now != said:
            if as_json:
                console.data(json.dumps(status_numbers(now)))
            else:
                show_status(now)
        if is_done or not watch:
            break
        said = now
        time.sleep(_WATCH_S)
    if not is_done:
        raise typer.Exit(EXIT_SOME_LACK)


_WATCH_S = 2.0  # soon enough for who watches, seldom enough for a shared file system
