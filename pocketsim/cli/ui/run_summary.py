"""The main metrics of finished runs as a small table for people: what `run` prints beside paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.cli.ui import console

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def show(directories: Sequence[Path], overrides: Sequence[str]) -> None:
    """Say the main metrics of the runs in `directories`, made with `overrides`, a row each."""
    from pocketsim.api import run_tables
    from pocketsim.sim.run.results import read_metrics

    found = [read_metrics(directory) for directory in directories]
    head, rows = run_tables.summary(found)
    console.table("; ".join([run_tables.counted(found), *overrides]), head, rows, console.say)
