"""Run directories that a user names, alone or by their folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import nearest_file
from pocketsim.sim.run import rundir

RunDirectories = Annotated[
    list[Path],
    typer.Argument(help="Run directories, or folders that hold some.", metavar="RUN..."),
]


def complete(path: Path, *, several: bool = True) -> list[Path]:
    """Return `path`, or the run directories in it: a scenario's folder, or one of those."""
    found = rundir.runs_in(path) if several or rundir.is_run(path) else []
    if not path.exists():
        raise ScenarioError(path, "", "no such folder", nearest_file(path, folders=True))
    if not found:
        raise ScenarioError(path, "", "not a run directory (no metrics.json)")
    return found
