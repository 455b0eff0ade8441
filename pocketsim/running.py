"""Runs from Python: a scenario, what is to be different, and a data frame of what came of it."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.catalog import document_file, from_here
from pocketsim.results import Run, Runs
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.run import runner, sweep
from pocketsim.sim.run.children import default_jobs
from pocketsim.sim.scenario import Document
from pocketsim.sim.scenario.load import Source, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.run.runner import Progress


def run(
    scenario: str | Path | Mapping[str, Any] | Document,
    changes: Mapping[str, Any] | None = None,
    *,
    jobs: int | None = None,
    out: str | Path = "runs",
    progress: Progress | None = None,
) -> Runs:
    """Run a scenario, with some values changed, and return its runs in order.

    Args:
        scenario: A name in `pocketsim.scenarios`, a file, the content of one, or a `Document`.
        changes: Values by key path, written as in a file: `{"workload.rate": "4/s"}`. A list is an
            axis: each of its values is run, in combination with those of others, the last fastest.
        jobs: Repetitions at a time; as many as there are cores, if left out.
        out: Folder for run directories. A run that is there already is not repeated.
        progress: Is called, from other threads, with a run's name, the number of a repetition and
            the share of it that is done.

    Raises ScenarioError for a mistake in the scenario or in `changes`, before anything is written;
    EngineError when a repetition crashed; NoRoomError when the disk is full.
    """
    source, before = _source(scenario)
    axes = {
        key: value if isinstance(value, list) else [value] for key, value in (changes or {}).items()
    }
    if empty := [key for key, values in axes.items() if not values]:
        raise UserError(f"changes: {empty[0]} is a list without a value")
    axes = {key: [_from_here(value) for value in values] for key, values in axes.items()}
    grid = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    points = sweep.points(source, grid, "changes", Path(out), before)
    runner.run_tasks(sweep.unique_tasks(points), jobs or default_jobs(), progress=progress)
    found = {(one.directory, str(one.place())): one for one in sweep.runs(points)}
    return Runs([Run(one.directory, one.place()) for one in found.values()])


def _from_here(value: Any) -> Any:
    return from_here(value) if isinstance(value, str) else value


def _source(scenario: str | Path | Mapping[str, Any] | Document) -> tuple[Source, tuple[str, ...]]:
    """Return a scenario as it was read, and overrides that it has already."""
    if isinstance(scenario, Document):
        import tomllib

        data = tomllib.loads(scenario.text)
        return Source(scenario.path, scenario.text, data), scenario.overrides
    if isinstance(scenario, str | Path):
        return read(document_file(scenario, "scenario")), ()
    import tomli_w

    try:
        text = tomli_w.dumps(scenario)
    except TypeError as error:
        raise UserError(f"the scenario is no TOML document: {error}") from None
    # Paths in it are relative to where we are, as those in a file are to its folder.
    return Source(Path("scenario.toml").absolute(), text, dict(scenario)), ()
