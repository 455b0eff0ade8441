"""Graphs that somebody else made, as the neighbours of each of their nodes; networkx reads them.

Whatever is wrong with a file is one `ScenarioError` with the file and the reason. Names, weights
and other properties of nodes and edges are not looked at.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.errors import ScenarioError, shown
from pocketsim.sim.base.files import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import networkx as nx

    Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Neighbours:
    """Whom each node has an edge to: node n those in `node` from `start[n]` to before `start[n+1]`.

    They are in order, each once, and never the node itself.
    """

    start: Indices
    node: Indices

    def degree(self) -> Indices:
        """Return the number of neighbours of each node."""
        return np.diff(self.start)


@dataclass(frozen=True)
class Graph:
    """A graph as it was read: the SHA-256 of its file, in hex, and what its nodes are called."""

    path: Path
    digest: str
    nodes: tuple[str, ...]
    graph: nx.Graph


def read(path: Path, phones: int) -> Graph:
    """Return the graph in the file at `path`, read by its suffix (`SUFFIXES`).

    Raises ScenarioError where it has not as many nodes as there are phones.
    """
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise ScenarioError(path, "", f"is no graph: its name ends in {' or '.join(_READERS)}")
    with opened(path) as file:
        data = file.read(_LARGEST_BYTES + 1)
    if len(data) > _LARGEST_BYTES:
        raise ScenarioError(path, "", f"is larger than {_LARGEST_BYTES >> 20} MiB")
    try:
        graph = _READERS[suffix](data)
    except ScenarioError as error:
        raise ScenarioError(path, error.key_path, error.reason) from None
    except Exception as error:  # noqa: BLE001 - whatever a reader of others raises is of the file
        raise ScenarioError(path, "", f"is no graph of that form: {_said(error)}") from None
    if len(graph) != phones:
        reason = f"has {len(graph):,} nodes; the scenario has {phones:,} phones"
        raise ScenarioError(path, "", reason)
    nodes = tuple(str(node) for node in graph)
    return Graph(path, hashlib.sha256(data).hexdigest(), nodes, graph)


def joined(found: Graph, numbers: Sequence[int]) -> Neighbours:
    """Return the neighbours of each phone; `numbers` are those of the nodes, in their order.

    Edges of a directed graph lead one way. Raises ScenarioError for a node without neighbours.
    """
    nodes = [node for _, node in sorted(zip(numbers, found.graph, strict=True), key=_number)]
    near = neighbours(found.graph, nodes)
    alone = near.degree() == 0
    if alone.any():
        leads = "no edge leads from" if found.graph.is_directed() else "no edge joins"
        node = shown(repr(nodes[int(alone.argmax())]))
        raise ScenarioError(found.path, "", f"{leads} node {node} to another")
    return near


def neighbours(graph: nx.Graph, nodes: Sequence[Any]) -> Neighbours:
    """Return the neighbours in a graph whose nodes are numbered as they stand in `nodes`."""
    number = {node: place for place, node in enumerate(nodes)}
    edges = [(number[one], number[other]) for one, other in graph.edges()]
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    if not graph.is_directed():
        ends = np.concatenate([ends, ends[:, ::-1]])
    ends = ends[ends[:, 0] != ends[:, 1]]
    # As one number each, pairs are sorted at once, and those that stand twice fall together.
    one, other = np.divmod(np.unique(ends[:, 0] * len(nodes) + ends[:, 1]), max(len(nodes), 1))
    return Neighbours(np.searchsorted(one, np.arange(len(nodes) + 1)), other)


def _number(numbered: tuple[int, Any]) -> int:
    return numbered[0]


def _graphml(data: bytes) -> nx.Graph:
    import networkx as nx

    return nx.read_graphml(BytesIO(data))


def _gexf(data: bytes) -> nx.Graph:
    import networkx as nx

    return nx.read_gexf(BytesIO(data))


def _node_link(data: bytes) -> nx.Graph:
    import networkx as nx

    found = json.loads(data)
    # As networkx and d3 call them.
    return nx.node_link_graph(found, edges="edges" if "edges" in found else "links")


def _pairs(data: bytes) -> nx.Graph:
    import networkx as nx

    rows = [line.partition("#")[0].split() for line in data.decode().splitlines()]
    for number, words in enumerate(rows, 1):
        if len(words) == 1:
            raise ScenarioError("", f"line {number}", "has one word, where two nodes are named")
    return nx.Graph((words[0], words[1]) for words in rows if words)


def _said(error: Exception) -> str:
    text = str(error)
    return shown(f"{type(error).__name__}: {text[:1].lower() + text[1:]}")


_LARGEST_BYTES = 256 << 20  # a million phones with ten neighbours each, as pairs
_READERS: dict[str, Callable[[bytes], nx.Graph]] = {
    ".graphml": _graphml,
    ".gexf": _gexf,
    ".json": _node_link,
    ".edgelist": _pairs,
}
SUFFIXES = tuple(_READERS)
