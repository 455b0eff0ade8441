"""Files of rates over time that a scenario names: found, read and checked, and read again.

Each is CSV or Parquet of times and rates, or of the format of mahimahi's link emulator (Netravali
et al., USENIX ATC 2015): the milliseconds at which 1500 B may be sent. Like other files they are
told by their digests, and a child process refuses one that has changed. A child has no models of
documents, and no import here loads them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base import tables
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import beside, check_same
from pocketsim.sim.base.tables import Column, Lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import numpy.typing as npt

    from pocketsim.sim.base.tables import Table
    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.resolved import RateFile

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """A rate in steps, from 0 s on; it begins again after `period_s`, or its last step lasts."""

    start_s: Floats
    bytes_per_s: Floats
    period_s: float | None


def key(network: str, way: str) -> str:
    """Return the key path of a file, `way` being "up" or "down"."""
    return f"network.access.{network}.rate_file.{way}"


def read(scenario: Scenario, path: Path) -> dict[str, Table]:
    """Return the tables of the files that the scenario at `path` names, by their key paths.

    Raises ScenarioError, with the row where there is one, for the first that is wrong.
    """
    found = {}
    for name, access in scenario.network.access.items():
        asked = access.rate_file
        for way in ("up", "down"):
            file = getattr(asked, way) if asked else None
            if asked is not None and file is not None:
                place = key(name, way)
                found[place] = _table(beside(path, place, file), asked.format)
    return found


def again(asked: RateFile, files: Mapping[str, str]) -> Iterator[Steps | None]:
    """Yield the rates up and down of a network, whose files lie at paths by their digests.

    None where the network's own rate holds. Raises ScenarioError for a file that is not what it was
    when the scenario was resolved.
    """
    for digest in (asked["up_digest"], asked["down_digest"]):
        if digest is None:
            yield None
            continue
        assert digest in files, "whoever builds a plan says where its files lie"
        path = Path(files[digest])
        table = _table(path, asked["format"])
        check_same(path, table.digest, digest)
        yield _steps(table)


def _table(path: Path, form: str) -> Table:
    if form == "mahimahi":
        table = tables.read(path, _OPPORTUNITIES, _LINES)
        if table.columns["ms"][-1] == 0:
            raise ScenarioError(path, "", "its last line is 0 ms, and it begins again after that")
        return table
    table = tables.read(path, _RATES)
    time_s, rate = table.columns["time_s"], table.columns["rate_mbps"]
    same = time_s[1:] == time_s[:-1]
    if same.any():
        raise table.error(int(same.argmax()) + 1, "is of the same time as the row before")
    if rate[-1] == 0:
        raise table.error(rate.size - 1, "is the last, whose rate lasts, and is 0")
    return table


def _steps(table: Table) -> Steps:
    if "ms" in table.columns:
        return _opportunities(table.columns["ms"])
    time_s = table.columns["time_s"]
    return Steps(time_s - time_s[0], table.columns["rate_mbps"] * _BYTES_PER_S, None)


def _opportunities(ms: npt.NDArray[Any]) -> Steps:
    """Return opportunities as a rate in steps: of each millisecond, what is due at its end."""
    import numpy as np

    period = int(ms[-1])
    # What is due at 0 is due at the end of a period.
    ends, counts = np.unique(np.where(ms == 0, period, ms).astype(np.int64), return_counts=True)
    edges = np.unique(np.concatenate([[0], ends - 1, ends[ends < period]]))
    at = np.minimum(np.searchsorted(ends, edges + 1), ends.size - 1)
    due = np.where(ends[at] == edges + 1, counts[at], 0)
    changes = np.concatenate([[True], due[1:] != due[:-1]])
    bytes_per_s = due[changes] * (_OPPORTUNITY_BYTES * 1000.0)
    return Steps(edges[changes] / 1000, bytes_per_s, period / 1000)


_OPPORTUNITY_BYTES = 1500
_BYTES_PER_S = 1e6 / 8  # of a Mbit/s
_OPPORTUNITIES = (
    Column("ms", 0, 2**32 - 1, "a line is a whole number of ms", is_whole=True, is_sorted=True),
)
_LINES = Lines((1,), "a line is one whole number of milliseconds, at which 1500 B may be sent")
_RATES = (
    Column("time_s", 0, sys.float_info.max, "a time is 0 or more, and finite", is_sorted=True),
    Column("rate_mbps", 0, 1e9, "a rate is 0 to 1e9 Mbit/s"),
)
