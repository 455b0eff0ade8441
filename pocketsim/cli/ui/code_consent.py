"""Whether code that a scenario names is run: what lies outside its folder takes a yes.

Whoever hands a scenario on hands its folder on, and code in that is there to be read. A path that
leads elsewhere runs something that nobody handed over. What is installed under a name was installed
by the user, and what an override names was named by them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.cli.ui import console
from pocketsim.sim.base.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pocketsim.sim.scenario.load import Document

AllowCode = Annotated[
    bool,
    typer.Option("--allow-code", help="Run code that lies outside the scenario's folder, too."),
]


def ask(documents: Iterable[Document], *, allow: bool) -> None:
    """Return where all code may be run; each file outside is asked for once, on a terminal.

    Raises ScenarioError where nobody can be asked, or the answer is no.
    """
    if allow:
        return
    asked = set()
    for document in documents:
        for place, file in document.code_outside().items():
            if file in asked:
                continue
            reason = f"runs {file}, which lies outside the scenario's folder; read it"
            if not sys.stdin.isatty():
                raise ScenarioError(document.path, place, f"{reason}, and say --allow-code")
            console.fail(f"{document.path}: {place} {reason} first\nRun it? [y/N]")
            # What asks by itself writes to stdout, where data are.
            if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
                raise ScenarioError(document.path, place, f"{file} was not to be run")
            asked.add(file)
