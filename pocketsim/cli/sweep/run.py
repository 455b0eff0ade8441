"""`sweep run`: what a sweep still lacks is run."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pocketsim.cli.runs.run import start
from pocketsim.cli.sweep.study import (
    EXIT_SOME_LACK,
    WHOLE,
    Keep,
    Shard,
    SweepFile,
    run_row,
    study_of,
)
from pocketsim.cli.ui import code_consent, console
from pocketsim.cli.ui.code_consent import AllowCode
from pocketsim.cli.ui.options import OUT, AsJson, Out, one_of
from pocketsim.cli.ui.warnings import warn
from pocketsim.sim.base import defaults
from pocketsim.sim.base.errors import UserError, shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from distributed import Client

    from pocketsim.api.study import Study

Executor = Literal["local", "dask"]


def run(  # noqa: PLR0913 - each is an option
    file: SweepFile,
    *,
    out: Out = OUT,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", min=1, help=f"Children at a time ({defaults.JOBS}), or runs of dask's (256)."
        ),
    ] = None,
    shard: Shard = WHOLE,
    keep: Keep = "events",
    executor: Annotated[
        Executor,
        typer.Option(
            help="local: runs are made here; dask: by workers.",
            metavar="local|dask",
            parser=one_of(Executor, "--executor"),
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
    """Run the missing runs of a sweep; prints all run directories that exist then.

    The finding, as its report begins with it, goes to stderr.
    Exit 4 if some runs failed, were left for want of time, or are still being run by another
    process. With --keep metrics, the runs of this shard leave one table, which is printed, and no
    directories.
    """
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
            keep=keep,
            start=lambda tasks, way: start(tasks, jobs, keep_going=True, way=way),
            client=client,
            scratch=scratch,
            before=ends,
        )
    # What another process ended meanwhile may ask for further runs, which nobody has begun.
    rows = [
        run_row(run, found[run.directory].status if run.directory in found else "left")
        for run in study.sweep.runs()
    ]
    for outcome in found.values():
        if outcome.error:
            console.fail(f"{outcome.directory}: {outcome.error}")
    lacking = [row for row in rows if row["status"] in {"failed", "busy", "left"}]
    if as_json:
        console.json_data({"runs": rows})
    else:
        # Several points may share one.
        for path in dict.fromkeys(_kept(study, row) for row in rows if row not in lacking):
            console.data(path)
    if lacking:
        raise typer.Exit(EXIT_SOME_LACK)
    if keep == "events" and shard == WHOLE and not as_json and console.level() >= 0:
        try:
            console.say(study.finding)
        except UserError as error:  # its runs are there: what its report asks for is another matter
            console.say(f"warning: {error}")


def _kept(study: Study, row: Mapping[str, Any]) -> str:
    """Return where what is kept of a run lies."""
    directory = Path(row["directory"])
    return str(directory if directory.is_dir() else study.packs)


def _check_executor(executor: str, of_this: Mapping[str, object], scheduler: str | None) -> None:
    """Refuse options that are of another executor."""
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
    from pocketsim.sim.run import dask_backend

    return dask_backend.connected(scheduler)
