"""A trace that somebody brings: who proposes to, or pays, whom, when and how much; a row for each.

Its place in a scenario is `workload.file`. The engine gets its columns as they stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base import tables
from pocketsim.sim.base.engine_facts import PAYLOAD_BYTES_MIN
from pocketsim.sim.base.tables import Column, Names, Table
from pocketsim.sim.base.units import MONEY, SIZE
from pocketsim.sim.scenario import people as who

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


def read(
    path: Path, family: str, phones: int, duration_s: float, people: Sequence[str] = ()
) -> Table:
    """Return the rows in the file at `path`, in order of time, among so many phones.

    Columns: `time_s`, `from`, `to` (phones, counted from 0), then `amount_cents` of payments in
    the `family` "tokens", `payload_bytes` of trades in others. The file may have the ids of
    `people`. Raises ScenarioError with the first row that is none of the run.
    """
    found = who.numbered(_rows(path, family, phones, duration_s, by_id=bool(people)), people)
    found.refuse(found.columns["from"] == found.columns["to"], "from and to are both phone {to}")
    return found


def ids(path: Path, family: str, phones: int, duration_s: float) -> tuple[str, ...]:
    """Return what the file at `path` calls phones by."""
    return _rows(path, family, phones, duration_s, by_id=True).names


def _rows(path: Path, family: str, phones: int, duration_s: float, *, by_id: bool) -> Table:
    numbered = f"phones are numbered from 0 to {phones - 1}"
    # What is asked for at the end of the run would not be sent any more.
    last_s = np.nextafter(duration_s, 0)
    return tables.read(
        path,
        [
            Column(
                "time_s", 0, last_s, f"the run is from 0 to before {duration_s:g} s", is_sorted=True
            ),
            *(
                Names(name) if by_id else Column(name, 0, phones - 1, numbered, is_whole=True)
                for name in ("from", "to")
            ),
            _AMOUNT if family == "tokens" else _PAYLOAD,
        ],
    )


def check(scenario: Scenario, table: Table) -> None:
    """Raise ScenarioError for the first row that the tokens' authority pays or is paid in."""
    first = 0
    for group in scenario.devices:
        if group.role == "authority":
            for name in ("from", "to"):
                reason = (
                    f"{name} is {{{name}}}, the tokens' authority, who neither pays nor is paid"
                )
                table.refuse(table.columns[name] == first, reason)
        first += group.count


_AMOUNT = Column(
    "amount_cents",
    1,
    MONEY.maximum,
    f"a payment is of 1 to {MONEY.maximum:,.0f} cents",
    is_whole=True,
)
_PAYLOAD = Column(
    "payload_bytes",
    PAYLOAD_BYTES_MIN,
    SIZE.maximum,
    f"a payload has {PAYLOAD_BYTES_MIN} to {SIZE.maximum:,.0f} bytes",
    is_whole=True,
)
