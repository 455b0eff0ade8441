"""The main metrics of finished runs as a small table for people: what `run` prints beside paths.

What results give reason to warn of is said as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.cli.ui import console

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


def show(directories: Sequence[Path], overrides: Sequence[str]) -> None:
    """Say the main metrics of the runs in `directories`, made with `overrides`, a row each."""
    from pocketsim.api import run_tables
    from pocketsim.sim.run.results import read_metrics

    found = [read_metrics(directory) for directory in directories]
    head, rows = run_tables.summary(found)
    console.table("; ".join([run_tables.counted(found), *overrides]), head, rows, console.say)


def warn(directories: Iterable[Path]) -> None:
    """Say what to know of the results of the runs in `directories`."""
    from pocketsim.api import run_tables
    from pocketsim.sim.run.results import read_metrics, read_resolved

    runs = [(read_metrics(directory), read_resolved(directory)) for directory in directories]
    # What tells of them loads numpy.
    runs = [run for run in runs if run[1]["energy"] is not None]
    for line in run_tables.warnings(runs) if runs else ():
        console.say(f"warning: {line}")
