"""From rungs to run directories: every repetition in a child process, the results put together.

A run that is already there is used as it is. Knows nothing of the command line; a notebook calls
`run`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from pocketsim.sim.base.build import git_commit
from pocketsim.sim.base.errors import (
    EngineError,
    ProtocolError,
    RunInProgressError,
    printable,
    room_for,
)
from pocketsim.sim.run import results, rundir
from pocketsim.sim.run.assembly import read
from pocketsim.sim.run.children import Children, default_jobs
from pocketsim.sim.run.job import Assembly, Job, summary_path
from pocketsim.sim.scenario import Document, data_files, load, point
from pocketsim.sim.scenario.resolve import Profiles, Rung, resolve

Progress = Callable[[str, int, float], None]
"""Takes a rung's name, a repetition's number and the share of it that is done; 1 is its end."""


@dataclass(frozen=True)
class Task:
    """Rungs of one document that must run one after the other, and where their runs go."""

    document: Document
    rungs: Sequence[Rung]
    folder: Path


@dataclass(frozen=True)
class Outcome:
    """What became of one run: status is ran, reused, failed or busy."""

    directory: Path
    status: str
    error: Exception | None = None


def run(
    scenario: str | Path,
    overrides: Sequence[str] = (),
    out: str | Path = "runs",
    jobs: int | None = None,
) -> list[Path]:
    """Run a scenario and return its run directories, one per rung, in order.

    Raises ScenarioError before anything is written, EngineError when a child crashed, NoRoomError
    when the disk is full.
    """
    tasks = tasks_of(load(scenario, overrides), Path(out))
    return [outcome.directory for outcome in run_tasks(tasks, jobs or default_jobs())]


def tasks_of(document: Document, out: Path, read: Profiles | None = None) -> list[Task]:
    """Return what has to run for `document`: one task per rung, or one for a continued chain.

    `read` are device profiles that `resolve` need not read again.
    """
    folder = out / document.path.stem
    rungs = resolve(document, read)
    if document.scenario.run.app == "continued":
        return [Task(document, rungs, folder)]
    return [Task(document, [rung], folder) for rung in rungs]


def run_tasks(
    tasks: Sequence[Task],
    jobs: int,
    *,
    keep_going: bool = False,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Run tasks side by side, at most `jobs` children at a time; return all outcomes in order.

    `progress` is called from other threads. With `keep_going`, crashes become outcomes; without,
    the first is raised. A full disk ends both: no run has room then. On any exception,
    KeyboardInterrupt included, children are killed and unfinished directories removed. What several
    tasks have in them, the first to come runs.
    """
    # Another process that is at a run is reported, another thread of ours waited for.
    turns = {task.folder / rung.name: threading.Lock() for task in tasks for rung in task.rungs}
    for folder in sorted({task.folder for task in tasks}):
        rundir.sweep_stale(folder)
    with Children(jobs) as children, ThreadPoolExecutor(max(1, min(jobs, len(tasks)))) as pool:
        # Submitting is inside: an interrupt may come while the first children already run.
        try:
            futures = [
                pool.submit(
                    _run_task,
                    task,
                    children,
                    turns,
                    progress or _no_progress,
                    keep_going=keep_going,
                )
                for task in tasks
            ]
            _await(futures)
        except BaseException:
            children.stop()
            pool.shutdown(cancel_futures=True)
            raise
    return [_by_now(outcome) for future in futures for outcome in future.result()]


def _by_now(outcome: Outcome) -> Outcome:
    """Return what became of a run at last: who was at it when we came by may be done."""
    if outcome.status == "busy" and rundir.is_complete(outcome.directory):
        return Outcome(outcome.directory, "reused")
    return outcome


