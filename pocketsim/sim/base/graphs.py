"""Graphs that somebody else made, as the neighbours of each of their nodes.

Whatever is wrong with a file is one `ScenarioError` with the file and the reason. Names, weights
and other properties of nodes and edges are not looked at, whatever their types are.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from pocketsim.sim.base.errors import ScenarioError, shown
from pocketsim.sim.base.files import decoded, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import networkx as nx
    import numpy as np
    import numpy.typing as npt

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
        import numpy as np

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
    if path.suffix.lower() not in _READERS:
        reason = f"is no graph that is read: its name ends in {' or '.join(_READERS)}"
        form = _form(path)
        hint = f"; {_command(path, form)} makes one of {_FORMS[form]}" if form else ""
        raise ScenarioError(path, "", reason + hint)
    with opened(path) as file:
        data = file.read(_LARGEST_BYTES + 1)
    if len(data) > _LARGEST_BYTES:
        raise ScenarioError(path, "", f"is larger than {_LARGEST_BYTES >> 20} MiB")
    graph = parsed(path, path.suffix.lower(), data)
    if len(graph) != phones:
        reason = f"has {len(graph):,} nodes; the scenario has {phones:,} phones"
        raise ScenarioError(path, "", reason)
    nodes = tuple(str(node) for node in graph)
    return Graph(path, hashlib.sha256(data).hexdigest(), nodes, graph)


def parsed(path: Path, suffix: str, data: bytes) -> nx.Graph:
    """Return the graph in `data`, which is of the form of `suffix`; raises ScenarioError."""
    try:
        return _READERS[suffix](data)
    except ScenarioError as error:
        raise ScenarioError(path, error.key_path, error.reason) from None
    except Exception as error:  # noqa: BLE001 - whatever a reader of others raises is of the file
        raise ScenarioError(path, "", f"is no graph of that form: {_said(error)}") from None


def joined(found: Graph, numbers: Sequence[int]) -> Neighbours:
    """Return the neighbours of each phone; `numbers` are those of the nodes, in their order.

    Edges of a directed graph lead one way. Raises ScenarioError for a node without neighbours.
    """
    nodes = [node for _, node in sorted(zip(numbers, found.graph, strict=True), key=_number)]
    near = neighbours(found.graph, nodes)
    alone = near.degree() == 0
    if alone.any():
        _refuse_alone(found, shown(repr(nodes[int(alone.argmax())])))
    return near


def _refuse_alone(found: Graph, node: str) -> None:
    command = _command(found.path, _form(found.path) or "snap")
    if found.graph.is_directed():
        reason = f"no edge leads from node {node} to another, as the graph is directed"
        how = f"{command[:-1]} --undirected` writes one whose edges lead both ways"
    else:
        reason = f"no edge joins node {node} to another"
        how = f"{command} writes one without such nodes"
    raise ScenarioError(found.path, "", f"{reason}; {how}")


def _form(path: Path) -> str | None:
    """Return which format of `pocketsim import` a file is of, by its name, if that tells."""
    name = Path(path.stem) if path.suffix.lower() == ".gz" else path
    return _BY_SUFFIX.get(name.suffix.lower())


def _command(path: Path, form: str) -> str:
    return f"`pocketsim import {form} {shown(shlex.quote(path.name))} -o FOLDER`"


def neighbours(graph: nx.Graph, nodes: Sequence[Any]) -> Neighbours:
    """Return the neighbours in a graph whose nodes are numbered as they stand in `nodes`."""
    import numpy as np

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


@dataclass(frozen=True)
class XmlGraph:
    """Nodes and edges of a document in XML; if `is_directed`, one of both ways is there twice."""

    nodes: list[str]
    pairs: list[tuple[str, str]]
    is_directed: bool


def of_xml(data: str | bytes, form: str) -> XmlGraph:
    """Return the first graph in a document of the form "GraphML" or "GEXF", and all inside it.

    Raises ET.ParseError for what is no XML, ScenarioError without a file for another document.
    """
    root = ET.fromstring(data)  # noqa: S314 - expat bounds what expands
    graph = next((element for element in root.iter() if _tag(element) == "graph"), None)
    if _tag(root) != form.lower() or graph is None:
        raise ScenarioError("", "", f"is no {form}: it has no graph")
    default, own = _DIRECTIONS[form]
    usual = graph.get(default, "undirected")
    nodes = {element.get("id"): None for element in graph.iter() if _tag(element) == "node"}
    one_way: list[tuple[str, str]] = []
    both_ways: list[tuple[str, str]] = []
    edges = (element for element in graph.iter() if _tag(element) == "edge")
    for number, edge in enumerate(edges, 1):
        ends = edge.get("source"), edge.get("target")
        if not {*ends} <= nodes.keys() or None in ends:
            reason = f"{shown(repr(ends))} are no two nodes"
            raise ScenarioError("", f"edge {number}", reason)
        leads = one_way if edge.get(own, usual) in {"directed", "true"} else both_ways
        leads.append((str(ends[0]), str(ends[1])))
    back = [(other, one) for one, other in both_ways] if one_way else []
    return XmlGraph([str(node) for node in nodes], one_way + both_ways + back, bool(one_way))


def _tag(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _graphml(data: bytes) -> nx.Graph:
    return _of_pairs(of_xml(data, "GraphML"))


def _gexf(data: bytes) -> nx.Graph:
    return _of_pairs(of_xml(data, "GEXF"))


def _of_pairs(found: XmlGraph) -> nx.Graph:
    import networkx as nx

    graph = nx.DiGraph() if found.is_directed else nx.Graph()
    graph.add_nodes_from(found.nodes)
    graph.add_edges_from(found.pairs)
    return graph


def _node_link(data: bytes) -> nx.Graph:
    import networkx as nx

    found = json.loads(data)
    # As networkx and d3 call them.
    return nx.node_link_graph(found, edges="edges" if "edges" in found else "links")


def _pairs(data: bytes) -> nx.Graph:
    import networkx as nx

    rows = [line.partition("#")[0].split() for line in decoded("", data).splitlines()]
    for number, words in enumerate(rows, 1):
        if len(words) == 1:
            raise ScenarioError("", f"line {number}", "has one word, where two nodes are named")
    return nx.Graph((words[0], words[1]) for words in rows if words)


def _said(error: Exception) -> str:
    text = str(error)
    return shown(f"{type(error).__name__}: {text[:1].lower() + text[1:]}")


_DIRECTIONS = {"GraphML": ("edgedefault", "directed"), "GEXF": ("defaultedgetype", "type")}
"""Which attribute says whether edges are directed: of the graph, and of one edge."""
_FORMS = {
    "graphml": "GraphML",
    "gexf": "GEXF",
    "node-link": "node-link JSON",
    "snap": "an edge list",
    "gml": "GML",
    "pajek": "a network of Pajek",
}
_BY_SUFFIX = {
    ".graphml": "graphml",
    ".xml": "graphml",
    ".gexf": "gexf",
    ".json": "node-link",
    ".gml": "gml",
    ".net": "pajek",
    ".paj": "pajek",
    ".pajek": "pajek",
    **dict.fromkeys((".edgelist", ".txt", ".csv", ".tsv", ".dat", ".edges", ".el"), "snap"),
}
"""Formats of `pocketsim import` by suffix."""
_LARGEST_BYTES = 256 << 20  # a million phones with ten neighbours each, as pairs
_READERS: dict[str, Callable[[bytes], nx.Graph]] = {
    ".graphml": _graphml,
    ".gexf": _gexf,
    ".json": _node_link,
    ".edgelist": _pairs,
}
SUFFIXES = tuple(_READERS)
