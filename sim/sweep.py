"""Sweeps: one scenario over a grid of values, as runs that a second start does not repeat.

A sweep file names a scenario and lists values for key paths; the grid is their product. It has no
state of its own: run directories are found by content, so a killed sweep goes on where it was,
and several machines can share one by shards.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from sim.documents import Section, one_or_list, read_toml, validate
from sim.errors import ScenarioError
from sim.runner import Task, tasks_of
from sim.scenario import load


class SweepTable(Section):
    """What is swept."""

    scenario: str = Field(min_length=1, description="Scenario file, relative to the sweep file.")
    seed: Annotated[list[Annotated[int, Field(ge=0)]], BeforeValidator(one_or_list)] | None = Field(
        default=None, description="Seed, or list of seeds, instead of the scenario's."
    )


class SweepDocument(Section):
    """A sweep file."""

    sweep: SweepTable = Field(description="What is swept.")
    axes: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        default={}, description='Values by key path of the scenario, such as "workload.rate".'
    )


@dataclass(frozen=True)
class Point:
    """One point of the grid: the overrides that make it, and its tasks."""

    overrides: tuple[str, ...]
    tasks: list[Task]


def load_sweep(path: str | Path, out: Path) -> list[Point]:
    """Return the points of a sweep file in order, the last axis fastest.

    Raises ScenarioError when the file, its scenario or any single point is not valid.
    """
    path = Path(path)
    _, data = read_toml(path)
    if "workload" in data:
        raise ScenarioError(path, "", "is a scenario (`pocketsim run` takes it), not a sweep")
    document = validate(SweepDocument, data, path)
    axes = dict(document.axes)
    if document.sweep.seed is not None:
        axes["run.seed"] = list(document.sweep.seed)
    points = []
    for values in itertools.product(*axes.values()):
        overrides = tuple(
            f"{key}={_toml(value, path, key)}" for key, value in zip(axes, values, strict=True)
        )
        scenario = load(path.parent / document.sweep.scenario, overrides, label=f"{path} [axes]")
        points.append(Point(overrides, tasks_of(scenario, out)))
    return points


def shard(points: list[Point], number: int, count: int) -> list[Point]:
    """Return the points of shard `number` of `count`, both counted from 1."""
    return points[number - 1 :: count]


def unique_tasks(points: list[Point]) -> list[Task]:
    """Return the tasks of all points, those that several points share once."""
    return list({task.rungs[-1].name: task for point in points for task in point.tasks}.values())


def _toml(value: Any, path: Path, key: str) -> str:
    """Write a value of the sweep file as it would stand in an override."""
    if isinstance(value, bool | int | float | str):
        return json.dumps(value)
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item, path, key) for item in value) + "]"
    if isinstance(value, dict):
        items = (f"{json.dumps(name)} = {_toml(of, path, key)}" for name, of in value.items())
        return "{" + ", ".join(items) + "}"
    raise ScenarioError(path, f'axes."{key}"', f"{value!r} cannot be swept")
