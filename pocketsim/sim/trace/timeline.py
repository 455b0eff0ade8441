"""The timeline of a run: what lanes spent on operations, and datagrams under way, as a table.

A row is an operation or a datagram, in the order in which datagrams and pieces of work began. What
deliberately does not live here: events, which are what transactions live through
(`sim.trace.table`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.trace import fields
from pocketsim.sim.trace import table as trace
from pocketsim.sim.trace.fields import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    Array = np.ndarray[Any, Any]

COLUMNS = {
    "repetition": Column("int32", "", "which repetition, from 0"),
    "begin_s": Column("float64", "s", "when it begins, seconds since the start of the repetition"),
    "end_s": Column(
        "float64", "s", "when it ends; null for what had not ended when the repetition did"
    ),
    "node": Column("int32", "", "the phone that works or sends"),
    "lane": Column(
        "int32",
        "",
        "number of its lane: 0 receives, 1 sends, from 16 on tasks; null for a datagram",
    ),
    "operation": Column("text", "", "what is spent; null for a datagram"),
    "size_bytes": Column(
        "int64", "B", "bytes that the operation is on, or of the datagram's UDP payload"
    ),
    "peer": Column("int32", "", "whom a datagram is for; null for work"),
    "message_id": Column(
        "int64", "", "the transaction that the loss of the datagram would be; null for others"
    ),
    "reason": Column(
        "text",
        "",
        "why a datagram was dropped, or `sender_off` for work that its phone's going off cut off; "
        "null for none",
    ),
    "uplink_from_s": Column(
        "float64",
        "s",
        "since when a datagram waited for the sender's radio; null for one that was never in its "
        "queue",
    ),
    "uplink_until_s": Column(
        "float64",
        "s",
        "until when it waited for the sender's radio: its first byte went out, or its phone off; "
        "null for what waited still",
    ),
    "downlink_from_s": Column(
        "float64",
        "s",
        "since when it waited for the receiver's radio, at the access point or cell",
    ),
    "downlink_until_s": Column(
        "float64",
        "s",
        "until when it waited there: its first byte went out, or the receiver's phone off",
    ),
}
"""Its columns, in their order."""


def schema() -> pa.Schema:
    """Return the columns and types of timeline.parquet."""
    return fields.schema(COLUMNS)


def from_engine(result: Mapping[str, Any], repetition: int) -> pa.Table:
    """Return the table of one repetition from the `timeline` of what `sim._engine.run` returned.

    Like `trace.from_engine` it never imports pandas.
    """
    import pyarrow as pa

    spans, reasons = result["timeline"], result["reasons"]
    found = {name: np.frombuffer(spans[name], dtype) for name, dtype in _ENGINE_TYPES.items()}
    ended = ~np.isnan(found["end_s"])
    columns = [
        trace.numbers(pa.int32(), np.full(ended.size, repetition, np.int32)),
        trace.numbers(pa.float64(), found["begin_s"]),
        trace.numbers(pa.float64(), found["end_s"], ended),
        trace.numbers(pa.int32(), found["node"]),
        trace.numbers(pa.int32(), found["lane"], _is_there(found["lane"])),
        trace.words(found["operation"], spans["operations"], _is_there(found["operation"])),
        trace.numbers(pa.int64(), found["size_bytes"].astype(np.int64)),
        trace.numbers(pa.int32(), found["peer"], _is_there(found["peer"])),
        trace.numbers(pa.int64(), found["message"], _is_there(found["message"])),
        trace.words(found["reason"], reasons, _is_there(found["reason"])),
        *(trace.numbers(pa.float64(), found[name], ~np.isnan(found[name])) for name in _WAITS),
    ]
    return pa.Table.from_arrays(columns, schema=schema())


def _is_there(values: Array) -> Array:
    """Tell of each value whether it is one: all ones stand for none in every unsigned column."""
    there: Array = values != np.iinfo(values.dtype).max
    return there


_WAITS = ("uplink_from_s", "uplink_until_s", "downlink_from_s", "downlink_until_s")
_ENGINE_TYPES = {
    "begin_s": "<f8",
    "end_s": "<f8",
    "node": "<u4",
    "lane": "<u4",
    "operation": "u1",
    "size_bytes": "<u4",
    "peer": "<u4",
    "message": "<u8",
    "reason": "u1",
    **dict.fromkeys(_WAITS, "<f8"),
}
