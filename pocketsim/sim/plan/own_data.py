"""What somebody brings as files, read again to become columns of a plan.

A resolved scenario names a file by its digest alone; where it lies, whoever builds the plan says.
What such a file may hold is checked where scenarios are (`sim.scenario.data_files`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan import arrivals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.plan import plan
    from pocketsim.sim.scenario import resolved as given

    Files = Mapping[str, str]
    """Paths of files by the digests that a resolved scenario has of them."""


def trades(
    workload: given.WorkloadTrace, files: Files, phones: int, duration_s: float
) -> plan.Workload:
    """Return the rows of a trace as proposals.

    Raises ScenarioError where the file is no longer what it was.
    """
    # Here, as it loads the models of documents: children of other runs start faster without.
    from pocketsim.sim.scenario import own_trades

    path = _file(workload["digest"], files)
    found = own_trades.read(path, phones, duration_s)
    _check_same(path, found.digest, workload["digest"])
    columns = found.columns
    rows = arrivals.Arrivals(columns["time_s"], columns["from"], columns["to"])
    return arrivals.proposals(rows, columns["payload_bytes"])


def _file(digest: str, files: Files) -> Path:
    assert digest in files, "whoever builds a plan says where its files lie"
    return Path(files[digest])


def _check_same(path: Path, found: str, digest: str) -> None:
    if found != digest:
        raise ScenarioError(path, "", "has changed since the run was resolved; start it again")
