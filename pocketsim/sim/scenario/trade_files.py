"""A user's trace of trades or payments: each row says who proposes to or pays whom, and when.

A scenario names it as `workload.file`. The engine gets its columns as they stand.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base import tables
from pocketsim.sim.base.engine_facts import PAYLOAD_BYTES_MIN
from pocketsim.sim.base.tables import Column, Names, Table
from pocketsim.sim.base.units import MONEY, SIZE
from pocketsim.sim.scenario import phone_ids, rows_used

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.rows_used import Used


def read(path: Path, family: str, phones: int, people: Sequence[str] = ()) -> Table:
    """Return the rows in the file at `path`, in order of time, among so many phones.

    Columns: `time_s`, `from`, `to` (phones, counted from 0), then `amount_cents` of payments in
    the `family` "tokens", `payload_bytes` of trades in others. The file may have the ids of
    `people`. Raises ScenarioError with the first row that makes no sense.
    """
    found = phone_ids.numbered(_rows(path, family, phones, by_id=bool(people)), people)
    found.refuse(found.columns["from"] == found.columns["to"], "from and to are both phone {to}")
    return found


def ids(path: Path, family: str, phones: int) -> tuple[str, ...]:
    """Return what the file at `path` calls phones by."""
    return _rows(path, family, phones, by_id=True).names


def used(table: Table, origin: float | str | None, duration_s: float) -> Used:
    """Return what a run uses of the rows of `read`; all of them where there is no origin.

    Raises ScenarioError with the first row that then is not in the run, or where no row is.
    """
    time_s = table.columns["time_s"]
    found = rows_used.of(table, time_s, time_s, origin, duration_s)
    if origin is not None:
        rows_used.check(found, table, duration_s)
    else:
        reason = f"the run is from 0 to before {duration_s:g} s, and `origin` moves it"
        if rows_used.looks_like_ms(found):
            reason += f"; times are seconds: {rows_used.as_ms(found)}"
        table.refuse(time_s >= duration_s, f"time_s is {{time_s:.15g}}; {reason}")
    return found


def within(table: Table, origin_s: float, duration_s: float) -> dict[str, npt.NDArray[Any]]:
    """Return the rows of `read` that are in the run, as columns, with times since its begin."""
    since_s = table.columns["time_s"] - origin_s
    inside = (since_s >= 0) & (since_s < duration_s)
    return {name: values[inside] for name, values in {**table.columns, "time_s": since_s}.items()}


def _rows(path: Path, family: str, phones: int, *, by_id: bool) -> Table:
    numbered = f"phones are numbered from 0 to {phones - 1}"
    return tables.read(
        path,
        [
            Column(
                "time_s",
                0,
                sys.float_info.max,
                "a time is 0 or more, and finite",
                is_sorted=True,
                is_time=True,
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
