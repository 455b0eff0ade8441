"""`calibrate sensitivity`: what published rows say of each number."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.cli.ui import completion, console, output_paths
from pocketsim.cli.ui.options import Jobs, output
from pocketsim.sim.base import defaults
from pocketsim.sim.base.errors import UserError

if TYPE_CHECKING:
    from pocketsim.calibration.validate.sensitivity import Entry


def sensitivity(
    out: Annotated[Path, output("Table to write (TOML).")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="Only these numbers, such as 'moto_g04s:operations.*'.",
            metavar="PATTERN",
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
        int,
        typer.Option(
            "--repetitions", min=2, help="Repetitions of each run; twice as many confirm a change."
        ),
    ] = 4,
    samples: Annotated[
        int,
        typer.Option(
            "--samples", min=0, help="Samples of Sobol' indices, a power of 2; 0 for none."
        ),
    ] = 64,
    jobs: Jobs = None,
) -> None:
    """Double every number, one at a time, and report which published rows change.

    What is made is kept in a journal beside the table: what was interrupted goes on from there. No
    profile or scenario is changed.
    """
    from pocketsim.calibration.inverse import sensitivity as table
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
        found = table.make(chosen, journal, jobs or defaults.jobs(), _tell_entry, _tell_points)
    output_paths.put(out, table.as_toml(found))
    verdicts = Counter(entry.verdict for entry in found.entries)
    console.table("what doubling does", ("verdict", "numbers"), sorted(verdicts.items()))
    output_paths.tell(out)


def _tell_entry(entry: Entry, number: int, count: int) -> None:
    moved = f", {entry.change.row} by {entry.change.ratio:+.1%}" if entry.change else ""
    name = f"{Path(entry.documents[0]).stem}:{entry.key}"
    console.say(f"{number}/{count} {name}: {entry.verdict}{moved}")


def _tell_points(done: int, count: int) -> None:
    console.say(f"Sobol' indices: {done} of {count} points")
