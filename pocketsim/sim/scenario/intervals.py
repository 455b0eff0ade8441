"""A user's own table in a file: its columns, read at once, and the row that is wrong with it.

CSV with a header, or Parquet. A mistake is a `ScenarioError` with the file, the row and the reason;
rows are counted as in the file, so that the header of a CSV is row 1. What does not live here: what
the columns mean (`sim.scenario.own`).
"""

from __future__ import annotations

import csv
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base import files
from pocketsim.sim.base.errors import ScenarioError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    Kind = Literal["int", "float", "text"]

Column = npt.NDArray[Any]
SUFFIXES = (".csv", ".parquet")


@dataclass(frozen=True)
class Table:
    """Columns of one length by name, the file that they are of, and the SHA-256 of its bytes.

    `first_row` is the row of the file that their first values are in.
    """

    path: Path
    digest: str
    first_row: int
    columns: Mapping[str, Column]

    def error(self, place: int, reason: str, column: str = "") -> ScenarioError:
        """Return what to raise for what is wrong with the values at `place`, counted from 0."""
        key_path = f"row {place + self.first_row}"
        return ScenarioError(self.path, f"{key_path}, {column}" if column else key_path, reason)

    def refuse(self, wrong: npt.NDArray[np.bool_], column: str, reason: str) -> None:
        """Raise ScenarioError for the first place that is wrong; `reason` may quote the {value}."""
        if wrong.any():
            place = int(np.argmax(wrong))
            value = self.columns[column][place]
            raise self.error(place, reason.format(value=f"{value:.12g}"), column)


def read_columns(path: Path, wanted: Mapping[str, Kind]) -> Table:
    """Return the columns of the file at `path`, which has those in `wanted` and no others.

    "int" are 64-bit integers, "float" finite doubles, "text" strings (as objects). Raises
    ScenarioError for a file that is not there, empty, cut off or of another kind, and for the first
    row that lacks a value or has one of another kind.
    """
    if path.suffix not in SUFFIXES:
        raise ScenarioError(path, "", f"its name ends in none of {', '.join(SUFFIXES)}")
    read = read_bytes(path)
    if path.suffix == ".csv":
        found, first_row = _of_csv(path, read, wanted), _BELOW_HEADER
    else:
        found, first_row = _of_parquet(path, read, wanted), 1
    return table(path, read, first_row, found)


def read_bytes(path: Path) -> bytes:
    """Return what is in the file at `path`; raises ScenarioError where it is nothing."""
    with files.opened(path) as file:
        read = file.read()
    if not read.strip():
        raise ScenarioError(path, "", "is empty")
    return read


def parsed(
    path: Path,
    read: bytes,
    wanted: Mapping[str, Kind],
    names: Sequence[str],
    *,
    first_row: int,
    delimiter: str,
) -> pa.Table:
    """Return the columns in `wanted` of the lines in `read`, whose columns are called `names`.

    The first line is row `first_row` of the file. Raises ScenarioError for the first row that has
    another number of values, or one that is not of its kind.
    """
    import pyarrow as pa
    from pyarrow import csv as pc

    try:
        return pc.read_csv(
            pa.BufferReader(read),
            # On one thread, messages say which row.
            pc.ReadOptions(use_threads=False, column_names=list(names)),
            pc.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
            pc.ConvertOptions(
                column_types={name: _arrow(kind) for name, kind in wanted.items()},
                include_columns=list(wanted),
            ),
        )
    except pa.ArrowInvalid as error:
        raise _spoiled(path, str(error), first_row) from None


def table(path: Path, read: bytes, first_row: int, found: pa.Table) -> Table:
    """Return the columns of `found`, or raise ScenarioError where a value is not there."""
    digest = hashlib.sha256(read).hexdigest()
    if not found.num_rows:
        raise ScenarioError(path, "", "has no rows")
    columns = {}
    for name in found.column_names:
        column = found.column(name).combine_chunks()
        if column.null_count:
            place = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise Table(path, digest, first_row, {}).error(place, "is empty or not a number", name)
        columns[name] = column.to_numpy(zero_copy_only=False)
    whole = Table(path, digest, first_row, columns)
    for name, values in columns.items():
        if values.dtype == np.float64:
            whole.refuse(~np.isfinite(values), name, "is {value}, not a finite number")
    return whole


def _of_csv(path: Path, read: bytes, wanted: Mapping[str, Kind]) -> pa.Table:
    header, _, rest = read.removeprefix(_BYTE_ORDER_MARK).partition(b"\n")
    try:
        (names,) = csv.reader([header.decode().rstrip("\r")])
    except (ValueError, csv.Error):
        raise ScenarioError(path, "row 1", "is no header of a CSV file") from None
    _check_names(path, "row 1", names, wanted)
    if not rest:
        raise ScenarioError(path, "", "has no rows below its header")
    return parsed(path, rest, wanted, names, first_row=_BELOW_HEADER, delimiter=",")


def _of_parquet(path: Path, read: bytes, wanted: Mapping[str, Kind]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(read))
        _check_names(path, "", file.schema_arrow.names, wanted)
        _check_types(path, file.schema_arrow, wanted)
        found = file.read(list(wanted))
        schema = pa.schema([(name, _arrow(wanted[name])) for name in found.column_names])
        return found.cast(schema)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ScenarioError(path, "", f"not a whole Parquet file: {reason}") from None


def _check_names(path: Path, place: str, names: Sequence[str], wanted: Mapping[str, Kind]) -> None:
    for name in names:
        if name not in wanted:
            reason = f"unknown column {name!r}; its columns are {', '.join(wanted)}"
            missing = [other for other in wanted if other not in names]
            raise ScenarioError(path, place, reason, nearest(name, missing))
        if names.count(name) > 1:
            raise ScenarioError(path, place, f"has column {name!r} twice")
    for name in wanted:
        if name not in names:
            raise ScenarioError(path, place, f"has no column {name!r}")


def _check_types(path: Path, schema: pa.Schema, wanted: Mapping[str, Kind]) -> None:
    from pyarrow import types

    for name, kind in wanted.items():
        has = schema.field(name).type
        is_number = types.is_integer(has) or (kind == "float" and types.is_floating(has))
        if not is_number:
            what = "whole numbers" if kind == "int" else "numbers"
            raise ScenarioError(path, f"column {name}", f"is of type {has}, not {what}")


def _spoiled(path: Path, said: str, first_row: int) -> ScenarioError:
    """Return what is to be said of text that pyarrow does not read."""
    found = _ROW.search(said)
    if found is None:
        return ScenarioError(path, "", f"not a CSV file: {said}")
    place, reason = f"row {int(found['row']) - 1 + first_row}", found["reason"]
    if counted := _COUNTED.match(reason):
        return ScenarioError(path, place, f"has {counted['got']} values, not {counted['expected']}")
    if invalid := _INVALID.match(reason):
        what = "a whole number" if invalid["type"] == "int64" else "a number"
        return ScenarioError(path, place, f"{invalid['value']} is not {what}")
    return ScenarioError(path, place, reason)


def _arrow(kind: Kind) -> pa.DataType:
    import pyarrow as pa

    return {"int": pa.int64(), "float": pa.float64(), "text": pa.string()}[kind]


_BELOW_HEADER = 2
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # spreadsheets put it there
_ROW = re.compile(r"Row #(?P<row>\d+): (?P<reason>.*)", re.DOTALL)
_COUNTED = re.compile(r"Expected (?P<expected>\d+) columns, got (?P<got>\d+)")
_INVALID = re.compile(
    r"CSV conversion error to (?P<type>\w+): invalid value (?P<value>.*)", re.DOTALL
)
