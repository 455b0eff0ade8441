"""Columns of pyarrow as numpy's, where they lie, and of text from Python's.

pyarrow's own `to_numpy` and `array` load pandas first: a second, which every run would pay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pyarrow as pa

    Array = np.ndarray[Any, Any]


def numbers(column: pa.Array | pa.ChunkedArray, absent: float | None = None) -> Array:
    """Return a column of numbers or truths; `absent` stands where it has null, if it may have one.

    What comes may be read only.
    """
    import numpy as np
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not array.null_count:
        is_truth = pa.types.is_boolean(array.type)
        found: Array = np.from_dlpack(array.cast(pa.uint8()) if is_truth else array)
        return found.view(np.bool_) if is_truth else found
    assert absent is not None, f"a column of {array.type} has {array.null_count} nulls"
    kind = "f" if pa.types.is_floating(array.type) else "i"
    dtype = np.dtype(f"<{kind}{array.type.bit_width // 8}")
    raw = np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)
    return np.where(numbers(array.is_valid()), raw, dtype.type(absent))


def native(data: Array) -> pa.Buffer:
    """Return a copy of some bytes that pyarrow's threads can release without Python.

    One that outlives the interpreter and then releases what is Python's aborts the process.
    """
    from pyarrow import BufferOutputStream, py_buffer

    copy = BufferOutputStream()
    copy.write(py_buffer(data))
    return copy.getvalue()


def texts(values: Sequence[str]) -> pa.Array:
    """Return text as a column."""
    from pyarrow.lib import StringBuilder

    builder = StringBuilder()
    builder.append_values(values)
    return builder.finish()
