"""The engine's columns as the table of events.parquet, and back.

One row per event, sorted by repetition and time; the columns are those of `SCHEMA`. No metric is
computed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

NO_REASON = 255


def from_engine(result: Mapping[str, Any], repetition: int) -> pa.Table:
    """Return the engine's result as a table.

    Raises AssertionError when the columns differ in length, which would be the engine's mistake.
    """
    import pyarrow as pa

    column = {
        name: np.frombuffer(result["columns"][name], of) for name, of in _ENGINE_TYPES.items()
    }
    rows = column["time_s"].size
    assert {values.size for values in column.values()} == {rows}, "columns of unequal length"
    columns = {
        "repetition": np.full(rows, repetition, np.int32),
        "time_s": column["time_s"],
        "node": column["node"],
        "kind": column["kind"].astype(np.int32),
        "message_id": column["message"],
        "peer": column["peer"],
        "message_size": column["size_bytes"],
        "reason": column["reason"].astype(np.int32),
        "logged": np.packbits(column["logged"].astype(bool), bitorder="little"),
    }
    has_reason = np.packbits(column["reason"] != NO_REASON, bitorder="little")
    names = {"kind": result["event_kinds"], "reason": result["reasons"]}
    arrays = []
    for field in schema():
        values, valid = columns[field.name], has_reason if field.name == "reason" else None
        of = field.type.index_type if field.name in names else field.type
        array = _array(of, rows, values, valid)
        if field.name in names:
            array = pa.DictionaryArray.from_arrays(array, _strings(names[field.name]))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=schema())


def schema() -> pa.Schema:
    """Return the columns of events.parquet."""
    import pyarrow as pa

    name = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            ("repetition", pa.int32()),
            ("time_s", pa.float64()),
            ("node", pa.int32()),
            ("kind", name),
            ("message_id", pa.int64()),
            ("peer", pa.int32()),
            ("message_size", pa.int32()),
            ("reason", name),
            ("logged", pa.bool_()),
        ]
    )


def write(table: pa.Table, path: Path) -> None:
    """Write one table of events."""
    from pyarrow import parquet

    parquet.write_table(table, path, compression="zstd")


def join(parts: Sequence[Path], path: Path) -> None:
    """Write the tables in `parts`, one after the other, as one file; one is in memory at a time."""
    from pyarrow import parquet

    with parquet.ParquetWriter(path, schema(), compression="zstd") as writer:
        for part in parts:
            writer.write_table(read(part))


def read(path: Path) -> pa.Table:
    """Return a table of events."""
    from pyarrow import parquet

    return parquet.read_table(path)


def _array(of: pa.DataType, rows: int, values: Any, valid: Any = None) -> pa.Array:
    """Wrap a column. Not `pa.array`, which imports pandas: a second for every child."""
    import pyarrow as pa

    bitmap = None if valid is None else pa.py_buffer(valid)
    return pa.Array.from_buffers(of, rows, [bitmap, pa.py_buffer(np.ascontiguousarray(values))])


def _strings(names: Sequence[str]) -> pa.Array:
    import pyarrow as pa

    encoded = [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    return pa.StringArray.from_buffers(
        len(names), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))
    )


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