def _await(futures: Sequence[Future[list[Outcome]]]) -> None:
    """Wait until all of `futures` have results, or raise what one of them raised.

    A signal that comes just before this thread falls asleep does not wake it, and Python runs
    handlers in this thread only: so it never sleeps for long.
    """
    pending: set[Future[list[Outcome]]] = set(futures)
    while pending:
        done, pending = wait(pending, timeout=_LONGEST_SLEEP_S, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()


def labels(tasks: Iterable[Task]) -> dict[str, str]:
    """Return for each run's name what tells it from others, in words: its rung and overrides."""
    return {rung.name: point.label(task.document, rung) for task in tasks for rung in task.rungs}


def repetition_count(tasks: Iterable[Task]) -> int:
    """Return the number of repetitions over all runs that are not there yet."""
    runs = {task.folder / rung.name: rung for task in tasks for rung in task.rungs}
    return sum(
        rung.resolved["run"]["repetitions"]
        for directory, rung in runs.items()
        if not rundir.is_complete(directory)
    )


def _no_progress(_name: str, _repetition: int, _share: float) -> None:
    pass


def _run_task(
    task: Task,
    children: Children,
    turns: Mapping[Path, threading.Lock],
    progress: Progress,
    *,
    keep_going: bool,
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for rung in task.rungs:
        target = task.folder / rung.name
        previous = task.folder / rung.previous if rung.previous else None
        try:
            with turns[target], room_for(target), rundir.lock(target):
                status = _run_rung(task.document, rung, target, previous, children, progress)
            outcomes.append(Outcome(target, status))
        except (EngineError, ProtocolError, RunInProgressError) as error:
            if not keep_going:
                raise
            status = "busy" if isinstance(error, RunInProgressError) else "failed"
            # What continues this rung cannot run without it.
            rest = task.rungs[len(outcomes) :]
            return outcomes + [Outcome(task.folder / rung.name, status, error) for rung in rest]
    return outcomes


def _run_rung(
    document: Document,
    rung: Rung,
    target: Path,
    previous: Path | None,
    children: Children,
    progress: Progress,
) -> str:
    if rundir.is_complete(target):
        return "reused"
    first_index = results.read_manifest(previous)["final_index"] if previous else None
    repetitions = range(rung.resolved["run"]["repetitions"])
    with rundir.building(target) as aside:

        def one(repetition: int, first_index: list[int] | None) -> str:
            job: Job = {
                "resolved": rung.resolved,
                "repetition": repetition,
                "first_index": first_index,
                "out_dir": str(aside.absolute()),
                "files": data_files.by_digest({**document.files, **document.tables}),
            }

            def heard(share: float) -> None:
                if share < 1:  # the end is ours to tell
                    progress(rung.name, repetition, share)

            try:
                return children.run(job, rundir.failed_folder(target), heard)
            finally:
                progress(rung.name, repetition, 1.0)

        if rung.resolved["run"]["app"] == "continued":
            logs = []
            for repetition in repetitions:
                logs.append(one(repetition, first_index))
                first_index = read(summary_path(aside, repetition))["final_index"]
        else:
            with ThreadPoolExecutor(min(children.jobs, len(repetitions))) as pool:
                logs = list(pool.map(one, repetitions, [None] * len(repetitions)))
        children.assemble(_assembly(document, rung, aside, target, logs))
    return "ran"


def _assembly(
    document: Document, rung: Rung, aside: Path, target: Path, logs: list[str]
) -> Assembly:
    # Each a comment of one line, whatever it holds: the file stays TOML.
    applied = "".join(f"# --set {printable(override)}\n" for override in document.overrides)
    return {
        "resolved": rung.resolved,
        "folder": str(aside.absolute()),
        "target": str(target),
        "logs": logs,
        "scenario": applied + document.text,
        "manifest": {
            "name": rung.name,
            "continues": rung.previous,
            "scenario": point.values(document.scenario, rung.at),
            "point": point.of(document, rung.at),
            "git_commit": git_commit(),
        },
    }


_LONGEST_SLEEP_S = 0.5  # what an interrupt may have to wait for
