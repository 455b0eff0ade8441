"""Graphs of SNAP, Pajek, GML, GraphML, GEXF and node-link JSON, as the ids that an edge joins.

Weights, labels and other properties are not looked at, whatever their types are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

from pocketsim.sim.base import graphs
from pocketsim.sim.base.arrow import texts
from pocketsim.sim.base.errors import ScenarioError, shown
from pocketsim.sim.importing import source
from pocketsim.sim.importing.lines import Form, Head, blocks
from pocketsim.sim.importing.source_data import ColumnBlocks, Options, Rows, SourceData

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def snap(path: Path, options: Options) -> SourceData:
    """Return the pairs of nodes in an edge list, directed if a comment says so."""
    del options
    head, gathered = Head([], []), ColumnBlocks()
    found = SourceData("edge list")
    for block in blocks(path, _SNAP, head):
        gathered.add({"from": block.names(0, "node"), "to": block.names(1, "node")}, {})
        found.rows += block.row.size
    found.edges = gathered.rows()
    said = re.search(r"\b(un)?directed\b", " ".join(head.comments), re.IGNORECASE)
    found.is_directed = said is not None and not said[1]
    return found


def pajek(path: Path, options: Options) -> SourceData:
    """Return the edges and arcs of a Pajek network; its vertices are known by their numbers."""
    del options
    section, vertices = "", 0
    pairs: list[tuple[str, str]] = []
    is_directed = False
    for row, line in enumerate(source.text(path).splitlines(), 1):
        words = line.split()
        if not words or line.startswith("%"):
            continue
        if words[0].startswith("*"):
            section = words[0].lower()
            if section == "*vertices":
                vertices = _vertices(path, row, words)
            elif section not in {*_PAIRS, *_LISTS, "*network"}:
                raise ScenarioError(path, f"row {row}", f"{shown(words[0])} is not read")
            is_directed |= section in {"*arcs", "*arcslist"}
        elif section in {*_PAIRS, *_LISTS}:
            pairs += _pajek_pairs(path, row, words, section, vertices)
        elif section != "*vertices":
            raise ScenarioError(path, f"row {row}", "stands before *Vertices")
    return _found("Pajek", pairs, is_directed=is_directed, path=path)


def gml(path: Path, options: Options) -> SourceData:
    """Return the edges of a GML graph, whose nodes are known by their ids."""
    del options
    import networkx as nx

    text = source.text(path)
    if not re.search(r"^\s*multigraph\b", text, re.MULTILINE | re.IGNORECASE):
        # Many have an edge twice, and do not say that they may.
        text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", text, count=1)
    try:
        graph = nx.parse_gml(text, label="id")
    except Exception as error:  # noqa: BLE001 - whatever a reader of others raises is of the file
        place = re.search(r"\((\d+), \d+\)", str(error))
        row = f"row {place[1]}" if place else ""
        raise ScenarioError(path, row, f"is no GML: {shown(str(error))}") from None
    pairs = [(str(one), str(other)) for one, other, *_ in graph.edges]
    return _found("GML", pairs, is_directed=graph.is_directed(), path=path)


def graphml(path: Path, options: Options) -> SourceData:
    """Return the edges of a GraphML graph, as Gephi, graph-tool, yEd or networkx write it."""
    del options
    return _of_xml(path, "GraphML")


def gexf(path: Path, options: Options) -> SourceData:
    """Return the edges of a GEXF graph, as Gephi writes it."""
    del options
    return _of_xml(path, "GEXF")


def node_link(path: Path, options: Options) -> SourceData:
    """Return the edges of node-link JSON, as networkx and d3 have it."""
    del options
    graph = graphs.parsed(path, ".json", source.text(path).encode())
    pairs = [(str(one), str(other)) for one, other, *_ in graph.edges]
    return _found("node-link JSON", pairs, is_directed=graph.is_directed(), path=path)


def _of_xml(path: Path, form: str) -> SourceData:
    try:
        found = graphs.of_xml(source.text(path), form)
    except ET.ParseError as error:
        reason = f"is no XML: {str(error).partition(':')[0]}"
        raise ScenarioError(path, f"row {error.position[0]}", reason) from None
    except ScenarioError as error:
        raise ScenarioError(path, error.key_path, error.reason) from None
    return _found(form, found.pairs, is_directed=found.is_directed, path=path)


def _found(
    dialect: str, pairs: Sequence[tuple[str, str]], *, is_directed: bool, path: Path
) -> SourceData:
    import pyarrow as pa

    if not pairs:
        raise ScenarioError(path, "", f"is {dialect} without an edge")
    one, other = zip(*pairs, strict=True)
    ids = {
        name: pa.chunked_array([texts(values)]) for name, values in (("from", one), ("to", other))
    }
    return SourceData(dialect, len(pairs), edges=Rows(ids, {}), is_directed=is_directed)


def _vertices(path: Path, row: int, words: Sequence[str]) -> int:
    if len(words) < _VERTICES_WORDS or not (words[1].isascii() and words[1].isdecimal()):
        raise ScenarioError(path, f"row {row}", "does not say how many vertices there are")
    return int(words[1])


def _pajek_pairs(
    path: Path, row: int, words: Sequence[str], section: str, vertices: int
) -> list[tuple[str, str]]:
    ends = words[:2] if section in _PAIRS else words
    for word in ends:
        if not (word.isascii() and word.isdecimal() and 1 <= int(word) <= vertices):
            reason = f"{shown(repr(word))} is no vertex; they are numbered from 1 to {vertices}"
            raise ScenarioError(path, f"row {row}", reason)
    if len(ends) < _PAIR:
        raise ScenarioError(path, f"row {row}", "has one vertex, where two are joined")
    return [(str(int(ends[0])), str(int(other))) for other in ends[1:]]


def joined(
    found: SourceData, one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], nodes: int
) -> Any:
    """Return each edge once, none from a node to itself; an undirected one from low to high."""
    kept = found.drop(one == other, "leads from a node to itself")
    one, other = one[kept], other[kept]
    if not found.is_directed:
        one, other = np.minimum(one, other), np.maximum(one, other)
    once = np.unique(one * nodes + other)
    if once.size < one.size:
        found.dropped["joins what is joined already"] += one.size - once.size
    return np.divmod(once, nodes)


_SNAP = Form(2, 16, "a line names two nodes", b"\t ,;", number=0)
_PAIRS, _LISTS = ("*edges", "*arcs"), ("*edgeslist", "*arcslist")
_PAIR, _VERTICES_WORDS = 2, 2
