"""One repetition as a graph: phones, and who paid or traded with whom.

networkx holds it, for notebooks, and writes it: GraphML for yEd, GEXF for Gephi, node-link JSON for
the web. What deliberately does not live here: amounts of money, which no trace has
(`sim.export.payment_amounts`), and layouts, colours or measures of graphs, which those programs
are for.
"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.export import payment_amounts
from pocketsim.sim.metrics.family_metrics import traced_share
from pocketsim.sim.run import results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import networkx as nx
    import pyarrow as pa

    from pocketsim.sim.scenario.resolved import Resolved

    Array = np.ndarray[Any, Any]


def of_run(directory: Path, repetition: int = 0) -> nx.DiGraph:
    """Return the graph of a repetition of the run in `directory`, with cents if they are known.

    Raises IndexError when there is no such repetition.
    """
    import pyarrow.compute as pc

    resolved = results.read_resolved(directory)
    if not 0 <= repetition < resolved["run"]["repetitions"]:
        raise IndexError(f"{directory}: no repetition {repetition}")
    events = results.read_events(directory)
    events = events.filter(pc.equal(events["repetition"], repetition))
    return of_events(
        events, resolved, repetition, payment_amounts.cents(events, resolved, repetition)
    )


def of_events(
    events: pa.Table, resolved: Resolved, repetition: int, cents: Array | None = None
) -> nx.DiGraph:
    """Return the graph of a repetition's `events`.

    A node is a phone. An edge from A to B is everything that A paid to B or proposed to B and that
    A knows to be done: `count` transactions, their tokens or blocks in bytes, the first and the
    last end in seconds. `cents` is the worth of each row's transaction, if that is known. The graph
    itself says which run it is.
    """
    import networkx as nx

    rows = _Rows(events, cents)
    about = phones(resolved)
    found = nx.DiGraph(
        scenario=resolved["scenario"],
        seed=resolved["run"]["seed"],
        repetition=repetition,
        duration_s=float(resolved["run"]["duration_s"]),
        traced_share=traced_share(resolved["output"]),
    )
    sums = _sums(rows, len(about["profile"]), is_town="role" in about)
    found.add_nodes_from(enumerate(_each({**about, **sums})))
    ends, edges = _edges(rows)
    found.add_edges_from((*pair, edge) for pair, edge in zip(ends, _each(edges), strict=True))
    return found


def write(found: nx.DiGraph, sink: IO[bytes], form: str) -> None:
    """Write a graph of this module in a form of `FORMS`; equal graphs give equal bytes."""
    FORMS[form](found, sink)
    sink.write(b"\n")


def _write_graphml(found: nx.DiGraph, sink: IO[bytes]) -> None:
    import networkx as nx

    # By that name, as `write_graphml` writes other bytes where lxml is installed.
    nx.write_graphml_xml(found, sink)


def _write_gexf(found: nx.DiGraph, sink: IO[bytes]) -> None:
    from xml.etree import ElementTree as ET

    from networkx.readwrite.gexf import GEXFWriter

    writer = GEXFWriter(found)
    # By itself it says the day, and nothing of the run.
    (about,) = writer.xml.iter("meta")
    about.clear()
    run = ", ".join(f"{name} = {value}" for name, value in found.graph.items())
    ET.SubElement(about, "creator").text = "pocketsim"
    ET.SubElement(about, "description").text = run
    writer.write(sink)


def _write_json(found: nx.DiGraph, sink: IO[bytes]) -> None:
    import networkx as nx

    sink.write(json.dumps(nx.node_link_data(found, edges="edges"), allow_nan=False).encode())


class _Rows:
    """The trace of one repetition as arrays of one length."""

    def __init__(self, events: pa.Table, cents: Array | None) -> None:
        self.kind = np.array(events["kind"].to_pylist(), dtype=object)
        self.node = events["node"].to_numpy()
        self.peer = events["peer"].to_numpy()
        self.time_s = events["time_s"].to_numpy()
        self.size_bytes = events["message_size"].to_numpy()
        self.cents = cents


def phones(resolved: Resolved) -> dict[str, list[Any]]:
    """Return what is known of each phone before a run: its profile, in a town its role."""
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


def _edges(rows: _Rows) -> tuple[list[list[int]], dict[str, list[Any]]]:
    """Return the ordered pairs of phones that have an edge, in their order, and its columns."""
    done = rows.kind == "store"
    of_rows = np.stack([rows.node[done], rows.peer[done]], axis=1)
    pairs, pair = np.unique(of_rows, axis=0, return_inverse=True)
    pair, time_s = pair.reshape(-1), rows.time_s[done]
    first_s, last_s = np.full(len(pairs), np.inf), np.full(len(pairs), -np.inf)
    np.minimum.at(first_s, pair, time_s)
    np.maximum.at(last_s, pair, time_s)
    edges = {
        "count": _whole(np.bincount(pair, minlength=len(pairs))),
        "bytes": _whole(np.bincount(pair, rows.size_bytes[done], len(pairs))),
    }
    if rows.cents is not None:
        edges["cents"] = _whole(np.bincount(pair, rows.cents[done], len(pairs)))
    ends: list[list[int]] = pairs.tolist()
    return ends, {**edges, "first_s": first_s.tolist(), "last_s": last_s.tolist()}


def _whole(sums: Array) -> list[int]:
    # Sums of weights are doubles, exact up to 2^53.
    whole: list[int] = np.rint(sums).astype(np.int64).tolist()
    return whole


def _each(columns: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


FORMS: dict[str, Callable[[nx.DiGraph, IO[bytes]], None]] = {
    "graphml": _write_graphml,
    "gexf": _write_gexf,
    "json": _write_json,
}
"""Each by its usual suffix."""
