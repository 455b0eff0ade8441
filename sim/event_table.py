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
    reasons = pa.array(column["reason"].astype(np.int32), mask=column["reason"] == NO_REASON)
    arrays = [
        pa.array(np.full(rows, repetition, np.int32)),
        pa.array(column["time_s"]),
        pa.array(column["node"].view(np.int32)),
        _named(pa.array(column["kind"].astype(np.int32)), result["event_kinds"]),
        pa.array(column["message"].view(np.int64)),
        pa.array(column["peer"].view(np.int32)),
        pa.array(column["size_bytes"].view(np.int32)),
        _named(reasons, result["reasons"]),
        pa.array(column["logged"].astype(bool)),
    ]
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


def _named(indices: pa.Array, names: Sequence[str]) -> pa.DictionaryArray:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))


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
