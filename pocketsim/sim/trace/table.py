"""The trace of a run: from the engine's columns to a table, and the table as Parquet.

A table holds every repetition, sorted by repetition, then time. What lives here is its shape and
its storage; `sim.metrics` reads it, `sim.export.app_csv` writes and `sim.export.phone_logs` reads
the benchmark app's CSV.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.trace import fields
from pocketsim.sim.trace.fields import Column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    Array = np.ndarray[Any, Any]

COLUMNS = {
    "repetition": Column("int32", "", "which repetition, from 0"),
    "time_s": Column("float64", "s", "seconds since the start of the repetition"),
    "node": Column(
        "int32", "", "the phone where it happened, from 0, in the order of `[[devices]]`"
    ),
    "kind": Column("text", "", "what happened, one of the kinds of events"),
    "message_id": Column(
        "int64",
        "",
        "of a transaction: its proposer's node, times 2^32, plus the number of the proposal; of "
        "rows on tokens: the serial",
    ),
    "peer": Column("int32", "", "the other phone; -1 for none"),
    "message_size": Column("int32", "B", "size of the message"),
    "reason": Column(
        "text", "", "why something was lost or refused, one of the fates' reasons; null for none"
    ),
    "logged": Column(
        "bool", "", "whether the app's log, of `protocol.benchmark_log_entries`, had room for it"
    ),
}
"""Its columns, in their order."""


def origin(message_id: Array) -> Array:
    """Return the node that made each of these messages."""
    made_by: Array = message_id >> _SEQUENCE_BITS
    return made_by


def sequence_number(message_id: Array) -> Array:
    """Return which message of its node each of these is."""
    number: Array = message_id & ((1 << _SEQUENCE_BITS) - 1)
    return number


def schema() -> pa.Schema:
    """Return the columns and types of every trace."""
    return fields.schema(COLUMNS)


def from_engine(result: Mapping[str, Any], repetition: int) -> pa.Table:
    """Return the table of one repetition from what `sim._engine.run` returned.

    `result["columns"]` holds little-endian bytes of equal length in rows; a reason of 255 is none.
    Children call this, so it never imports pandas, as `pyarrow.array` would: a second for each.
    """
    import pyarrow as pa

    columns = {
        name: np.frombuffer(result["columns"][name], dtype) for name, dtype in _ENGINE_TYPES.items()
    }
    rows = columns["time_s"].size
    assert {values.size for values in columns.values()} == {rows}, "columns of unequal length"
    columns["repetition"] = np.full(rows, repetition, np.int32)
    has_reason = columns["reason"] != _NO_REASON
    arrays = [
        numbers(pa.int32(), columns["repetition"]),
        numbers(pa.float64(), columns["time_s"]),
        numbers(pa.int32(), columns["node"]),
        words(columns["kind"], result["event_kinds"]),
        numbers(pa.int64(), columns["message"]),
        numbers(pa.int32(), columns["peer"]),
        numbers(pa.int32(), columns["size_bytes"]),
        words(columns["reason"], result["reasons"], has_reason),
        pa.Array.from_buffers(pa.bool_(), rows, [None, _bits(columns["logged"])]),
    ]
    return pa.Table.from_arrays(arrays, schema=schema())


def build(**columns: object) -> pa.Table:
    """Return a table from one array per name of `COLUMNS`, all of one length."""
    import pyarrow as pa

    def column(name: str, kind: pa.DataType) -> pa.Array:
        if pa.types.is_dictionary(kind):
            return pa.array(columns[name], type=pa.string()).dictionary_encode()
        return pa.array(columns[name], type=kind)

    layout = schema()
    return pa.Table.from_arrays(
        [column(name, layout.field(name).type) for name in COLUMNS], schema=layout
    )


def concatenate(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the repetitions' tables as one, in the order given."""
    import pyarrow as pa

    if not tables:
        return schema().empty_table()
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def write(table: pa.Table, path: Path) -> None:
    """Write `table` as Parquet; equal tables give equal bytes under one version of pyarrow."""
    with _writer(path, table.schema) as writer:
        writer.write_table(table, _ROWS_PER_GROUP)


def join(parts: Sequence[Path], path: Path) -> None:
    """Write the tables in `parts`, one after the other, as one file; one is in memory at a time.

    It says of itself what the first of them says.
    """
    first = read(parts[0])
    with _writer(path, first.schema) as writer:
        writer.write_table(first, _ROWS_PER_GROUP)
        del first
        for part in parts[1:]:
            writer.write_table(read(part), _ROWS_PER_GROUP)


def read(path: Path) -> pa.Table:
    """Return the trace at `path`; raises ValueError when a column is missing."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:  # `read_table` loads what reads folders of files
        table = file.read()
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise ValueError(f"{path}: no column {missing[0]!r}")
    table = table.select(list(COLUMNS))
    if table.schema != schema():
        table = table.cast(schema())
    return table.unify_dictionaries().combine_chunks()


def numbers(kind: pa.DataType, values: Array, valid: Array | None = None) -> pa.Array:
    """Wrap a column as it lies: an unsigned id of all ones (no peer) reads as -1."""
    import pyarrow as pa

    assert values.itemsize * 8 == kind.bit_width, "the bytes are taken as they are"
    bitmap = None if valid is None else _bits(valid)
    buffers = [bitmap, pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(kind, values.size, buffers)


def words(codes: Array, names: Sequence[str], valid: Array | None = None) -> pa.Array:
    """Return a column of `names`, each row's by its place among them, null where not `valid`."""
    import pyarrow as pa

    texts = [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    data = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    known = pa.Array.from_buffers(pa.string(), len(texts), data)
    return pa.DictionaryArray.from_arrays(numbers(pa.int32(), codes.astype(np.int32), valid), known)


def _writer(path: Path, layout: pa.Schema) -> Any:
    import pyarrow.parquet as pq

    # Times and messages rarely repeat: a dictionary of them costs time and saves nothing.
    return pq.ParquetWriter(
        path,
        layout,
        compression="zstd",
        use_dictionary=["kind", "reason", "node", "peer", "repetition"],
    )


def _bits(values: Array) -> pa.Buffer:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(values != 0, bitorder="little"))


_ENGINE_TYPES = {
    "time_s": "<f8",
    "node": "<u4",
    "kind": "u1",
    "message": "<u8",
    "peer": "<u4",
    "size_bytes": "<u4",
    "reason": "u1",
    "logged": "u1",
}
_SEQUENCE_BITS = 32  # the lower half of a message id
_NO_REASON = 255  # the engine's byte for "no reason"
_ROWS_PER_GROUP = 1 << 20  # a reader that wants one repetition skips the others' groups
