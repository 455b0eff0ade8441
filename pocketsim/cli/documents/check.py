"""`check`: documents are checked, and nothing is run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.api.documents.catalog import KINDS, document_file
from pocketsim.cli.documents.show import lines_of_files
from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import document
from pocketsim.cli.ui.warnings import warn
from pocketsim.sim.base.errors import UserError

if TYPE_CHECKING:
    from pocketsim.sim.scenario.load import Document
    from pocketsim.sim.scenario.resolved import Resolved


def check(
    files: Annotated[
        list[Path],
        document("Scenarios, sweeps or profiles (TOML), files or names.", "FILE...", *KINDS),
    ],
) -> None:
    """Check documents without running; exit 2 on a mistake."""
    failed = False
    for file in files:
        try:
            found = _check(document_file(file, *KINDS))
        except UserError as error:
            console.fail(str(error))
            failed = True
        else:
            console.say(f"{file}: ok")
            for line in found:
                console.say(f"{file}: {line}")
    if failed:
        raise typer.Exit(_EXIT_INVALID)


def _check(file: Path) -> list[str]:
    """Check a document, or raise UserError; return what to know of a scenario's files."""
    from pocketsim.api.documents import reach
    from pocketsim.sim.base.documents import read_toml
    from pocketsim.sim.devices import implementation, profile
    from pocketsim.sim.scenario import contact_law, resolve
    from pocketsim.sim.scenario.load import load

    _, data = read_toml(file)
    if "sweep" in data:
        from pocketsim.api.study import Study  # the only one that needs numpy

        points = Study(file).sweep.points
        warn(task.document for point in points for task in point.tasks)
    elif isinstance(data.get("device"), dict):
        profile.load(file)
    elif isinstance(data.get("implementation"), dict):
        implementation.load(file)
    elif isinstance(data.get("law"), dict):
        contact_law.load(file)
    else:
        document = load(file)
        resolved = resolve.check(document)
        warn([document])
        found = [*lines_of_files(document), *_lines_of_core(resolved, document)]
        return [*found, *reach.lines(document)]
    return []


def _lines_of_core(resolved: Resolved, document: Document) -> list[str]:
    """Return which netpoints the sites of a scenario with a platform are at, and how far apart."""
    if "core" not in resolved["network"]:
        return []
    from pocketsim.sim.run import core_sites  # which loads numpy

    return core_sites.lines(resolved, document.paths())


_EXIT_INVALID = 2
