"""Which runs are of a scenario as it comes with the project: published figures belong to those.

A run is one when some rung of the shipped file resolves to the same numbers, device profiles among
them. Another seed, other or more repetitions is still the same experiment; nothing else is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pocketsim.calibration.validate import published
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from pocketsim.sim.scenario.resolved import digest

if TYPE_CHECKING:
    from pocketsim.sim.scenario.resolved import Resolved


class ShippedScenarios:
    """The scenarios that published rows name, below `root`; each is read when it is asked for.

    An installed package comes without them: then no run is known to be of one.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root or PACKAGE
        self._files = {Path(row.target.scenario).stem: row.target.scenario for row in _rows()}
        self._known: dict[str, frozenset[str]] = {}

    def hold(self, resolved: Resolved) -> bool:
        """Return whether a run with this content of resolved.json is of a shipped scenario."""
        name = resolved["scenario"]
        if name not in self._files:
            return False
        if name not in self._known:
            self._known[name] = self._read(self._root / self._files[name])
        return _experiment(resolved) in self._known[name]

    def _read(self, path: Path) -> frozenset[str]:
        try:
            return frozenset(_experiment(rung.resolved) for rung in resolve(load(path)))
        except UserError:  # not there, or changed to what no run can be of
            return frozenset()


def _rows() -> tuple[published.Row, ...]:
    return tuple(row for row in published.rows() if row.target.scenario)


def _experiment(resolved: Resolved) -> str:
    """Return a digest of all that makes an experiment, whoever repeats it with what version."""
    kept = {key: value for key, value in resolved.items() if key not in _ELSE}
    run = {key: value for key, value in resolved["run"].items() if key not in _REPEATED}
    return digest({**kept, "run": run})


PACKAGE = Path(__file__).resolve().parents[2]  # published rows name scenarios of the project
_REPEATED = ("seed", "repetitions", "first_repetition")
_ELSE = ("versions", "continues")  # the latter is a name that holds a digest of seed and version
