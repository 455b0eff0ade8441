"""Files that a scenario names: found, checked against it, and told by their digests.

What is in them enters no resolved scenario; its digest does, and whoever builds a plan, or runs a
protocol of one's own, reads the file again (`sim.plan`, `sim.run.own_protocol`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.sim.base import graphs
from pocketsim.sim.scenario import own_protocol, own_trades
from pocketsim.sim.scenario.workloads import Poisson, WorkloadTrace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.intervals import Table


@dataclass(frozen=True)
class DataFile:
    """A file as it was read: its absolute path and the SHA-256 of its content, in hex.

    `largest_payload_bytes` is that of trades, else 0.
    """

    path: Path
    digest: str
    largest_payload_bytes: int = 0


def read(scenario: Scenario, path: Path) -> dict[str, DataFile]:
    """Return the files that the scenario at `path` names, by their keys in it.

    Raises ScenarioError with file and row for the first that does not fit the scenario.
    """
    found = {}
    workload = scenario.workload
    if isinstance(workload, WorkloadTrace):
        file = _beside(path, workload.file)
        trades = own_trades.read(file, scenario.phone_count(), scenario.run.duration)
        largest_bytes = int(trades.columns["payload_bytes"].max())
        found["workload.file"] = DataFile(file, trades.digest, largest_bytes)
    if isinstance(workload, Poisson) and workload.partners and workload.partners.graph:
        file = _beside(path, workload.partners.graph)
        digest, _ = graphs.read(file, scenario.phone_count())
        found["workload.partners.graph"] = DataFile(file, digest)
    if scenario.protocol.class_ is not None:
        name, kind = own_protocol.parted(scenario, path)
        file = _beside(path, name)
        found[own_protocol.CLASS] = DataFile(file, own_protocol.digest(file, kind))
    return found


def by_digest(files: Mapping[str, DataFile | Table]) -> dict[str, str]:
    """Return the paths of files by their digests, as who builds a plan needs them."""
    return {file.digest: str(file.path) for file in files.values()}


def _beside(path: Path, name: str) -> Path:
    return (path.parent / name).absolute()
