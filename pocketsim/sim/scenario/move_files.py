"""Files that say which phones leave for which access network when: read, checked, and read again.

A group of phones names one. Like other files they are told by their digests, and a child process
refuses one that has changed. A child has no models of documents, and no import here loads them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pocketsim.sim.base import tables
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.base.files import beside, check_same
from pocketsim.sim.base.tables import Column, Names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.base.tables import Table
    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.resolved import Resolved


def key(group: int) -> str:
    """Return the key path of the file of a group of phones."""
    return f"devices[{group}].moves.file"


def read(scenario: Scenario, path: Path) -> dict[str, Table]:
    """Return the tables of the files that the scenario at `path` names, by their key paths.

    Raises ScenarioError, with the row where there is one, for the first that is wrong.
    """
    found = {}
    for number, group in enumerate(scenario.devices):
        file = group.moves.file if group.moves else None
        if file is not None:
            place = key(number)
            found[place] = table = _table(beside(path, place, file))
            _check(scenario, table, number)
    return found


def again(resolved: Resolved, files: Mapping[str, str]) -> dict[int, Table]:
    """Return the tables of a resolved scenario by group, whose files lie at paths by their digests.

    Raises ScenarioError for a file that is not what it was when the scenario was resolved.
    """
    found = {}
    for number, group in enumerate(resolved["devices"]):
        digest = group["moves"].get("digest") if "moves" in group else None
        if digest is not None:
            assert digest in files, "whoever builds a plan says where its files lie"
            path = Path(files[digest])
            found[number] = _table(path)
            check_same(path, found[number].digest, digest)
    return found


def _table(path: Path) -> Table:
    return tables.read(path, _COLUMNS)


def _check(scenario: Scenario, table: Table, number: int) -> None:
    count, known = scenario.devices[number].count, scenario.network.access
    phone = table.columns["phone"]
    reason = f"phone is {{phone}}, and devices[{number}] has {count}, numbered from 0"
    table.refuse(phone >= count, reason)
    access = table.columns["access"]
    for place, name in enumerate(table.names):
        if name not in known:
            first = int((access == place).argmax())
            guess = nearest(name, known)
            row = f"row {table.row(first)}"
            raise ScenarioError(table.path, row, f"no [network.access.{name}]", guess)


_COLUMNS = (
    Column("phone", 0, 2**32 - 1, "phones are numbered from 0", is_whole=True),
    Column("time_s", 0, sys.float_info.max, "a time is 0 or more, and finite"),
    Names("access"),
)
