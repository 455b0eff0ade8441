"""The run directories that may be shown, by names that a request can say.

A name is looked up in a list of what is there. So no request can name anything else, whatever dots,
slashes or links it has.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.report.runs import run as runs
from pocketsim.report.runs.asked import BY_RULE, Asked
from pocketsim.sim.base.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pocketsim.report.runs.run import Run


@dataclass(frozen=True)
class Listed:
    """What is in a folder: `by_name` can be shown, `left_out` says of others why they cannot."""

    by_name: dict[str, Run]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class RunFolder:
    """Run directories below `root`, or `root` itself, as `directories` finds them anew each time.

    `asked` is what an author says of the first chart.
    """

    root: Path
    directories: Callable[[], Sequence[Path]]
    asked: Asked = BY_RULE

    def listed(self) -> Listed:
        """Return the runs that are there now."""
        found = [path for path in self.directories() if not path.name.startswith(".")]
        inside = tuple(path for path in found if self._is_inside(path))
        links = [f"{path.name}: leads out of the folder" for path in found if path not in inside]
        read, damaged = _read(inside)
        by_name = {self._name(run.path): run for run in read}
        return Listed(by_name, (*links, *damaged))

    def _name(self, path: Path) -> str:
        return path.name if path == self.root else path.relative_to(self.root).as_posix()

    def _is_inside(self, path: Path) -> bool:
        """Tell whether neither a run directory nor a file of it is a link to somewhere else."""
        root = self.root.resolve()
        return all(one.resolve().is_relative_to(root) for one in (path, *path.iterdir()))


@functools.lru_cache(maxsize=2)
def _read(paths: tuple[Path, ...]) -> tuple[tuple[Run, ...], tuple[str, ...]]:
    """Return the runs at `paths`, which never change once they are there, and what is damaged."""
    try:
        return tuple(runs.load(paths)), ()
    except ScenarioError:
        damaged = {path: said for path in paths if (said := _damage(path))}
        whole = [path for path in paths if path not in damaged]
        return tuple(runs.load(whole)), tuple(damaged.values())


def _damage(path: Path) -> str:
    try:
        runs.load([path])
    except ScenarioError as error:
        return str(error)
    return ""
