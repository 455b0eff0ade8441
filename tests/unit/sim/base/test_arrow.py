"""Columns of pyarrow are numpy's without pandas: values, nulls, slices, chunks, truths."""

import ast
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from pocketsim.sim.base import arrow
from pocketsim.sim.base.arrow import numbers


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float64(), pa.uint8(), pa.bool_()])
def test_values_are_those_that_pyarrow_gives(kind):
    column = pa.array([0, 1, 1, 0, 1]).cast(kind)
    found = numbers(column)
    assert found.tolist() == column.to_pylist()
    assert found.dtype == column.to_numpy(zero_copy_only=False).dtype
    assert numbers(column.slice(1, 3)).tolist() == column.slice(1, 3).to_pylist()
    chunked = pa.chunked_array([column, column.slice(2)])
    assert numbers(chunked).tolist() == chunked.to_pylist()
    assert numbers(column.slice(0, 0)).tolist() == []


def test_nulls_become_the_given_value():
    column = pa.array([1, None, 3, None, 5], pa.int32())
    assert numbers(column, absent=-1).tolist() == [1, -1, 3, -1, 5]
    assert numbers(column.slice(1, 3), absent=-1).tolist() == [-1, 3, -1]
    found = numbers(pa.array([0.5, None]), absent=np.nan)
    assert found[0] == 0.5
    assert np.isnan(found[1])
    with pytest.raises(AssertionError, match="has 2 nulls"):
        numbers(column)


def test_pandas_is_not_loaded():
    code = (
        "import sys, pyarrow as pa; from pocketsim.sim.base.arrow import numbers;"
        "known = [pa.py_buffer(b'\\x01'), pa.py_buffer(bytes(8))];"
        "at = pa.Array.from_buffers(pa.int32(), 2, known);"
        "assert numbers(at, absent=-1).tolist() == [0, -1];"
        "numbers(pa.chunked_array([at.slice(0, 1)]).cast(pa.bool_()));"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_native_memory_holds_nothing_of_pythons():
    data = np.frombuffer(b"1,2\n" * 1000, np.uint8)
    before = sys.getrefcount(data)
    buffer = arrow.native(data)
    assert sys.getrefcount(data) == before
    assert buffer.to_pybytes() == data.tobytes()


def test_pyarrow_reads_text_from_native_memory_alone(root):
    """Its threads may still hold what they read from when the process ends, which aborts then."""
    calls = [
        ast.unparse(call)
        for path in (root / "pocketsim").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in {"csv.read_csv", "csv.open_csv"}
    ]
    assert calls
    for call in calls:
        assert call.startswith("csv.read_csv(pa.BufferReader(native("), call
        assert "use_threads=False" in call
