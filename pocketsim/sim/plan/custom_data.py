"""A user's files of data, read again to become columns of a plan.

A resolved scenario names a file by its digest alone; the builder of the plan is given the paths.
What such a file may hold is checked in `sim.scenario.data_files`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base import graphs
from pocketsim.sim.base.files import check_same
from pocketsim.sim.base.streams import stream
from pocketsim.sim.plan import arrivals
from pocketsim.sim.plan.population import ROLES
from pocketsim.sim.plan.town import Payments, conducts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import networkx as nx
    import numpy.typing as npt

    from pocketsim.sim.base.graphs import Neighbours
    from pocketsim.sim.base.streams import Streams
    from pocketsim.sim.plan import plan
    from pocketsim.sim.plan.population import Population
    from pocketsim.sim.scenario import resolved as given
    from pocketsim.sim.scenario.resolved import Resolved

    Files = Mapping[str, str]
    """Paths of files by the digests that a resolved scenario has of them."""


def trades(resolved: Resolved, files: Files, people: Population) -> plan.Workload:
    """Return the rows of a trace as proposals.

    Raises ScenarioError where the file is no longer what it was.
    """
    columns = _rows(resolved, files, people)
    rows = arrivals.Arrivals(columns["time_s"], columns["from"], columns["to"])
    return arrivals.proposals(rows, columns["payload_bytes"])


def payments(resolved: Resolved, files: Files, people: Population, streams: Streams) -> Payments:
    """Return the rows of a trace as payments; who of the persons cheats is drawn.

    Raises ScenarioError where the file is no longer what it was.
    """
    columns, workload = _rows(resolved, files, people), resolved["workload"]
    assert workload["kind"] == "trace", "it has rows"
    payer = columns["from"].astype(np.int64)
    # A payer's payments are numbered by themselves: another payer's row moves none of its draws.
    order = np.argsort(payer, kind="stable")
    turn = np.arange(payer.size)
    number = np.empty_like(turn)
    number[order] = turn - np.searchsorted(payer[order], payer[order])
    conduct = conducts(workload, streams, people.lane[payer], number)
    return Payments(
        columns["time_s"],
        payer,
        columns["to"].astype(np.int64),
        number,
        columns["amount_cents"].astype(np.int64),
        np.where(people.role[payer] == ROLES.index("person"), conduct, 0),
    )


def partners(
    table: given.Partners | None, resolved: Resolved, files: Files, name: str
) -> Neighbours | None:
    """Return each phone's neighbours, None without a graph; a drawn one is of stream `name`.

    Raises ScenarioError where a file is no longer what it was.
    """
    if table is None or (table["digest"] is None and table["generator"] is None):
        return None
    # Here, as it loads the models of documents: children of other runs start faster without.
    from pocketsim.sim.scenario import phone_ids

    phones = sum(group["count"] for group in resolved["devices"])
    if table["digest"] is not None:
        path = _file(table["digest"], files)
        found = graphs.read(path, phones)
        check_same(path, found.digest, table["digest"])
        return graphs.joined(found, phone_ids.numbers_of(found.nodes, resolved.get("people", ())))
    drawn = _drawn(table, phones, resolved["run"]["seed"], name)
    return graphs.neighbours(drawn, range(phones))


def _drawn(table: given.Partners, phones: int, seed: int, name: str) -> nx.Graph:
    import networkx as nx

    # networkx takes one number, and of a graph that grows the phone added last moves no edge.
    number, each = int(stream(seed, name).integers(2**63)), table["neighbours"]
    assert each is not None, "every generator takes it"
    if table["generator"] == "watts_strogatz":
        return nx.watts_strogatz_graph(phones, each, table["rewiring"], seed=number)
    if table["generator"] == "barabasi_albert":
        return nx.barabasi_albert_graph(phones, each // 2, seed=number)
    return nx.random_regular_graph(each, phones, seed=number)


def _rows(resolved: Resolved, files: Files, people: Population) -> Mapping[str, npt.NDArray[Any]]:
    # Here, as it loads the models of documents: children of other runs start faster without.
    from pocketsim.sim.scenario import trade_files

    workload, family = resolved["workload"], resolved["protocol"]["kind"]
    assert workload["kind"] == "trace", "whoever asks for its rows has one"
    path = _file(workload["digest"], files)
    found = trade_files.read(path, family, int(people.lane.size), resolved.get("people", ()))
    check_same(path, found.digest, workload["digest"])
    return trade_files.within(found, workload.get("origin_s", 0.0), resolved["run"]["duration_s"])


def _file(digest: str, files: Files) -> Path:
    assert digest in files, "whoever builds a plan says where its files lie"
    return Path(files[digest])
