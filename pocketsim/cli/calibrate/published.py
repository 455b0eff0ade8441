"""`calibrate published`: numbers of a fit made again from published rows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pocketsim.api.documents.catalog import document_file
from pocketsim.cli.ui import console, output_paths
from pocketsim.cli.ui.options import Jobs, document, output
from pocketsim.sim.base import defaults

if TYPE_CHECKING:
    from pocketsim.calibration.inverse.remake import Result
    from pocketsim.calibration.inverse.trials import Trial


def published(
    fit: Annotated[Path, document("Fit document (TOML), a file or a name.", "FIT", "fit")],
    out: Annotated[Path | None, output("Result to write (TOML); runs/fits/FIT.toml.")] = None,
    jobs: Jobs = None,
) -> None:
    """Fit the numbers of a fit document to published rows again, by simulation.

    Trials are kept in a journal beside the result: what was interrupted goes on from there. No
    profile or scenario is changed.
    """
    from pocketsim.calibration.inverse.remake import as_toml, remake

    result_file = out or Path("runs/fits") / f"{fit.stem}.toml"
    output_paths.check_outside_runs(result_file)
    journal = output_paths.journal_of(result_file)
    started_s = time.monotonic()
    with output_paths.writing(result_file):
        result = remake(document_file(fit, "fit"), journal, jobs or defaults.jobs(), _tell)
    output_paths.put(result_file, as_toml(result))
    _print(result)
    took_s = time.monotonic() - started_s
    console.say(f"{result.evaluations} trials in {took_s:.0f} s; loss {result.best.loss():.4g}")
    output_paths.tell(result_file)


def _tell(trial: Trial, number: int) -> None:
    if number % _EVERY == 0:
        console.say(f"trial {number}: loss {trial.loss():.4g}")


def _print(result: Result) -> None:
    from pocketsim.calibration.inverse.remake import parameter_table

    rows = []
    for number in range(len(result.loaded.fit.parameters)):
        told = parameter_table(result, number)
        within = told.get("within", [told.get("low"), told.get("high")])
        said = ", ".join(map(str, within)) if "within" in told else " to ".join(map(str, within))
        today = f"{told['today']}{'' if told['today_is_within'] else ' (outside)'}"
        rows.append((told["name"], str(told["value"]), said, told["verdict"], today))
    head = ("parameter", "value", "95 %", "verdict", "today")
    console.table(result.loaded.fit.title, head, rows)


_EVERY = 10  # trials to a line of progress
