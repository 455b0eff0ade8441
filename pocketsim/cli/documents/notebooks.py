"""`notebooks`: the course, copied out of the package."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from pocketsim.api.documents import catalog
from pocketsim.cli.ui import console, output_paths
from pocketsim.sim.base.errors import ScenarioError


def notebooks(
    folder: Annotated[
        Path, typer.Argument(help="Target folder; created if missing.", metavar="DIR")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite notebooks that were changed.")
    ] = False,
) -> None:
    """Copy the notebooks out of the package, to read, run and change.

    What is there and differs is yours: without --force nothing is written then, exit 2.
    """
    copies = {folder / file.name: file.read_bytes() for file in catalog.notebooks()}
    for copy, content in copies.items():
        output_paths.check_outside_runs(copy)
        if not force and os.path.lexists(copy) and not _holds(copy, content):
            reason = "is there already and differs; --force overwrites it"
            raise ScenarioError(copy, "", reason)
    for copy, content in copies.items():
        output_paths.write(copy, content)
    console.say(f"next: {shlex.join(['jupyter', 'lab', str(folder)])}")


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content
