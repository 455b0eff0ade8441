"""The trace of a run: from the engine's columns to a table, and the table as Parquet.

A table holds every repetition, sorted by repetition, then time. What lives here is its shape and
its storage; `sim.metrics` reads it and `sim.export` speaks the benchmark app's CSV.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

COLUMNS = (
    "repetition",  # int32
    "time_s",  # float64, since the start of the repetition
    "node",  # int32
    "kind",  # dictionary of strings
    "message_id",  # int64: proposer << 32 | number of the proposal
    "peer",  # int32, -1 for none
    "message_size",  # int32, bytes
    "reason",  # dictionary of strings, null for none
    "logged",  # bool: within the capacity of the app's benchmark log
)


def schema() -> pa.Schema:
    """Return the columns and types of every trace."""
    import pyarrow as pa

    words = pa.dictionary(pa.int32(), pa.string())
    types = (
        *(pa.int32(), pa.float64(), pa.int32(), words, pa.int64()),
        *(pa.int32(), pa.int32(), words, pa.bool_()),
    )
    return pa.schema(list(zip(COLUMNS, types, strict=True)))


def from_engine(result: Mapping[str, Any], repetition: int) -> pa.Table:
    """Return the table of one repetition from what `sim._engine.run` returned.

    `result["columns"]` holds little-endian bytes of equal length in rows; a reason of 255 is none.
    """
    columns = result["columns"]

    def numbers(name: str, stored: str) -> np.ndarray[Any, Any]:
        return np.frombuffer(columns[name], dtype=stored)

    time_s = numbers("time_s", "<f8")
    reasons = numbers("reason", "u1")
    return build(
        repetition=np.full(time_s.size, repetition, dtype=np.int32),
        time_s=time_s,
        # Same bits, read with a sign: an id of all ones (no peer) becomes -1.
        node=numbers("node", "<i4"),
        kind=_words(numbers("kind", "u1"), result["event_kinds"]),
        message_id=numbers("message", "<i8"),
        peer=numbers("peer", "<i4"),
        message_size=numbers("size_bytes", "<i4"),
        reason=_words(reasons, result["reasons"], none=reasons == _NO_REASON),
        logged=numbers("logged", "u1").astype(bool),
    )


def build(**columns: object) -> pa.Table:
    """Return a table from one array per name of `COLUMNS`, all of one length."""
    import pyarrow as pa

    of = schema()
    arrays = [_as(of.field(name).type, columns[name]) for name in COLUMNS]
    return pa.Table.from_arrays(arrays, schema=of)


def concatenate(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the repetitions' tables as one, in the order given."""
    import pyarrow as pa

    if not tables:
        return schema().empty_table()
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def write(table: pa.Table, path: Path) -> None:
    """Write `table` as Parquet; equal tables give equal bytes under one version of pyarrow."""
    import pyarrow.parquet as pq

    pq.write_table(
        table,
        path,
        compression="zstd",
        row_group_size=_ROWS_PER_GROUP,
        use_dictionary=["kind", "reason", "node", "peer", "repetition"],
    )


def read(path: Path) -> pa.Table:
    """Return the trace at `path`; raises ValueError when a column is missing."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise ValueError(f"{path}: no column {missing[0]!r}")
    table = table.select(list(COLUMNS))
    if table.schema != schema():
        table = table.cast(schema())
    return table.unify_dictionaries().combine_chunks()


def _words(
    codes: np.ndarray[Any, Any], names: Sequence[str], none: np.ndarray[Any, Any] | None = None
) -> pa.DictionaryArray:
    import pyarrow as pa

    indices = pa.array(codes.astype(np.int32), mask=none)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, type=pa.string()))


def _as(kind: pa.DataType, values: object) -> pa.Array:
    import pyarrow as pa

    if isinstance(values, pa.DictionaryArray):
        return values
    if pa.types.is_dictionary(kind):
        return pa.array(values, type=pa.string()).dictionary_encode()
    return pa.array(values, type=kind)


_NO_REASON = 255  # the engine's byte for "no reason"
_ROWS_PER_GROUP = 1 << 20  # a reader that wants one repetition skips the others' groups
