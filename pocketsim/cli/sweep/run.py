"""`sweep run`, `plan`, `status`, `collect`, `report`: from a file to a table and a page."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.api.progress import span
from pocketsim.cli.runs import report as run_report
from pocketsim.cli.runs.run import AsJson, Jobs, Out, start
from pocketsim.cli.ui import code_consent, completion, console, output_paths
from pocketsim.cli.ui.code_consent import AllowCode
from pocketsim.cli.ui.warnings import warn
from pocketsim.sim.base import axes
from pocketsim.sim.base.errors import shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from distributed import Client

    from pocketsim.api.study import Status, Study
    from pocketsim.sim.run.sweep import Run

SweepFile = Annotated[
    Path,
    typer.Argument(
        help="Sweep (TOML), a file or a name.",
        metavar="FILE",
        autocompletion=completion.documents("sweep"),
    ),
]
Shard = Annotated[str, typer.Option("--shard", help="Only part I of N.", metavar="I/N")]
Keep = Annotated[
    str,
    typer.Option(
        help="events: a directory for each run; metrics: one table of all metrics.",
        metavar="events|metrics",
        autocompletion=lambda: ["events", "metrics"],
    ),
]
_OUT, _WHOLE = Path("runs"), "1/1"


def run(  # noqa: PLR0913 - each is an option
    file: SweepFile,
    *,
    out: Out = _OUT,
    jobs: Jobs = None,
    shard: Shard = _WHOLE,
    keep: Keep = "events",
    executor: Annotated[
        str,
        typer.Option(
            help="local: runs are made here; dask: by workers.",
            metavar="local|dask",
            autocompletion=lambda: list(_EXECUTORS),
        ),
    ] = "local",
    scheduler: Annotated[
        str | None,
        typer.Option(help="Dask's: its address, or the file that it wrote.", metavar="ADDRESS"),
    ] = None,
    scratch: Annotated[
        Path | None, typer.Option(help="Folder of this machine to make runs in.", metavar="DIR")
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(
            help="Begin no run that would not end before a time: ISO 8601, or seconds since 1970.",
            metavar="TIME",
        ),
    ] = None,
    allow_code: AllowCode = False,
    as_json: AsJson = False,
) -> None:
    """Run what a sweep still lacks; prints the run directories that are there then.

    Exit 4 if some runs failed, were left for want of time, or are still being run by another
    process. With --keep metrics, the runs of this shard leave one table, which is printed, and no
    directories.
    """
    check_kept(keep)
    _check_executor(executor, {"--scratch": scratch, "--before": before}, scheduler)
    if scratch is not None and not scratch.is_dir():
        raise typer.BadParameter(f"{scratch} is no folder", param_hint="--scratch")
    ends = _time(before)
    study = study_of(file, out, shard)
    warn(task.document for point in study.sweep.points for task in point.tasks)
    code_consent.ask(
        (task.document for point in study.sweep.points for task in point.tasks), allow=allow_code
    )
    with _client(executor, scheduler) as client:
        found = study.run(
            jobs,
            keep="metrics" if keep == "metrics" else "events",
            start=lambda tasks, way: start(tasks, jobs, keep_going=True, way=way),
            client=client,
            scratch=scratch,
            before=ends,
        )
    # What another process ended meanwhile may ask for further runs, which nobody has begun.
    rows = [
        _row(run, found[run.directory].status if run.directory in found else "left")
        for run in study.sweep.runs()
    ]
    for outcome in found.values():
        if outcome.error:
            console.fail(f"{outcome.directory}: {outcome.error}")
    lacking = [row for row in rows if row["status"] in {"failed", "busy", "left"}]
    if as_json:
        console.data(json.dumps({"runs": rows}, indent=1))
    else:
        # Several points may share one.
        for path in dict.fromkeys(_kept(study, row) for row in rows if row not in lacking):
            console.data(path)
    if lacking:
        raise typer.Exit(_EXIT_SOME_LACK)


def _kept(study: Study, row: Mapping[str, Any]) -> str:
    """Return where what is kept of a run lies."""
    directory = Path(row["directory"])
    return str(directory if directory.is_dir() else study.packs)


def plan(
    file: SweepFile,
    out: Out = _OUT,
    jobs: Jobs = None,
    shard: Shard = _WHOLE,
    as_json: AsJson = False,
) -> None:
    """Show the points of a sweep and which of their runs are there; runs nothing."""
    study = study_of(file, out, shard)
    status = study.status(jobs)
    every = [(run, run.state) for run in study.sweep.runs()]
    if as_json:
        rows = [_row(run, state) for run, state in every]
        console.data(json.dumps({**_numbers(status), "rows": rows}, indent=1))
        return
    _show(status)
    cells = [
        (*map(axes.text, run.at.values.values()), run.directory, _WORDS[state])
        for run, state in every
    ]
    head = (
        *(study.sweep.points[0].values if study.sweep.points else ()),
        "run directory",
        "status",
    )
    console.table("points", head, cells)


def status(
    file: SweepFile,
    out: Out = _OUT,
    jobs: Jobs = None,
    shard: Shard = _WHOLE,
    watch: Annotated[
        bool, typer.Option("--watch", help="Say it again whenever it changes, until all is there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say how far a sweep is, also while another process runs it; exit 4 if runs are missing."""
    said = None
    while True:
        now = study_of(file, out, shard).status(jobs)
        is_done = now.runs["there"] == now.runs["all"]
        if now != said:
            if as_json:
                console.data(json.dumps(_numbers(now)))
            else:
                _show(now)
        if is_done or not watch:
            break
        said = now
        time.sleep(_WATCH_S)
    if not is_done:
        raise typer.Exit(_EXIT_SOME_LACK)


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

    output_paths.check_outside_runs(table)
    as_csv = bool(table.suffix) and output_paths.by_suffix(table, _IS_CSV)
    study = study_of(file, out, shard)
    found, missing = collecting.table(study.sweep)
    if missing:
        every = len({run.directory for run in study.sweep.runs()})
        remedy = f"`{_command(file, out, shard)}` makes them"
        console.fail(f"{len(missing)} of {every} runs are missing; {remedy}")
    if found.num_rows:
        with output_paths.replacing(table) as aside:
            collecting.write(found, aside, as_csv=as_csv)
        output_paths.tell(table)
    if missing:
        raise typer.Exit(_EXIT_SOME_LACK)


