"""`run`: start runs and say where they are."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.api.documents.catalog import document_file
from pocketsim.cli.ui import code_consent, console, progress, run_summary
from pocketsim.cli.ui.code_consent import AllowCode
from pocketsim.cli.ui.options import OUT, AsJson, Jobs, Out, Overrides, ScenarioFile, from_here
from pocketsim.cli.ui.warnings import warn
from pocketsim.sim.base import defaults

if TYPE_CHECKING:
    from pocketsim.sim.run.backend import Backend
    from pocketsim.sim.run.runner import Task


def run(  # noqa: PLR0913 - each is an option
    file: ScenarioFile,
    overrides: Overrides = None,
    *,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Replaces run.seed.")] = None,
    out: Out = OUT,
    as_json: AsJson = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check and list the runs, run nothing.")
    ] = False,
    jobs: Jobs = None,
    allow_code: AllowCode = False,
) -> None:
    """Run a scenario; prints its run directories, and their main metrics to stderr.

    With --json, prints their metrics instead. Runs that are there already are not repeated. Python
    files and libraries that the scenario names are run: those outside its folder after a yes.
    """
    changes = [*(overrides or []), *([f"run.seed={seed}"] if seed is not None else [])]
    if dry_run:
        _show(file, changes, out)
        return
    from pocketsim.sim.run.backend import LocalBackend

    backend = LocalBackend(jobs or defaults.jobs())
    try:
        backend.begin()  # which takes as long as to load and to check a scenario
        _run(file, changes, out, backend, as_json=as_json, allow_code=allow_code)
    finally:
        backend.stop()


def _show(file: Path, changes: list[str], out: Path) -> None:
    """Print which directories a scenario's runs would have."""
    for task in _tasks(file, changes, out):
        for rung in task.rungs:
            console.data(str(task.folder / rung.name))


def _tasks(file: Path, changes: list[str], out: Path) -> list[Task]:
    """Return what is to run for a scenario, and say what to know of it."""
    from pocketsim.sim.run import runner
    from pocketsim.sim.scenario.load import load

    document = load(document_file(file, "scenario"), from_here(changes))
    tasks = runner.tasks_of(document, out)
    warn([document])
    return tasks


def _run(
    file: Path, changes: list[str], out: Path, backend: Backend, *, as_json: bool, allow_code: bool
) -> None:
    """Run a scenario by a backend, and say what came of it."""
    from pocketsim.sim.run import results, runner

    tasks = _tasks(file, changes, out)
    document = tasks[0].document
    code_consent.ask([document], allow=allow_code)
    outcomes = start(tasks, backend.jobs, keep_going=False, way=runner.Way(backend))
    directories = [outcome.directory for outcome in outcomes]
    if not as_json:
        for directory in directories:
            console.data(str(directory))
        run_summary.show(directories, document.overrides)
        run_summary.warn(directories)
        return
    run_summary.warn(directories)
    metrics = [results.read_metrics(directory) for directory in directories]
    console.json_data(metrics[0] if len(metrics) == 1 else {"rungs": metrics})


def start(tasks: list[Any], jobs: int | None, *, keep_going: bool, way: Any = None) -> list[Any]:
    """Run tasks, say how far they are and what became of them; return their outcomes."""
    from pocketsim.sim.run import runner

    started_s = time.monotonic()
    with progress.progress(runner.repetition_count(tasks), runner.labels(tasks)) as step:
        outcomes = runner.run_tasks(
            tasks, jobs or defaults.jobs(), keep_going=keep_going, progress=step, way=way
        )
    counts = dict.fromkeys(("ran", "reused", "failed", "busy", "left"), 0)
    for outcome in outcomes:
        counts[outcome.status] += 1
    summary = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    took = f"{summary} in {time.monotonic() - started_s:.1f} s"
    console.say(took if summary else "nothing to run")
    return outcomes
