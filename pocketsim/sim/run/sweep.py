"""Sweeps: one scenario over a grid of values, as runs that a second start does not repeat.

A sweep file names a scenario and lists values for key paths; the grid is their product, in which
lists that advance together count as one. It has no state of its own: run directories are found by
content, so a killed sweep goes on where it was, and several machines can share one by shards. What
the runs have in them is `sim.run.collect`'s.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from pocketsim.sim.base.documents import (
    Section,
    ladder_schema,
    one_or_list,
    read_toml,
    validate,
)
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.run import rundir
from pocketsim.sim.run.runner import Task, tasks_of
from pocketsim.sim.scenario import point
from pocketsim.sim.scenario.load import apply, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pocketsim.sim.scenario.load import Source
    from pocketsim.sim.scenario.resolve import Profiles, Rung

Item = TypeVar("Item")
Values = Annotated[list[Any], Field(min_length=1)]
Seeds = Annotated[
    list[Annotated[int, Field(ge=0)]],
    BeforeValidator(one_or_list),
    ladder_schema({"type": "integer", "minimum": 0}),
]


class SweepTable(Section):
    """What is swept."""

    scenario: str = Field(min_length=1, description="Scenario file, relative to the sweep file.")
    title: str = Field(default="", description="What it shows; its name if left out.")
    seed: Seeds | None = Field(
        default=None, description="Seed, or list of seeds, instead of the scenario's."
    )


def _equally_long(lists: dict[str, list[Any]]) -> dict[str, list[Any]]:
    (first, *rest) = lists
    for other in rest:
        if len(lists[other]) != len(lists[first]):
            raise ValueError(
                f'"{first}" has {len(lists[first])} values and "{other}" {len(lists[other])}; '
                "lists that advance together are equally long"
            )
    return lists


class SweepDocument(Section):
    """A sweep file."""

    sweep: SweepTable = Field(description="What is swept.")
    axes: dict[str, Values] = Field(
        default={}, description='Values by key path of the scenario, such as "workload.rate".'
    )
    zipped: list[
        Annotated[dict[str, Values], Field(min_length=1), AfterValidator(_equally_long)]
    ] = Field(default=[], alias="zip", description="Tables like axes whose lists advance together.")


@dataclass(frozen=True)
class Point:
    """One point of the grid: its values by key path, the overrides that say so, and its tasks."""

    values: dict[str, Any]
    overrides: tuple[str, ...]
    tasks: list[Task]


@dataclass(frozen=True)
class Run:
    """One run of a point; several points may share one, by its directory."""

    at: Point
    task: Task
    rung: Rung

    @property
    def directory(self) -> Path:
        """The run directory, there or not."""
        return self.task.folder / self.rung.name

    @property
    def state(self) -> str:
        """How far the run is: there, busy (another process is at it) or missing."""
        if rundir.is_complete(self.directory):
            return "there"
        return "busy" if rundir.is_held(self.directory) else "missing"

    def place(self) -> dict[str, point.Value]:
        """Return where the run lies as this sweep comes to it (`sim.scenario.point`)."""
        return point.of(self.task.document, self.rung.at)


def load_sweep(path: str | Path, out: Path, number: int = 1, count: int = 1) -> list[Point]:
    """Return the points of shard `number` of `count` of a sweep file, the last axis fastest.

    Raises ScenarioError when the file, its scenario or one of these points is not valid. Points of
    other shards are counted, not looked at: that is left to who has them.
    """
    path = Path(path)
    _, data = read_toml(path)
    if "workload" in data:
        raise ScenarioError(path, "", "is a scenario (`pocketsim run` takes it), not a sweep")
    document = validate(SweepDocument, data, path)
    grid = [
        {key: value for part in parts for key, value in part.items()}
        for parts in itertools.product(*_factors(document, path))
    ]
    label = f"{path} [axes], [[zip]]" if document.zipped else f"{path} [axes]"
    source = read(path.parent / document.sweep.scenario)
    return points(source, shard(grid, number, count), label, out)


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
    found = []
    for values in grid:
        overrides = tuple(f"{key}={as_toml(value, label, key)}" for key, value in values.items())
        scenario = apply(source, [*before, *overrides], label)
        found.append(Point(dict(values), overrides, tasks_of(scenario, out, profiles)))
    return found


def shard(items: Sequence[Item], number: int, count: int) -> Sequence[Item]:
    """Return what is in shard `number` of `count`, both counted from 1."""
    return items[number - 1 :: count]


def unique_tasks(points: Sequence[Point]) -> list[Task]:
    """Return the tasks of all points, once each, without those that others begin with.

    The last are continued chains over the first rungs of a longer ladder.
    """
    tasks = {task.rungs[-1].name: task for point in points for task in point.tasks}
    begun = {rung.name for task in tasks.values() for rung in task.rungs[:-1]}
    return [task for last, task in tasks.items() if last not in begun]


def runs(points: Sequence[Point]) -> Iterator[Run]:
    """Yield the runs of each point, in order; what several points share comes several times."""
    for at in points:
        for task in at.tasks:
            yield from (Run(at, task, rung) for rung in task.rungs)


def _factors(document: SweepDocument, path: Path) -> list[list[dict[str, Any]]]:
    """Return what multiplies: for each axis, and for lists that advance together, its steps."""
    tables = [("axes", {key: values}) for key, values in document.axes.items()]
    tables += [(f"zip[{number}]", lists) for number, lists in enumerate(document.zipped)]
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
