"""Traces of real phones load into the same table as those of simulations.

The benchmark app's CSV goes both ways; JSON Lines with the columns of a trace, as the probe writes
them, are read.

Columns are those of the app's `BenchmarkResult` (Iftode 2025, section 4.1), operations those of
the throughput app (Chirila 2025, section 4.1). Only what that app logs is written: sends, the
peer's processing, blocks received back and stores, within the capacity of its log. Connections,
drops, refusals and phones going off are in the Parquet trace alone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from sim import trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    Array = np.ndarray[Any, Any]

COLUMNS = (
    *("operation", "timestamp", "mode", "node_id"),
    *("message_id", "message_size", "tag", "sequence_number"),
)
EPOCH = datetime(2025, 6, 22, tzinfo=UTC)
"""Time zero of every repetition in exported timestamps: the date of the two theses."""


def write_csv(
    table: pa.Table, target: Path | BinaryIO, transport: str, label: str = "pocketsim"
) -> None:
    """Write the benchmark events of the trace `table` in the app's columns.

    Timestamps are RFC 3339 in UTC with microseconds, from `EPOCH`; `message_size` is in bytes;
    the tag is "<label>#<repetition>"; `sequence_number` counts the proposals of a phone.
    """
    import pyarrow as pa
    import pyarrow.csv as pc

    kinds = np.array(table["kind"].to_pylist(), dtype=object)
    kept = np.isin(kinds, list(_OPERATIONS)) & table["logged"].to_numpy()
    rows = table.filter(pa.array(kept))
    message = rows["message_id"].to_numpy()
    repetition = rows["repetition"].to_numpy().astype(str)
    written = {
        "operation": [_OPERATIONS[kind] for kind in kinds[kept]],
        "timestamp": _timestamps(rows["time_s"].to_numpy()),
        "mode": np.full(message.size, _MODES.get(transport, transport)),
        "node_id": rows["node"].to_numpy(),
        "message_id": message,
        "message_size": rows["message_size"].to_numpy(),
        "tag": np.char.add(f"{label}#", repetition),
        "sequence_number": message & _SEQUENCE,
    }
    pc.write_csv(pa.table({name: pa.array(written[name]) for name in COLUMNS}), target)


def read(path: Path) -> pa.Table:
    """Return the trace in a log of the app or the probe: CSV, or JSON Lines by its extension.

    What a probe has not finished has its extension before ".partial". Raises ValueError when it is
    neither.
    """
    whole = path.with_suffix("") if path.suffix == ".partial" else path
    if whole.suffix in {".json", ".jsonl"}:
        return read_json_lines(path)
    return read_csv(path)


def read_json_lines(path: Path) -> pa.Table:
    """Return the trace in a file of one object a line, with the columns of a trace.

    Raises ValueError when a line has other columns, lacks one, or is no such object.
    """
    import pyarrow as pa
    import pyarrow.json as pj

    of = trace.schema()
    fields = [(key, pa.string() if _is_text(of, key) else of.field(key).type) for key in of.names]
    table = pj.read_json(path, parse_options=pj.ParseOptions(explicit_schema=pa.schema(fields)))
    unknown = [name for name in table.column_names if name not in trace.COLUMNS]
    if unknown:
        raise ValueError(f"unknown column {unknown[0]!r}; expected {', '.join(trace.COLUMNS)}")
    for name in trace.COLUMNS:
        if name != "reason" and table[name].null_count:
            raise ValueError(f"no {name!r} in some line")
    order = np.lexsort((table["time_s"].to_numpy(), table["repetition"].to_numpy()))
    return trace.build(**{name: table[name].take(order) for name in trace.COLUMNS})


def read_csv(path: Path, epoch: datetime | None = None) -> pa.Table:
    """Return the trace in a CSV of the app or of `write_csv`.

    Each tag becomes a repetition, in order of appearance. Time runs from `epoch`, or from the
    first row of each tag. Node and message ids that are not whole numbers are numbered in order
    of appearance; the peer is unknown (-1). Operations that the table has no kind for are left
    out. Raises ValueError when a column is missing.
    """
    import pyarrow.csv as pc

    text = pc.read_csv(path, convert_options=pc.ConvertOptions(column_types=_text()))
    missing = [name for name in COLUMNS if name not in text.column_names]
    if missing:
        raise ValueError(f"{path}: no column {missing[0]!r}; expected {', '.join(COLUMNS)}")
    kind = np.array([_KINDS.get(name, "") for name in text["operation"].to_pylist()], dtype=object)
    repetition = _numbered(text["tag"].to_pylist())
    microseconds = _microseconds(text["timestamp"].to_pylist())
    time_s = (microseconds - _origin(microseconds, repetition, epoch)) / 1e6
    # The app appends from several threads, so rows are not quite in order of time.
    order = np.lexsort((time_s, repetition))
    order = order[kind[order] != ""]
    return trace.build(
        repetition=repetition[order],
        time_s=time_s[order],
        node=_ids(text["node_id"].to_pylist())[order],
        kind=kind[order],
        message_id=_ids(text["message_id"].to_pylist())[order],
        peer=np.full(order.size, -1),
        message_size=text["message_size"].to_numpy()[order],
        reason=[None] * order.size,
        logged=np.ones(order.size, dtype=bool),
    )


def _timestamps(time_s: Array) -> Array:
    microseconds = np.rint(time_s * 1e6).astype("timedelta64[us]")
    moments = np.datetime64(EPOCH.replace(tzinfo=None), "us") + microseconds
    return np.char.add(np.datetime_as_string(moments, unit="us"), "Z")


def _microseconds(stamps: Sequence[str]) -> Array:
    moments = (datetime.fromisoformat(stamp) for stamp in stamps)
    return np.array([_since(EPOCH, moment) for moment in moments], dtype=np.int64)


def _since(start: datetime, moment: datetime) -> int:
    # chrono prints an offset; a stamp without one is taken as UTC.
    passed = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - start
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def _origin(microseconds: Array, repetition: Array, epoch: datetime | None) -> Array:
    if epoch is not None:
        return np.full(microseconds.shape, _since(EPOCH, epoch))
    first = np.full(int(repetition.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, repetition, microseconds)
    return first[repetition]


def _ids(words: Sequence[str]) -> Array:
    if all(word.isdecimal() for word in words):
        return np.array([int(word) for word in words], dtype=np.int64)
    return _numbered(words)


def _numbered(words: Sequence[str]) -> Array:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(word, len(numbers)) for word in words], dtype=np.int64)


def _is_text(schema: pa.Schema, name: str) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(schema.field(name).type))


def _text() -> dict[str, Any]:
    import pyarrow as pa

    return dict.fromkeys(("operation", "timestamp", "node_id", "message_id", "tag"), pa.string())


_OPERATIONS = {
    "send": "send_benchmark_sc",
    "process": "processing_message",
    "receive_back": "block_received_back",
    "store": "store_block_e",
}
_KINDS = {
    **{operation: kind for kind, operation in _OPERATIONS.items()},
    # The latency app's names (Iftode 2025, section 4.1, example).
    "block_send_start": "send",
    "block_stored": "store",
}
_MODES = {
    "udp": "UDP",
    "quic_keep": "Iroh",
    "quic_reconnect": "Iroh",
    "tftp": "TFTP",
    "eva": "EVA",
}
_SEQUENCE = (1 << 32) - 1  # the low half of a message id
