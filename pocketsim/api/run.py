"""Runs from Python: a scenario, what is to be different, and a data frame of what came of it."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any

from pocketsim.api.documents.catalog import from_here
from pocketsim.api.documents.scenarios import source
from pocketsim.api.progress import Meter, bar, is_watched
from pocketsim.api.results import Run, Runs
from pocketsim.sim.base import defaults
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.base.files import at_home
from pocketsim.sim.base.log import logger
from pocketsim.sim.run import runner, sweep
from pocketsim.sim.run.store import Store
from pocketsim.sim.scenario.warnings import lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pocketsim.sim.run.runner import Progress, Task
    from pocketsim.sim.scenario.load import Document


def run(
    scenario: str | Path | Mapping[str, Any] | Document,
    changes: Mapping[str, Any] | None = None,
    *,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: Progress | bool = True,
) -> Runs:
    """Run a scenario, with some values changed, and return its runs in order.

    Args:
        scenario: A name in `pocketsim.scenarios`, a file, the content of one, or a `Document`.
        changes: Values by key path, written as in a file: `{"workload.rate": "4/s"}`. A list, also
            a tuple, a range, an array or a Series, is an axis: each of its values is run, in
            combination with those of others, the last fastest.
        jobs: Repetitions at a time; if left out, `POCKETSIM_JOBS` of the environment, or as many as
            there are cores.
        out: Folder for run directories; if left out, `POCKETSIM_OUT` of the environment, or `runs`.
            A run that is there already is not repeated.
        progress: True for a bar on a terminal or in a notebook, False for none. A function is
            called, from other threads, with a run's name, the number of a repetition and the share
            of it that is done; one from within a repetition also has `events` and `simulated_s`.

    Raises ScenarioError for a mistake in the scenario or in `changes`, before anything is written;
    EngineError when a repetition crashed; NoRoomError when the disk is full.
    """
    found, before = source(scenario)
    axes = {key: _values(value) for key, value in (changes or {}).items()}
    if empty := [key for key, values in axes.items() if not values]:
        raise UserError(f"changes: {empty[0]} is a list without a value")
    axes = {key: [from_here(value) for value in values] for key, values in axes.items()}
    grid = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    points = sweep.points(found, grid, "changes", at_home(out or defaults.out()), before)
    tasks = sweep.unique_tasks(points)
    log_warnings(tasks)
    with _bar(tasks) if progress is True else contextlib.nullcontext(progress or None) as step:
        runner.run_tasks(tasks, jobs or defaults.jobs(), progress=step)
    runs = {(one.directory, str(one.place)): one for one in sweep.runs(points, Store())}
    return Runs([Run(one.directory, one.place) for one in runs.values()])


def log_warnings(tasks: Sequence[Task]) -> None:
    """Say what people should know of the scenarios of some tasks, each once."""
    for line in lines(task.document for task in tasks):
        logger.warning("%s", line)


def _values(value: Any) -> list[Any]:
    """Return the values of an axis, with numbers of numpy as Python's; of one value a list."""
    if hasattr(value, "tolist"):  # of numpy and pandas, a number of theirs, too
        value = value.tolist()
    if not isinstance(value, list | tuple | range):
        return [value]
    return [one.tolist() if hasattr(one, "tolist") else one for one in value]


def _bar(tasks: Sequence[Task]) -> contextlib.AbstractContextManager[Progress | None]:
    """Return a context that has what moves a bar, where somebody may see one."""
    count = runner.repetition_count(tasks)
    if count and is_watched():
        return bar(Meter.of(count, runner.labels(tasks)))
    return contextlib.nullcontext()
