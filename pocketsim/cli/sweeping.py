"""`sweep run`, `plan` and `collect`: run what a grid lacks, say what that is, put it together."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.catalog import document_file
from pocketsim.cli import completion, console, targets
from pocketsim.cli.running import AsJson, Jobs, Out, start
from pocketsim.cli.warning import warn
from pocketsim.sim.base import axes
from pocketsim.sim.base.errors import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.sim.run.sweep import Point, Run

SweepFile = Annotated[
    Path,
    typer.Argument(
        help="Sweep (TOML), a file or a name.",
        metavar="FILE",
        autocompletion=completion.documents("sweep"),
    ),
]
Shard = Annotated[str, typer.Option("--shard", help="Only part I of N.", metavar="I/N")]
_OUT, _WHOLE = Path("runs"), "1/1"


def run(
    file: SweepFile,
    out: Out = _OUT,
    jobs: Jobs = None,
    shard: Shard = _WHOLE,
    as_json: AsJson = False,
) -> None:
    """Run what a sweep still lacks; prints the run directories that are there then.

    Exit 4 if some runs failed or are still being run by another process.
    """
    from pocketsim.sim.run import sweep

    points = _points(file, out, shard)
    warn(task.document for point in points for task in point.tasks)
    outcomes = start(sweep.unique_tasks(points), jobs, keep_going=True)
    # Of a run that several tasks have in them, that it ran counts.
    found = {
        outcome.directory: outcome
        for outcome in sorted(outcomes, key=lambda outcome: outcome.status == "ran")
    }
    rows = [_row(run, found[run.directory].status) for run in sweep.runs(points)]
    for outcome in found.values():
        if outcome.error:
            console.fail(f"{outcome.directory}: {outcome.error}")
    lacking = [row for row in rows if row["status"] in {"failed", "busy"}]
    if as_json:
        console.data(json.dumps({"runs": rows}, indent=1))
    else:
        # Several points may share one.
        for directory in dict.fromkeys(row["directory"] for row in rows if row not in lacking):
            console.data(directory)
    if lacking:
        raise typer.Exit(_EXIT_SOME_LACK)


def plan(file: SweepFile, out: Out = _OUT, shard: Shard = _WHOLE, as_json: AsJson = False) -> None:
    """Show the points of a sweep and which of their runs are there; runs nothing."""
    from pocketsim.sim.run import sweep

    points = _points(file, out, shard)
    every = list(sweep.runs(points))
    states = {run.directory: run.state for run in every}
    repetitions = {run.directory: run.rung.resolved["run"]["repetitions"] for run in every}
    runs = dict.fromkeys(states, 1)
    numbers: dict[str, Any] = {"points": len(points), "runs": _by_state(runs, states)}
    numbers["repetitions"] = _by_state(repetitions, states)
    if as_json:
        rows = [_row(run, states[run.directory]) for run in every]
        console.data(json.dumps({**numbers, "rows": rows}, indent=1))
        return
    for key, of_state in numbers.items():
        console.data(f"{key}: {_counted(of_state)}")
    cells = [
        (*map(axes.text, run.at.values.values()), run.directory, _WORDS[states[run.directory]])
        for run in every
    ]
    head = (*(points[0].values if points else ()), "run directory", "status")
    console.table("points", head, cells)


def collect(
    file: SweepFile,
    table: Annotated[
        Path,
        typer.Option("-o", "--table", help="File to write: .parquet or .csv.", metavar="TABLE"),
    ],
    out: Out = _OUT,
    shard: Shard = _WHOLE,
) -> None:
    """Write what a sweep found as one table, a row for each run and repetition.

    Exit 4 if some runs are missing; the others are written.
    """
    from pocketsim.sim.run import collect as collecting
    from pocketsim.sim.run import sweep

    targets.check_outside_runs(table)
    as_csv = bool(table.suffix) and targets.by_suffix(table, _IS_CSV)
    points = _points(file, out, shard)
    found, missing = collecting.table(points)
    if missing:
        every = len({run.directory for run in sweep.runs(points)})
        remedy = f"`{_command(file, out, shard)}` makes them"
        console.fail(f"{len(missing)} of {every} runs are missing; {remedy}")
    if found.num_rows:
        with targets.replacing(table) as aside:
            collecting.write(found, aside, as_csv=as_csv)
        targets.tell(table)
    if missing:
        raise typer.Exit(_EXIT_SOME_LACK)


def _points(file: Path, out: Path, shard: str) -> Sequence[Point]:
    from pocketsim.sim.run import sweep

    # No number of thousands of digits: Python refuses to read those.
    said = re.fullmatch(r"(\d{1,9})/(\d{1,9})", shard)
    number, count = map(int, said.groups()) if said else (0, 0)
    if not 1 <= number <= count:
        reason = f"{shown(repr(shard))} is not I/N with 1 <= I <= N"
        raise typer.BadParameter(reason, param_hint="--shard")
    return sweep.load_sweep(document_file(file, "sweep"), out, number, count)


def _command(file: Path, out: Path, shard: str) -> str:
    """Return the line that runs what these options name."""
    words = ["pocketsim", "sweep", "run", str(file)]
    if out != _OUT:
        words += ["--out", str(out)]
    if shard != _WHOLE:
        words += ["--shard", shard]
    return shlex.join(words)


def _row(run: Run, status: str) -> dict[str, Any]:
    return {
        "set": run.at.overrides,
        "point": run.place(),
        "directory": str(run.directory),
        "status": status,
    }


def _by_state(amounts: Mapping[Path, int], states: Mapping[Path, str]) -> dict[str, int]:
    """Return the sum of the amounts of runs, in all and of those in each state."""
    of_state = {
        state: sum(amounts[directory] for directory, its in states.items() if its == state)
        for state in _STATES
    }
    return {"all": sum(amounts.values()), **of_state}


def _counted(numbers: Any) -> str:
    if isinstance(numbers, int):
        return str(numbers)
    states = ", ".join(f"{numbers[state]} {_WORDS[state]}" for state in _STATES if numbers[state])
    return f"{numbers['all']} ({states})" if states else str(numbers["all"])


_WORDS = {"there": "there", "missing": "missing", "busy": "being run"}
_STATES = tuple(_WORDS)
_IS_CSV = {".parquet": False, ".csv": True}
_EXIT_SOME_LACK = 4
