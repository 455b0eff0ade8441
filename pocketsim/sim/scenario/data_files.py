"""Files that a scenario names: found, checked against it, and told by their digests.

What is in them enters no resolved scenario; its digest does, and whoever builds a plan, or runs a
protocol of one's own, reads the file again (`sim.plan`, `sim.run.own_protocol`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base import graphs
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import nearest_file
from pocketsim.sim.scenario import own_protocol, own_trades
from pocketsim.sim.scenario.workloads import Poisson, WorkloadTrace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pocketsim.sim.base.tables import Table
    from pocketsim.sim.scenario.document import Scenario

TRADES, GRAPH = "workload.file", "workload.partners.graph"


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
        file = beside(path, TRADES, workload.file)
        family = scenario.protocol.kind
        rows = own_trades.read(file, family, scenario.phone_count(), scenario.run.duration)
        own_trades.check(scenario, rows)
        payloads_bytes = rows.columns.get("payload_bytes", np.zeros(1))
        found[TRADES] = DataFile(file, rows.digest, int(payloads_bytes.max()))
    if isinstance(workload, Poisson) and workload.partners and workload.partners.graph:
        file = beside(path, GRAPH, workload.partners.graph)
        digest, _ = graphs.read(file, scenario.phone_count())
        found[GRAPH] = DataFile(file, digest)
    if scenario.protocol.class_ is not None:
        name, kind = own_protocol.parted(scenario, path)
        file = beside(path, own_protocol.CLASS, name)
        found[own_protocol.CLASS] = DataFile(file, own_protocol.digest(file, kind))
    return found


def by_digest(files: Mapping[str, DataFile | Table]) -> dict[str, str]:
    """Return the paths of files by their digests, as who builds a plan needs them."""
    return {file.digest: str(file.path) for file in files.values()}


def beside(path: Path, place: str, name: str) -> Path:
    """Return where the file lies that the scenario at `path` calls `name` under the key `place`.

    Raises ScenarioError where there is none.
    """
    file = (path.parent / name).absolute()
    try:
        if file.is_file():  # a pipe could be read only once
            return file
        suggestion = nearest_file(file)
    except (OSError, ValueError):  # nothing is called what nothing can be called
        suggestion = None
    raise ScenarioError(path, place, f"no such file {file}", suggestion)
