"""A trace of trades that somebody brings: who proposes to whom, when, how much; a row for each.

Its place in a scenario is `workload.file`. The engine gets its columns as they stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base import tables
from pocketsim.sim.base.engine_facts import PAYLOAD_BYTES_MIN
from pocketsim.sim.base.tables import Column, Table
from pocketsim.sim.base.units import SIZE

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path, phones: int, duration_s: float) -> Table:
    """Return the trades in the file at `path`, in order of time, among so many phones.

    Columns: `time_s`, `from`, `to` (phones, counted from 0), `payload_bytes`. Raises ScenarioError
    with the first row that is no trade of the run.
    """
    numbered = f"phones are numbered from 0 to {phones - 1}"
    # What is asked for at the end of the run would not be sent any more.
    last_s = np.nextafter(duration_s, 0)
    payload = f"a payload has {PAYLOAD_BYTES_MIN} to {SIZE.maximum:,.0f} bytes"
    found = tables.read(
        path,
        [
            Column(
                "time_s", 0, last_s, f"the run is from 0 to before {duration_s:g} s", is_sorted=True
            ),
            Column("from", 0, phones - 1, numbered, is_whole=True),
            Column("to", 0, phones - 1, numbered, is_whole=True),
            Column("payload_bytes", PAYLOAD_BYTES_MIN, SIZE.maximum, payload, is_whole=True),
        ],
    )
    alone = found.columns["from"] == found.columns["to"]
    found.refuse(alone, "from and to are both phone {to}")
    return found
