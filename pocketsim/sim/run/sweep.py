"""Sweeps: scenarios at many points, as runs that a second start does not repeat.

A sweep file names scenarios and says which values of what (`sim.run.sweep_document`); its grid is
the product of its lists, in which lists that advance together count as one, and so does a design.
It has no state of its own: runs are found by content (`sim.run.store`), so a killed sweep goes on
where it was, and several machines can share one by shards. What the runs have in them is
`sim.run.collect`'s.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base.documents import read_toml, validate
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.base.files import at_home, nearest_file
from pocketsim.sim.metrics import interval_of_mean, names
from pocketsim.sim.run import rundir, stopping_rule
from pocketsim.sim.run.runner import Outcome, Task, tasks_of
from pocketsim.sim.run.store import Store
from pocketsim.sim.run.sweep_document import Goal, SweepDocument, goal
from pocketsim.sim.scenario import point_values, shipped
from pocketsim.sim.scenario.load import apply, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pocketsim.sim.run.results import Metrics
    from pocketsim.sim.scenario.load import Source
    from pocketsim.sim.scenario.resolve import Profiles, Rung


@dataclass(frozen=True)
class Point:
    """One point of the grid: its values by key path, the overrides that say so, and its tasks.

    `again` makes tasks of the same point with further overrides.
    """

    values: dict[str, Any]
    overrides: tuple[str, ...]
    tasks: list[Task]
    again: Callable[[Sequence[str]], list[Task]]


@dataclass(frozen=True)
class Run:
    """One run of a point; several points may share one, by its directory.

    `first_repetition` is not 0 where the run adds repetitions to one that was too uncertain, and
    `place` is where that one lies (`sim.scenario.point_values`).
    """

    at: Point
    task: Task
    rung: Rung
    place: Mapping[str, point_values.Value]
    store: Store
    first_repetition: int = 0

    @property
    def directory(self) -> Path:
        """The run directory, there or not."""
        return self.task.folder / self.rung.name

    @property
    def repetitions(self) -> int:
        """How many repetitions this run has."""
        return self.rung.resolved["run"]["repetitions"]

    @property
    def state(self) -> str:
        """How far the run is: there, busy (another process is at it) or missing."""
        if self.store.has(self.directory):
            return "there"
        return "busy" if rundir.is_held(self.directory) else "missing"

    def metrics(self) -> Metrics:
        """Return the metrics of the run, which is there."""
        return self.store.metrics(self.directory)


@dataclass(frozen=True)
class Sweep:
    """The points of a sweep, or of a shard of it, and how sure each of their runs is to be."""

    path: Path
    document: SweepDocument
    points: list[Point]
    store: Store
    goal: Goal | None = None

    def runs(self) -> Iterator[Run]:
        """Yield the runs of each point, in order; what several points share comes several times.

        Where an interval is to be narrow enough, runs that add repetitions come after the one they
        add to, as far as it is known that they are needed.
        """
        for first in runs(self.points, self.store):
            yield first
            if self.goal is not None:
                yield from self._further(first, self.goal)

    def rounds(self) -> Iterator[list[Task]]:
        """Yield what to run at first, and then, until nothing is lacking, what that asks for.

        What of the first is there is in it, too, unless its directory is not kept.
        """
        tasks = [task for task in unique_tasks(self.points) if not self._is_packed(task)]
        tried = {_last(task) for point in self.points for task in point.tasks}
        yield tasks
        while self.goal is not None:
            further = {run.directory: run.task for run in self.runs() if run.first_repetition}
            tasks = [task for directory, task in further.items() if directory not in tried]
            tried |= further.keys()
            tasks = [task for task in tasks if not self._is_packed(task)]
            if not tasks:
                return
            yield tasks

    def _is_packed(self, task: Task) -> bool:
        return self.store.is_packed(_last(task))

    def _further(self, first: Run, wanted: Goal) -> Iterator[Run]:
        there, count = [first], first.repetitions
        while there[-1].state == "there" and (more := self._lacking(there, count, wanted)):
            run = _with_more(first, count, more)
            yield run
            there.append(run)
            count += more

    def _lacking(self, there: Sequence[Run], count: int, wanted: Goal) -> int:
        """Return how many repetitions to add next to the `count` there are; 0 for none."""
        most = self.document.sweep.most_repetitions
        assert most is not None, "until has a ceiling"
        values = self._values(there)
        known = [value for value in values[wanted.metric] if math.isfinite(value)]
        mean = float(np.mean(known)) if known else math.nan
        found = interval_of_mean(wanted.metric, values, there[0].rung.resolved)
        return stopping_rule.repetitions_to_add(count, len(known), mean, found, wanted, most)

    def _values(self, there: Sequence[Run]) -> dict[str, list[float]]:
        """Return the values of each metric, in all repetitions of some runs."""
        every = [run.metrics()["metrics"] for run in there]
        return {
            name: [
                math.nan if value is None else value
                for metrics in every
                for value in metrics[name]["values"]
            ]
            for name in every[0]
        }


def load_sweep(
    path: str | Path, out: Path, number: int = 1, count: int = 1, store: Store | None = None
) -> Sweep:
    """Return shard `number` of `count` of a sweep file, its points with the last axis fastest.

    Raises ScenarioError when the file, its scenarios or one of these points is not valid. Points of
    other shards are counted, not looked at: that is left to who has them.
    """
    path = Path(path)
    _, data = read_toml(path)
    if "workload" in data:
        raise ScenarioError(path, "", "is a scenario (`pocketsim run` takes it), not a sweep")
    document = validate(SweepDocument, data, path)
    steps = [
        {key: value for part in parts for key, value in part.items()}
        for parts in itertools.product(*_factors(document, path))
    ]
    label = f"{path} {_said_in(document)}"
    _check_that_names_differ(document.sweep.scenario, path)
    sources = [read(_scenario_file(path, name)) for name in document.sweep.scenario]
    mine = _mine(list(itertools.product(sources, steps)), number, count)
    repetitions = document.sweep.repetitions
    before = [] if repetitions is None else [f"run.repetitions={repetitions}"]
    found = [
        one
        for source, several in itertools.groupby(mine, key=lambda pair: pair[0])
        for one in points(source, [values for _, values in several], label, out, before)
    ]
    wanted = None if document.sweep.until is None else goal(document.sweep.until)
    if wanted is not None:
        _check_that_repetitions_can_be_added(found, wanted.metric, path)
    return Sweep(path, document, found, store or Store(), wanted)


def perform(
    of_sweep: Sweep, start: Callable[[list[Task]], Sequence[Outcome]]
) -> dict[Path, Outcome]:
    """Run what a sweep lacks, round after round, by `start`; return each run's outcome.

    Where several tasks have a run in them, that it ran counts. What is packed was reused.
    """
    found = {
        run.directory: Outcome(run.directory, "reused")
        for run in of_sweep.runs()
        if of_sweep.store.is_packed(run.directory)
    }
    for tasks in of_sweep.rounds():
        for outcome in start(tasks):
            before = found.get(outcome.directory)
            if before is None or before.status != "ran":
                found[outcome.directory] = outcome
    return found


def points(
    source: Source,
    grid: Iterable[Mapping[str, Any]],
    label: str,
    out: Path,
    before: Sequence[str] = (),
) -> list[Point]:
    """Return the points of a grid of values by key path, as changes of one scenario.

    `label` is what a mistake in them is blamed on; `before` are overrides that come first. Raises
    ScenarioError when one of the points is not valid.
    """
    profiles: Profiles = {}

    def tasks(overrides: Sequence[str], further: Sequence[str] = ()) -> list[Task]:
        scenario = apply(source, [*before, *overrides, *further], label)
        return tasks_of(scenario, out, profiles)

    found = []
    for values in grid:
        overrides = tuple(f"{key}={as_toml(value, label, key)}" for key, value in values.items())
        again = functools.partial(tasks, overrides)
        found.append(Point(dict(values), overrides, tasks(overrides), again))
    return found


def _mine(
    items: Sequence[tuple[Source, Mapping[str, Any]]], number: int, count: int
) -> list[tuple[Source, Mapping[str, Any]]]:
    """Return what is in shard `number` of `count`, both counted from 1.

    Points of equal values, which designs of whole numbers have, are one shard's: so are their runs.
    """
    keys = [
        json.dumps([str(source.path), values], sort_keys=True, default=str)
        for source, values in items
    ]
    place = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    mine = zip(items, keys, strict=True)
    return [item for item, key in mine if place[key] % count == number - 1]


def _scenario_file(path: Path, name: str) -> Path:
    """Return the file that the sweep at `path` names: a path, or a scenario of the package."""
    if name.endswith(".toml") or Path(name).name != name:
        file = path.parent / at_home(name, "sweep.scenario", path)
        if not file.is_file():
            reason = f"no such file {file}"
            raise ScenarioError(path, "sweep.scenario", reason, nearest_file(file))
        return file
    known = shipped.scenarios()
    if name in known:
        return known[name]
    guess = nearest(name, [*known, *(file.name for file in path.parent.glob("*.toml"))])
    reason = (
        f"no scenario that comes with the package is called {name!r}; a file's name ends in .toml"
    )
    raise ScenarioError(path, "sweep.scenario", reason, guess)


def _check_that_names_differ(names: Sequence[str], path: Path) -> None:
    """Refuse scenarios of one name: their runs could not be told apart."""
    stems = [Path(name).stem for name in names]
    for name in names:
        if stems.count(Path(name).stem) > 1:
            reason = f"{Path(name).stem} is the name of several; tables tell scenarios by it"
            raise ScenarioError(path, "sweep.scenario", reason)


def unique_tasks(points: Sequence[Point]) -> list[Task]:
    """Return the tasks of all points, once each, without those that others begin with.

    The last are continued chains over the first rungs of a longer list.
    """
    tasks = {_last(task): task for point in points for task in point.tasks}
    begun = {task.folder / rung.name for task in tasks.values() for rung in task.rungs[:-1]}
    return [task for last, task in tasks.items() if last not in begun]


def runs(points: Sequence[Point], store: Store) -> Iterator[Run]:
    """Yield the runs of each point, in order; what several points share comes several times."""
    for at in points:
        for task in at.tasks:
            for rung in task.rungs:
                yield Run(at, task, rung, point_values.of(task.document, rung.at), store)


def _last(task: Task) -> Path:
    return task.folder / task.rungs[-1].name


def _with_more(first: Run, number: int, count: int) -> Run:
    """Return the run of `count` repetitions from `number` on, where `first` is."""
    overrides = [f"run.first_repetition={number}", f"run.repetitions={count}"]
    (task, rung), *_ = (
        (task, rung)
        for task in first.at.again(overrides)
        for rung in task.rungs
        if rung.at == first.rung.at
    )
    alone = Task(task.document, [rung], task.folder)
    return Run(first.at, alone, rung, first.place, first.store, number)


def _check_that_repetitions_can_be_added(points: Sequence[Point], metric: str, path: Path) -> None:
    for at in points:
        for task in at.tasks:
            known = names(task.rungs[0].resolved)
            if metric not in known:
                reason = f"{task.document.path.name} has no metric {metric!r}"
                raise ScenarioError(path, "sweep.until", reason, nearest(metric, known))
            if task.document.scenario.run.app == "continued":
                reason = f"{task.document.path.name} continues chains over its repetitions"
                raise ScenarioError(path, "sweep.until", reason)


def _said_in(document: SweepDocument) -> str:
    """Return the tables of a sweep file that say its values."""
    said = [
        name
        for name, there in (("[[zip]]", document.zipped), ("[design]", document.design))
        if there
    ]
    return ", ".join(["[axes]", *said])


def _factors(document: SweepDocument, path: Path) -> list[list[dict[str, Any]]]:
    """Return what multiplies: for each axis, and for lists that advance together, its steps."""
    tables: list[tuple[str, dict[str, list[Any]]]] = [
        ("axes", {key: values}) for key, values in document.axes.items()
    ]
    tables += [(f"zip[{number}]", lists) for number, lists in enumerate(document.zipped)]
    if document.design is not None:
        tables.append(("design.ranges", _as_lists(document.design.steps())))
    if document.sweep.seed is not None:
        tables.append(("sweep.seed", {"run.seed": list(document.sweep.seed)}))
    seen: dict[str, str] = {}
    for place, lists in tables:
        for key in lists:
            if seen.setdefault(key, place) != place:
                raise ScenarioError(path, place, f'"{key}" has its values from {seen[key]} already')
    return [
        [dict(zip(lists, step, strict=True)) for step in zip(*lists.values(), strict=True)]
        for _, lists in tables
    ]


def _as_lists(steps: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {key: [step[key] for step in steps] for key in steps[0]}


def as_toml(value: Any, label: str, key: str) -> str:
    """Write a value of the sweep file as it would stand in an override."""
    if isinstance(value, str):
        return _toml_text(value)
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(item, label, key) for item in value) + "]"
    if isinstance(value, dict):
        items = (
            f"{_toml_text(name)} = {as_toml(item, label, key)}" for name, item in value.items()
        )
        return "{" + ", ".join(items) + "}"
    raise ScenarioError(label, key, f"{value!r} cannot be swept")


def _toml_text(text: str) -> str:
    # JSON escapes what is beyond 16 bits as two halves, and leaves DEL; TOML takes neither.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
