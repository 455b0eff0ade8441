"""`notebooks`: the course, copied out of the package."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
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
    for command in commands(str(folder)):
        console.say(f"next: {command}")


def commands(folder: str) -> list[str]:
    """Return what opens the notebooks here: first what installs, where something is missing."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    found: list[list[str]] = []
    if missing and importlib.util.find_spec("pip"):
        found.append([_python(), "-m", "pip", "install", *missing])
    elif missing:
        found.append(["uv", "pip", "install", "--python", sys.executable, *missing])
    found.append([_python(), "-m", "jupyterlab", folder])
    return [shlex.join(command) for command in found]


def _python() -> str:
    """Return this interpreter as a shell finds it: by name, where that leads here."""
    found = shutil.which("python")
    is_here = found is not None and Path(found).parent == Path(sys.executable).parent
    return "python" if is_here else sys.executable


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


_NEEDED = ("jupyterlab", "ipykernel", "ipywidgets", "matplotlib", "nbformat")
"""What shows notebooks, and what theirs need: the extra `notebook`."""
