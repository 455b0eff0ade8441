"""One repetition as a graph for yEd, Gephi and networkx: phones, and who paid or traded with whom.

What deliberately does not live here: amounts of money, which no trace has (`sim.export.amounts`),
and layouts, colours or measures of graphs, which those programs are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

from sim.metrics.parts import traced_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from sim.scenario.resolved import Resolved

    Array = np.ndarray[Any, Any]


def graphml(
    events: pa.Table, resolved: Resolved, repetition: int, cents: Array | None = None
) -> bytes:
    """Return GraphML 1.0 of a repetition's `events`; equal runs give equal bytes.

    A node is a phone. An edge from A to B is everything that A paid to B or proposed to B and that
    A knows to be done: `count` transactions, their tokens or blocks in bytes, the first and the
    last end in seconds. `cents` is the worth of each row's transaction, if that is known.
    """
    rows = _Rows(events, cents)
    phones = _phones(resolved)
    document = ET.Element("graphml", _NAMESPACES)
    about = {
        "scenario": resolved["scenario"],
        "seed": resolved["run"]["seed"],
        "repetition": repetition,
        "duration_s": float(resolved["run"]["duration_s"]),
        "traced_share": traced_share(resolved["output"]),
    }
    nodes = {**phones, **_sums(rows, len(phones["profile"]), is_town="role" in phones)}
    edges = _edges(rows)
    _declare(document, "graph", {name: [value] for name, value in about.items()})
    _declare(document, "node", nodes)
    _declare(document, "edge", {name: edges[name] for name in edges if name not in _ENDS})
    graph = ET.SubElement(document, "graph", {"id": "run", "edgedefault": "directed"})
    _fill(graph, "graph", about)
    for number, values in enumerate(_each(nodes)):
        _fill(ET.SubElement(graph, "node", {"id": str(number)}), "node", values)
    for values in _each(edges):
        ends = {name: str(values.pop(name)) for name in _ENDS}
        _fill(ET.SubElement(graph, "edge", ends), "edge", values)
    ET.indent(document)
    written: bytes = ET.tostring(document, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


class _Rows:
    """The trace of one repetition as arrays of one length."""

    def __init__(self, events: pa.Table, cents: Array | None) -> None:
        self.kind = np.array(events["kind"].to_pylist(), dtype=object)
        self.node = events["node"].to_numpy()
        self.peer = events["peer"].to_numpy()
        self.time_s = events["time_s"].to_numpy()
        self.size_bytes = events["message_size"].to_numpy()
        self.cents = cents


def _phones(resolved: Resolved) -> dict[str, list[Any]]:
    groups = resolved["devices"]
    every = [group for group in groups for _ in range(group["count"])]
    profiles = {"profile": [group["profile"] for group in every]}
    is_town = resolved["protocol"]["tokens"] is not None
    return {**profiles, "role": [group["role"] for group in every]} if is_town else profiles


def _sums(rows: _Rows, phones: int, *, is_town: bool) -> dict[str, list[Any]]:
    """Return what each phone did, as columns over phones."""

    def of(kind: str, weights: Array | None = None, at: Array = rows.node) -> list[int]:
        here = rows.kind == kind
        known = None if weights is None else weights[here]
        return _whole(np.bincount(at[here], known, phones))

    names = {"paid": "store", "received": "store_peer"}
    sums = {"proposed_count": of("send")}
    for name, kind in names.items():
        sums |= {f"{name}_count": of(kind), f"{name}_bytes": of(kind, rows.size_bytes)}
        if rows.cents is not None:
            sums[f"{name}_cents"] = of(kind, rows.cents)
    if is_town:
        sums |= {"unpayable_count": of("unpayable"), "tokens_taken": of("take")}
        sums |= {"double_spend_count": of("double_spend")}
        sums |= {"accused_count": of("accuse", at=rows.peer)}
    return sums


def _edges(rows: _Rows) -> dict[str, list[Any]]:
    """Return one row for each ordered pair of phones, in their order."""
    done = rows.kind == "store"
    ends = np.stack([rows.node[done], rows.peer[done]], axis=1)
    pairs, pair = np.unique(ends, axis=0, return_inverse=True)
    pair, time_s = pair.reshape(-1), rows.time_s[done]
    first_s, last_s = np.full(len(pairs), np.inf), np.full(len(pairs), -np.inf)
    np.minimum.at(first_s, pair, time_s)
    np.maximum.at(last_s, pair, time_s)
    edges = {
        "source": pairs[:, 0].tolist(),
        "target": pairs[:, 1].tolist(),
        "count": _whole(np.bincount(pair, minlength=len(pairs))),
        "bytes": _whole(np.bincount(pair, rows.size_bytes[done], len(pairs))),
    }
    if rows.cents is not None:
        edges["cents"] = _whole(np.bincount(pair, rows.cents[done], len(pairs)))
    return {**edges, "first_s": first_s.tolist(), "last_s": last_s.tolist()}


def _whole(sums: Array) -> list[int]:
    # Sums of weights are doubles, exact up to 2^53.
    whole: list[int] = np.rint(sums).astype(np.int64).tolist()
    return whole


def _each(columns: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def _declare(document: ET.Element, domain: str, columns: Mapping[str, list[Any]]) -> None:
    for name, values in columns.items():
        kind = _TYPES[type(values[0])] if values else "long"
        attributes = {"for": domain, "attr.name": name, "attr.type": kind}
        ET.SubElement(document, "key", {"id": f"{domain}.{name}", **attributes})


def _fill(element: ET.Element, domain: str, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        ET.SubElement(element, "data", {"key": f"{domain}.{name}"}).text = str(value)


_ENDS = ("source", "target")
_TYPES = {str: "string", int: "long", float: "double"}
_HOME = "http://graphml.graphdrawing.org/xmlns"
_NAMESPACES = {
    "xmlns": _HOME,
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "xsi:schemaLocation": f"{_HOME} {_HOME}/1.0/graphml.xsd",
}
