"""Files that a scenario names, of data and of code: found, checked, and told by their digests.

What is in them enters no resolved scenario; its digest does, and whoever builds a plan reads the
file again (`sim.plan`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.sim.base import entry_points, graphs
from pocketsim.sim.base.files import beside
from pocketsim.sim.scenario import (
    core,
    custom_code,
    custom_library,
    move_files,
    phone_ids,
    platform_routes,
    presence_files,
    rate_files,
    trade_files,
)
from pocketsim.sim.scenario.workloads import CustomWorkload, Poisson, WorkloadTrace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pocketsim.sim.base.graphs import Graph
    from pocketsim.sim.scenario.custom_code import CustomCode
    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.presence_files import Cache
    from pocketsim.sim.scenario.rows_used import Used

TRADES, GRAPH = "workload.file", "workload.partners.graph"
PROTOCOL, ADVERSARY, POLICY = "protocol.class", "protocol.adversary.class", "transport.policy.class"
WORKLOAD, PARTNERS = "workload.class", "workload.partners.class"


@dataclass(frozen=True)
class DataFile:
    """A file as it was read: its absolute path and the SHA-256 of its content, in hex.

    `largest_payload_bytes` is that of trades in the run, `phones` how many of them trade, else 0;
    `used` what the run uses of the file.
    """

    path: Path
    digest: str
    largest_payload_bytes: int = 0
    phones: int = 0
    used: Used | None = None


def graph(scenario: Scenario, path: Path) -> Graph | None:
    """Return the graph of partners that the scenario at `path` names in a file, if it does."""
    workload = scenario.workload
    if isinstance(workload, Poisson) and workload.partners and workload.partners.graph:
        file = beside(path, GRAPH, workload.partners.graph)
        return graphs.read(file, scenario.phone_count())
    return None


def ids(scenario: Scenario, path: Path, partners: Graph | None, tables: Cache) -> tuple[str, ...]:
    """Return what people are called in all files, in order of phones (`phone_ids.together`)."""
    naming: dict[Path, Iterable[str]] = dict(presence_files.naming(scenario, path, tables))
    if partners is not None:
        naming[partners.path] = partners.nodes

    def others() -> dict[Path, Iterable[str]]:
        found: dict[Path, Iterable[str]] = dict(presence_files.others(scenario, path, tables))
        if isinstance(scenario.workload, WorkloadTrace):
            file = beside(path, TRADES, scenario.workload.file)
            found[file] = trade_files.ids(file, *_setting(scenario))
        return found

    return phone_ids.together(naming, others, scenario.phone_count())


def _setting(scenario: Scenario) -> tuple[str, int]:
    return scenario.protocol.kind, scenario.phone_count()


def read(
    scenario: Scenario, path: Path, partners: Graph | None, called: Sequence[str]
) -> dict[str, DataFile]:
    """Return the files that the scenario at `path` names, by their keys in it.

    `partners` is the graph of it, `called` what people are called.

    Raises ScenarioError with file and row for the first that does not fit the scenario.
    """
    found = {}
    workload = scenario.workload
    if isinstance(workload, WorkloadTrace):
        file = beside(path, TRADES, workload.file)
        found[TRADES] = _trades(scenario, workload, file, called)
    for place, table in rate_files.read(scenario, path).items():
        found[place] = DataFile(table.path, table.digest)
    for place, table in move_files.read(scenario, path).items():
        found[place] = DataFile(table.path, table.digest)
    if partners is not None:
        graphs.joined(partners, phone_ids.numbers_of(partners.nodes, called))
        found[GRAPH] = DataFile(partners.path, partners.digest)
    if scenario.protocol.library is not None:
        file = beside(path, custom_library.LIBRARY, scenario.protocol.library)
        found[custom_library.LIBRARY] = DataFile(file, custom_library.digest(file))
    platform = core.platform(scenario, path)
    if platform is not None:
        file, routes = platform
        found[platform_routes.PLATFORM] = DataFile(file, platform_routes.digest(file))
        found[core.ROUTES] = DataFile(routes.path, routes.digest)
    return found


def used(files: Mapping[str, DataFile]) -> dict[str, Used]:
    """Return what the run uses of those files that have times, by their keys."""
    return {key: file.used for key, file in files.items() if file.used is not None}


def _trades(
    scenario: Scenario, workload: WorkloadTrace, file: Path, called: Sequence[str]
) -> DataFile:
    import numpy as np

    rows, duration_s = trade_files.read(file, *_setting(scenario), called), scenario.run.duration
    trade_files.check(scenario, rows)
    used = trade_files.used(rows, workload.origin, duration_s)
    columns = trade_files.within(rows, used.origin_s, duration_s)
    payloads_bytes = columns.get("payload_bytes", np.zeros(1))
    phones = np.union1d(columns["from"], columns["to"])
    return DataFile(file, rows.digest, int(payloads_bytes.max()), phones.size, used)


def code(scenario: Scenario, path: Path) -> dict[str, CustomCode]:
    """Return the custom code that the scenario at `path` names, by its keys in it.

    Raises ScenarioError for the first that is not there, or has not what it is to have.
    """
    found = {}
    for key, text, group in _classes(scenario):
        found[key] = custom_code.find(path, key, text, group)
    for number, text in enumerate(scenario.output.metrics):
        key = f"output.metrics[{number}]"
        found[key] = custom_code.find(path, key, text, entry_points.METRICS, is_function=True)
    return found


def _classes(scenario: Scenario) -> Iterator[tuple[str, str, str]]:
    """Yield key, text and group of entry points of each class that a scenario names."""
    protocol, workload = scenario.protocol, scenario.workload
    if protocol.class_ is not None:
        yield PROTOCOL, protocol.class_, entry_points.PROTOCOLS
    if protocol.adversary is not None:
        yield ADVERSARY, protocol.adversary.class_, entry_points.PROTOCOLS
    if scenario.transport.policy is not None:
        yield POLICY, scenario.transport.policy.class_, entry_points.PROTOCOLS
    if isinstance(workload, CustomWorkload):
        yield WORKLOAD, workload.class_, entry_points.WORKLOADS
    if isinstance(workload, Poisson) and workload.partners and workload.partners.class_:
        yield PARTNERS, workload.partners.class_, entry_points.WORKLOADS
