"""`new`: a scenario to begin with, and a sweep over it."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from pocketsim.cli.ui import console, output_paths
from pocketsim.cli.ui.options import document_option
from pocketsim.sim.base.errors import ScenarioError


def new(
    name: Annotated[
        Path, typer.Argument(help="Name of the scenario; may be in another folder.", metavar="NAME")
    ],
    base: Annotated[
        Path | None,
        document_option(
            "--from",
            "Scenario to copy, a file or a name; default: a commented template.",
            "SCENARIO",
            "scenario",
        ),
    ] = None,
) -> None:
    """Write a scenario that runs as it is, NAME.toml, and a sweep over it, NAME_sweep.toml.

    Nothing is overwritten: exit 2 if there is such a file.
    """
    from pocketsim.api.documents import templates

    stem = name.stem if name.suffix == ".toml" else name.name
    if not re.fullmatch(r"\w[\w.-]*", stem):
        reason = "a name is of letters, digits, '_', '-' and '.', and begins with a letter or digit"
        raise ScenarioError("NAME", "", f"{reason}, not {str(name)!r}")
    files = [name.with_name(f"{stem}{end}.toml") for end in ("", "_sweep")]
    for file in files:
        output_paths.check_outside_runs(file)
        if os.path.lexists(file):
            raise ScenarioError(file, "", "is there already; nothing is overwritten")
    for file, text in zip(files, templates.texts(name.parent, stem, base), strict=True):
        output_paths.write(file, text)
    console.say(f"next: {shlex.join(['pocketsim', 'run', str(files[0])])}")
