"""Traces as logs for other programs: the benchmark app's CSV, with more columns at its end.

Columns are those of the app's `BenchmarkResult` (Iftode 2025, section 4.1), operations those of
the throughput app (Chirila 2025, section 4.1), within the capacity of its log. What the app does
not log goes by the names of the trace: what became of a transaction that was not stored, with the
reason, and what its log had no room or time for. Connections and phones going off are in the
Parquet trace alone. `sim.export.phone_logs` reads such files.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pocketsim.sim import trace

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    Array = np.ndarray[Any, Any]

COLUMNS = (
    *("operation", "timestamp", "mode", "node_id"),
    *("message_id", "message_size", "tag", "sequence_number"),
)
EXTRA_COLUMNS = ("peer", "reason")
"""After the app's, each empty where there is none: the other phone, why something was lost."""

EPOCH = datetime(2025, 6, 22, tzinfo=UTC)
"""Time zero of every repetition in exported timestamps: the date of the two theses."""


def write_csv(
    table: pa.Table,
    target: Path | BinaryIO,
    transport: str,
    label: str = "pocketsim",
    duration_s: float = math.inf,
) -> None:
    """Write the trades of the trace `table`, whose measurement took `duration_s`.

    Timestamps are RFC 3339 in UTC with microseconds, from `EPOCH`; `message_size` is in bytes;
    the tag is "<label>#<repetition>"; `sequence_number` counts the proposals of a phone.
    """
    import pyarrow as pa
    import pyarrow.csv as pc

    kinds = np.array(table["kind"].to_pylist(), dtype=object)
    kept = np.isin(kinds, list(_KINDS))
    rows = table.filter(pa.array(kept))
    time_s, message = rows["time_s"].to_numpy(), rows["message_id"].to_numpy()
    logged = rows["logged"].to_numpy() & (time_s <= duration_s)
    peer = rows["peer"].to_numpy()
    written = {
        "operation": _operations(kinds[kept], logged),
        "timestamp": _timestamps(time_s),
        "mode": np.full(message.size, _MODES.get(transport, transport)),
        "node_id": rows["node"].to_numpy(),
        "message_id": message,
        "message_size": rows["message_size"].to_numpy(),
        "tag": np.char.add(f"{label}#", rows["repetition"].to_numpy().astype(str)),
        "sequence_number": trace.sequence_number(message),
        "peer": pa.array(peer, mask=peer < 0),
        "reason": rows["reason"].cast(pa.string()),
    }
    names = (*COLUMNS, *EXTRA_COLUMNS)
    pc.write_csv(pa.table([written[name] for name in names], names=names), target)


def _operations(kinds: Array, logged: Array) -> list[str]:
    """Return the app's names of what it logged, and the trace's of all else."""
    pairs = zip(kinds, logged, strict=True)
    return [_OPERATIONS.get(kind, kind) if is_logged else kind for kind, is_logged in pairs]


def _timestamps(time_s: Array) -> Array:
    microseconds = np.rint(time_s * 1e6).astype("timedelta64[us]")
    moments = np.datetime64(EPOCH.replace(tzinfo=None), "us") + microseconds
    return np.char.add(np.datetime_as_string(moments, unit="us"), "Z")


_OPERATIONS = {
    "send": "send_benchmark_sc",
    "process": "processing_message",
    "receive_back": "block_received_back",
    "store": "store_block_e",
}
_KINDS = (*_OPERATIONS, "lose", "drop", "refuse")
MEANINGS = {
    # The trace's own names: what the app would not have logged, and what it never does.
    **{kind: (kind, kind not in _OPERATIONS) for kind in _KINDS},
    **{operation: (kind, True) for kind, operation in _OPERATIONS.items()},
    # The latency app's names (Iftode 2025, section 4.1, example).
    "block_send_start": ("send", True),
    "block_stored": ("store", True),
}
"""By operation, the kind of event that it stands for, and whether the app's log has it."""

_MODES = {
    "udp": "UDP",
    "quic_keep": "Iroh",
    "quic_reconnect": "Iroh",
    "tftp": "TFTP",
    "eva": "EVA",
}
