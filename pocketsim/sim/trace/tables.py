"""Tables that a run keeps beside its events where a scenario asks for them: how they are stored.

Each has a column `repetition` and is sorted by it. What deliberately does not live here: what is
in them; `sim.trace.final_tokens`, `blocks` and `timeline` each have the columns of one.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa


def contents(values: Sequence[bytes]) -> pa.Array:
    """Return a column of bytes, without pandas, which `pyarrow.array` would import."""
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, values)], dtype=np.int64)
    data = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.large_binary(), len(values), data)


def write(table: pa.Table, path: Path) -> None:
    """Write `table` as Parquet; equal tables give equal bytes under one version of pyarrow."""
    with _writer(path, table.schema) as writer:
        writer.write_table(table, _ROWS_PER_GROUP)


def join(parts: Sequence[Path], path: Path) -> None:
    """Write the tables in `parts`, one after the other, as one file; one is in memory at a time."""
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as opened:
        writer = None
        for part in parts:
            table = pq.read_table(part)
            if writer is None:
                writer = opened.enter_context(_writer(path, table.schema))
            writer.write_table(table, _ROWS_PER_GROUP)


def read(path: Path, repetition: int) -> list[dict[str, Any]]:
    """Return the rows of one repetition, in their order."""
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(
        path, filters=[("repetition", "=", repetition)]
    ).to_pylist()
    return rows


def batches(path: Path, repetition: int) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of one repetition, some thousands at a time, in their order."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_ROWS_PER_BATCH):
            yield batch.filter(pc.equal(batch["repetition"], repetition)).to_pylist()


def _writer(path: Path, schema: pa.Schema) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Times, proofs and hashes rarely repeat: a dictionary of them costs and saves nothing.
    repeating = [
        field.name
        for field in schema
        if pa.types.is_int32(field.type) or pa.types.is_dictionary(field.type)
    ]
    return pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=repeating)


_ROWS_PER_GROUP = 1 << 20  # a reader that wants one repetition skips the others' groups
_ROWS_PER_BATCH = 1 << 14  # some megabytes as dictionaries
