"""What commands of a sweep share: their options, and the study that these name."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pocketsim.api.progress import span
from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import OUT, document, one_of
from pocketsim.sim.base.errors import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.api.study import Status, Study
    from pocketsim.sim.run.sweep import Run

SweepFile = Annotated[Path, document("Sweep (TOML), a file or a name.", "FILE", "sweep")]
Shard = Annotated[str, typer.Option("--shard", help="Only part I of N.", metavar="I/N")]
Kept = Literal["events", "metrics"]
Keep = Annotated[
    Kept,
    typer.Option(
        help="events: a directory for each run; metrics: one table of all metrics.",
        metavar="events|metrics",
        parser=one_of(Kept, "--keep"),
    ),
]
WHOLE = "1/1"


def study_of(file: Path, out: Path, shard: str) -> Study:
    """Return what a command's argument and options name."""
    from pocketsim.api.study import Study

    # No number of thousands of digits: Python refuses to read those.
    said = re.fullmatch(r"(\d{1,9})/(\d{1,9})", shard)
    number, count = map(int, said.groups()) if said else (0, 0)
    if not 1 <= number <= count:
        reason = f"{shown(repr(shard))} is not I/N with 1 <= I <= N"
        raise typer.BadParameter(reason, param_hint="--shard")
    return Study(file, out, (number, count))


def run_command(file: Path, out: Path, shard: str) -> str:
    """Return the line that runs what these options name."""
    words = ["pocketsim", "sweep", "run", str(file)]
    if out != OUT:
        words += ["--out", str(out)]
    if shard != WHOLE:
        words += ["--shard", shard]
    return shlex.join(words)


def run_row(run: Run, status: str) -> dict[str, Any]:
    """Return what JSON says of a run."""
    return {
        "set": run.at.overrides,
        "point": run.place,
        "directory": str(run.directory),
        "status": status,
    }


def status_numbers(status: Status) -> dict[str, Any]:
    """Return what JSON says of how far a sweep is."""
    found = {"points": status.points, "runs": status.runs, "repetitions": status.repetitions}
    return {**found, "expected_s": status.expected_s}


def show_status(status: Status) -> None:
    """Print how far a sweep is."""
    console.data(f"points: {status.points}")
    console.data(f"runs: {_counted(status.runs)}")
    console.data(f"repetitions: {_counted(status.repetitions)}")
    if status.expected_s is not None and status.runs["missing"]:
        console.data(f"expected: {span(status.expected_s)} for what is missing")


def _counted(numbers: Mapping[str, int]) -> str:
    states = ", ".join(f"{numbers[state]} {WORDS[state]}" for state in _STATES if numbers[state])
    return f"{numbers['all']} ({states})" if states else str(numbers["all"])


WORDS = {"there": "there", "missing": "missing", "busy": "being run"}
_STATES = tuple(WORDS)
EXIT_SOME_LACK = 4
