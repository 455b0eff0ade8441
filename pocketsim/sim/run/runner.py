"""From rungs to run directories: one backend of a run at a time, and none for what is there.

How a run is made, `sim.run.backend` knows. Knows nothing of the command line; a notebook calls
`run`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.sim.base import defaults
from pocketsim.sim.base.build import git_commit
from pocketsim.sim.base.errors import (
    EngineError,
    ProtocolError,
    RunInProgressError,
    printable,
    room_for,
)
from pocketsim.sim.base.files import at_home
from pocketsim.sim.base.log import logger
from pocketsim.sim.run import durations, results, rundir
from pocketsim.sim.run.backend import Backend, LocalBackend
from pocketsim.sim.scenario import point_values
from pocketsim.sim.scenario.load import Document, load
from pocketsim.sim.scenario.resolve import Profiles, Rung, resolve

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pocketsim.sim.run.job import Order

Progress = Callable[[str, int, float], None]
"""Takes a rung's name, a repetition's number and the share of it that is done; 1 is its end.

What comes from within a repetition is a `sim.run.job.Share`, which knows events, too.
"""


@dataclass(frozen=True)
class Task:
    """Rungs of one document that must run one after the other, and where their runs go."""

    document: Document
    rungs: Sequence[Rung]
    folder: Path


@dataclass(frozen=True)
class Outcome:
    """What became of one run: status is ran, reused, failed, busy or left (for want of time)."""

    directory: Path
    status: str
    error: Exception | None = None


@dataclass(frozen=True)
class Way:
    """How runs are made and kept, where that is not as usual; all of it for any thread.

    `backend` makes them, or else child processes of this one. `building` gets a run's directory and
    gives the folder to make it in, as `rundir.building` does. `done` gets the outcome of each run
    as soon as it is there. What would not fit before `limit` is left. With `only_metrics`, nothing
    else of a run is made.
    """

    backend: Backend | None = None
    building: Callable[[Path], AbstractContextManager[Path]] = rundir.building
    done: Callable[[Outcome], None] = lambda _outcome: None
    limit: durations.Limit | None = None
    only_metrics: bool = False


def run(
    scenario: str | Path,
    overrides: Sequence[str] = (),
    out: str | Path | None = None,
    jobs: int | None = None,
) -> list[Path]:
    """Run a scenario and return its run directories, one per rung, in order.

    Raises ScenarioError before anything is written, EngineError when a child crashed, NoRoomError
    when the disk is full.
    """
    tasks = tasks_of(load(scenario, overrides), at_home(out or defaults.out()))
    return [outcome.directory for outcome in run_tasks(tasks, jobs or defaults.jobs())]


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
    way: Way | None = None,
) -> list[Outcome]:
    """Run tasks side by side, at most `jobs` children at a time; return all outcomes in order.

    `progress` is called from other threads. With `keep_going`, crashes become outcomes; without,
    the first is raised. A full disk ends both: no run has room then. On any exception,
    KeyboardInterrupt included, children are killed and unfinished directories removed. What several
    tasks have in them, the first to come runs. With a `backend` of the way's own, `jobs` is not
    asked.
    """
    way = way or Way()
    # Another process that is at a run is reported, another thread of ours waited for.
    turns = {task.folder / rung.name: threading.Lock() for task in tasks for rung in task.rungs}
    for folder in sorted({task.folder for task in tasks}):
        rundir.sweep_stale(folder)
    backend = way.backend or LocalBackend(jobs)
    try:
        with ThreadPoolExecutor(max(1, min(backend.jobs, len(tasks)))) as pool:
            # Submitting is inside: an interrupt may come while the first children already run.
            try:
                futures = [
                    pool.submit(
                        _run_task,
                        task,
                        backend,
                        turns,
                        progress or _no_progress,
                        way,
                        keep_going=keep_going,
                    )
                    for task in tasks
                ]
                _await(futures)
            except BaseException:
                backend.stop()
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        if backend is not way.backend:
            backend.stop()
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
    return {
        rung.name: point_values.label(task.document, rung) for task in tasks for rung in task.rungs
    }


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
    backend: Backend,
    turns: Mapping[Path, threading.Lock],
    progress: Progress,
    way: Way,
    *,
    keep_going: bool,
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for rung in task.rungs:
        target = task.folder / rung.name
        try:
            with turns[target], room_for(target), rundir.lock(target):
                status = _run_rung(task, rung, target, backend, progress, way)
            if status == "left":
                return outcomes + _rest(task, len(outcomes), status)
            outcomes.append(Outcome(target, status))
            way.done(outcomes[-1])
        except (EngineError, ProtocolError, RunInProgressError) as error:
            if not keep_going:
                raise
            status = "busy" if isinstance(error, RunInProgressError) else "failed"
            return outcomes + _rest(task, len(outcomes), status, error)
    return outcomes


def _rest(task: Task, begin: int, status: str, error: Exception | None = None) -> list[Outcome]:
    """Return the same outcome of a rung and of what continues it, which cannot run without it."""
    return [Outcome(task.folder / rung.name, status, error) for rung in task.rungs[begin:]]


def _run_rung(
    task: Task, rung: Rung, target: Path, backend: Backend, progress: Progress, way: Way
) -> str:
    if rundir.is_complete(target):
        logger.info("%s: is there already", target)
        return "reused"
    repetitions = rung.resolved["run"]["repetitions"]
    if way.limit is not None and not way.limit.has_room_for(target, repetitions):
        logger.info("%s: is left, as no time is left for it", target)
        return "left"
    logger.info("%s: begins, %d x %g s", target, repetitions, rung.resolved["run"]["duration_s"])
    took_s = durations.stopwatch()
    previous = task.folder / rung.previous if rung.previous else None
    first_index = results.read_manifest(previous)["final_index"] if previous else None
    order = _order(task.document, rung, target, first_index)
    order["only_metrics"] = way.only_metrics

    def heard(repetition: int, share: float) -> None:
        progress(rung.name, repetition, share)
        if share >= 1:
            logger.debug("%s: repetition %d done", rung.name, repetition)

    with way.building(target) as aside:
        core_s = backend.make(order, aside, rundir.failed_folder(target), heard)
    durations.note(target, repetitions, core_s)
    logger.info("%s: done in %.1f s", target, took_s())
    return "ran"


def _order(document: Document, rung: Rung, target: Path, first_index: list[int] | None) -> Order:
    # Each a comment of one line, whatever it holds: the file stays TOML.
    applied = "".join(f"# --set {printable(override)}\n" for override in document.overrides)
    return {
        "resolved": rung.resolved,
        "first_index": first_index,
        "files": document.paths(),
        "target": str(target),
        "scenario": applied + document.text,
        "manifest": {
            "name": rung.name,
            "continues": rung.previous,
            "scenario": point_values.values(document.scenario, rung.at),
            "point": point_values.of(document, rung.at),
            "git_commit": git_commit(),
            "files": {key: used.told() for key, used in document.used.items()},
        },
        "only_metrics": False,
    }


_LONGEST_SLEEP_S = 0.5  # what an interrupt may have to wait for
