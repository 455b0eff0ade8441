"""`calibrate published` and `calibrate sensitivity`: what published rows say of our numbers."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.api.documents.catalog import document_file
from pocketsim.cli.runs.run import Jobs
from pocketsim.cli.ui import completion, console, output_paths
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.run.children import default_jobs

if TYPE_CHECKING:
    from pocketsim.calibration.fit.inverse.remake import Result
    from pocketsim.calibration.fit.inverse.trials import Trial
    from pocketsim.calibration.validate.sensitivity import Entry


def published(
    fit: Annotated[
        Path,
        typer.Argument(
            help="Fit document (TOML), a file or a name.",
            metavar="FIT",
            autocompletion=completion.documents("fit"),
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="Result to write (TOML); runs/fits/FIT.toml.", metavar="FILE"
        ),
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Make the numbers of a fit document again from published rows, by simulation.

    Trials are kept in a journal beside the result: what was interrupted goes on from there. No
    profile or scenario is changed.
    """
    from pocketsim.calibration.fit.inverse.remake import as_toml, remake

    result_file = out or Path("runs/fits") / f"{fit.stem}.toml"
    output_paths.check_outside_runs(result_file)
    journal = output_paths.journal_of(result_file)
    started_s = time.monotonic()
    with output_paths.writing(result_file):
        result = remake(document_file(fit, "fit"), journal, jobs or default_jobs(), _tell)
    with output_paths.replacing(result_file) as aside:
        aside.write_text(as_toml(result), encoding="utf-8")
    _print(result)
    took_s = time.monotonic() - started_s
    console.say(f"{result.evaluations} trials in {took_s:.0f} s; loss {result.best.loss():.4g}")
    output_paths.tell(result_file)


def sensitivity(
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Table to write (TOML).", metavar="FILE")
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", help="Numbers alone, such as 'moto_g04s:operations.*'.", metavar="PATTERN"
        ),
    ] = None,
    subset: Annotated[
        list[str] | None,
        typer.Option(
            "--subset",
            help="Groups or ids of published rows, as udp or 'B1_*'.",
            autocompletion=completion.subsets,
        ),
    ] = None,
    repetitions: Annotated[
        int, typer.Option("--repetitions", min=2, help="Of each run; twice as many to make sure.")
    ] = 4,
    samples: Annotated[
        int, typer.Option("--samples", min=0, help="Of Sobol' indices, a power of 2; 0 for none.")
    ] = 64,
    jobs: Jobs = None,
) -> None:
    """Double every number, one at a time, and tell what that moves of what published rows say.

    What is made is kept in a journal beside the table: what was interrupted goes on from there. No
    profile or scenario is changed.
    """
    from pocketsim.calibration.fit.inverse import sensitivity as table
    from pocketsim.sim.base.designs import doubt_of_samples

    if samples & (samples - 1):
        raise UserError(f"--samples must be a power of 2, as 64, not {samples}")
    if samples and (doubt := doubt_of_samples(samples)):
        console.say(f"warning: {doubt}")
    output_paths.check_outside_runs(out)
    chosen = table.Options(
        tuple(only) if only else None, tuple(subset) if subset else None, repetitions, samples
    )
    journal = output_paths.journal_of(out)
    with output_paths.writing(out):
        found = table.make(chosen, journal, jobs or default_jobs(), _tell_entry, _tell_points)
    with output_paths.replacing(out) as aside:
        aside.write_text(table.as_toml(found), encoding="utf-8")
    verdicts = Counter(entry.verdict for entry in found.entries)
    console.table("what doubling does", ("verdict", "numbers"), sorted(verdicts.items()))
    output_paths.tell(out)


def _tell_entry(entry: Entry, number: int, count: int) -> None:
    moved = f", {entry.change.row} by {entry.change.ratio:+.1%}" if entry.change else ""
    name = f"{Path(entry.documents[0]).stem}:{entry.key}"
    console.say(f"{number}/{count} {name}: {entry.verdict}{moved}")


def _tell_points(done: int, count: int) -> None:
    console.say(f"Sobol' indices: {done} of {count} points")


def _tell(trial: Trial, number: int) -> None:
    if number % _EVERY == 0:
        console.say(f"trial {number}: loss {trial.loss():.4g}")


def _print(result: Result) -> None:
    from pocketsim.calibration.fit.inverse.remake import parameter_table

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