def report(
    file: SweepFile,
    page: Annotated[
        Path, typer.Option("-o", "--page", help="HTML file to write.", metavar="PAGE")
    ] = Path("report.html"),
    plotly_js: run_report.PlotlyJs = None,
    out: Out = _OUT,
    shard: Shard = _WHOLE,
) -> None:
    """Write one HTML page about the runs of a sweep that are there.

    Runs of which only metrics were kept have no page.
    """
    study = study_of(file, out, shard)
    directories = [run.directory for run in study.runs]
    if not directories:
        remedy = f"`{_command(file, out, shard)}` makes them"
        console.fail(f"no run has a directory; {remedy}")
        raise typer.Exit(_EXIT_SOME_LACK)
    run_report.report(directories, page, plotly_js)


def check_kept(keep: str) -> None:
    """Refuse what cannot be kept."""
    if keep not in _KEPT:
        reason = f"{shown(repr(keep))} is neither of {', '.join(_KEPT)}"
        raise typer.BadParameter(reason, param_hint="--keep")


def _check_executor(executor: str, of_this: Mapping[str, object], scheduler: str | None) -> None:
    """Refuse an executor that is not known, and options that are of another."""
    if executor not in _EXECUTORS:
        reason = f"{shown(repr(executor))} is neither of {', '.join(_EXECUTORS)}"
        raise typer.BadParameter(reason, param_hint="--executor")
    if executor == "local" and scheduler is not None:
        raise typer.BadParameter("is for --executor dask", param_hint="--scheduler")
    for name, value in of_this.items():
        if executor == "dask" and value is not None:
            raise typer.BadParameter("is for runs that are made here", param_hint=name)


def _time(text: str | None) -> datetime | None:
    """Return a point in time as it was said; without a zone it is of this machine's."""
    if text is None:
        return None
    try:
        is_number = re.fullmatch(r"\d{1,11}", text)
        found = (
            datetime.fromtimestamp(int(text), UTC) if is_number else datetime.fromisoformat(text)
        )
        found.timestamp()
    except (ValueError, OverflowError, OSError):
        reason = f"{shown(repr(text))} is no time, such as 2026-11-24T08:00"
        raise typer.BadParameter(reason, param_hint="--before") from None
    return found


def _client(executor: str, scheduler: str | None) -> AbstractContextManager[Client | None]:
    if executor == "local":
        return contextlib.nullcontext()
    from pocketsim.sim.run import pool

    return pool.connected(scheduler)


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
        "point": run.place,
        "directory": str(run.directory),
        "status": status,
    }


def _numbers(status: Status) -> dict[str, Any]:
    found = {"points": status.points, "runs": status.runs, "repetitions": status.repetitions}
    return {**found, "expected_s": status.expected_s}


def _show(status: Status) -> None:
    console.data(f"points: {status.points}")
    console.data(f"runs: {_counted(status.runs)}")
    console.data(f"repetitions: {_counted(status.repetitions)}")
    if status.expected_s is not None and status.runs["missing"]:
        console.data(f"expected: {span(status.expected_s)} for what is missing")


def _counted(numbers: Mapping[str, int]) -> str:
    states = ", ".join(f"{numbers[state]} {_WORDS[state]}" for state in _STATES if numbers[state])
    return f"{numbers['all']} ({states})" if states else str(numbers["all"])


_WORDS = {"there": "there", "missing": "missing", "busy": "being run"}
_STATES = tuple(_WORDS)
_IS_CSV = {".parquet": False, ".csv": True}
_KEPT = ("events", "metrics")
_EXECUTORS = ("local", "dask")
_WATCH_S = 2.0  # soon enough for who watches, seldom enough for a shared file system
_EXIT_SOME_LACK = 4
