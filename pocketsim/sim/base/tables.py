"""Tables that somebody else wrote, as columns of numbers: CSV and Parquet, by the file's suffix.

Blocks of rows are read and checked as arrays, so that ten million rows take seconds. Whatever is
wrong with a file is one `ScenarioError` with the file, the row and the reason. What the columns
mean, and what two of them must have in common, is known to whoever reads the table.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.errors import ScenarioError, nearest, shown
from pocketsim.sim.base.files import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    Floats = npt.NDArray[np.float64]
    Blocks = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Column:
    """What a column may hold: numbers from `least` to `most`, which `says` puts in words.

    They are whole, and below 2^32, if `is_whole`; none is less than that before if `is_sorted`.
    """

    name: str
    least: float
    most: float
    says: str
    is_whole: bool = False
    is_sorted: bool = False


@dataclass(frozen=True)
class Table:
    """Columns of one length by name: doubles, or uint32 where they are whole.

    `digest` is the SHA-256 of the file, in hex; `first_row` the number that its first row has.
    """

    digest: str
    first_row: int
    columns: Mapping[str, npt.NDArray[Any]]


class _WrongRowError(Exception):
    """The row at a place of a block, counted from 0, is wrong."""

    def __init__(self, place: int, reason: str) -> None:
        self.place, self.reason = place, reason
        super().__init__(place, reason)


def read(path: Path, columns: Sequence[Column]) -> Table:
    """Return the table in the file at `path`, which has these columns, in any order, and no others.

    In a CSV the header is row 1; in Parquet, which has none, the first row is. Raises ScenarioError
    with the first row that holds what it must not.
    """
    import pyarrow as pa

    suffix = path.suffix.lower()
    if suffix not in _FORMS:
        raise ScenarioError(path, "", f"is no table: its name ends in {' or '.join(_FORMS)}")
    name, blocks, first_row = _FORMS[suffix]
    with opened(path) as file:
        if not file.seekable():
            raise ScenarioError(path, "", "is a pipe, and a table is read twice")
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        try:
            found = _collected(path, blocks(path, file, columns), columns, first_row)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise _unreadable(path, name, error) from None
    return Table(digest, first_row, found)


def _unreadable(path: Path, name: str, error: Exception) -> ScenarioError:
    """Return what to say of a file that pyarrow cannot read, with the row where it tells."""
    text = str(error).partition("\n")[0].removeprefix("CSV parse error: ")
    if "Empty CSV file" in text:
        return ScenarioError(path, "", "has no rows")
    wrong = re.fullmatch(r"In CSV column #(\d+): Row #(\d+): .*: (invalid .*)", text)
    if wrong:
        reason = f"{shown(wrong[3])} in column {int(wrong[1]) + 1}, which has numbers"
        return ScenarioError(path, f"row {wrong[2]}", reason)
    row, _, said = text.rpartition(": Expected ") if text.startswith("Row #") else ("", "", text)
    if row:
        reason = f"expected {said.partition(': ')[0]}"
        return ScenarioError(path, row.lower().replace("#", ""), reason)
    return ScenarioError(path, "", f"is not {name}: {shown(said[:1].lower() + said[1:])}")


def _collected(
    path: Path, blocks: Blocks, columns: Sequence[Column], row: int
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of all blocks, the first of which begins at `row`."""
    first_row, parts = row, [_empty(columns)]
    for block in blocks:
        try:
            parts.append(_checked(block, columns, parts[-1]))
        except _WrongRowError as error:
            raise ScenarioError(path, f"row {row + error.place}", error.reason) from None
        row += block.num_rows
        _check_length(path, row - first_row)
    if row == first_row:
        raise ScenarioError(path, "", "has no rows")
    return {
        column.name: np.concatenate([part[column.name] for part in parts]) for column in columns
    }


def _check_length(path: Path, rows: int) -> None:
    if rows > ROWS_MAX:
        raise ScenarioError(path, "", f"has more than {ROWS_MAX:,} rows, which is the most")


def _empty(columns: Sequence[Column]) -> dict[str, npt.NDArray[Any]]:
    return {column.name: np.empty(0, _kind(column)) for column in columns}


def _kind(column: Column) -> type[np.uint32 | np.float64]:
    return np.uint32 if column.is_whole else np.float64


def _checked(
    block: pa.RecordBatch, columns: Sequence[Column], before: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a block that follows on `before`; raise the first of its mistakes."""
    found, mistakes = {}, []
    for column in columns:
        try:
            values = _floats(block[column.name])
            _check(column, values, before[column.name][-1:])
            found[column.name] = values.astype(_kind(column), copy=False)
        except _WrongRowError as error:
            mistakes.append(error)
    if mistakes:
        raise min(mistakes, key=lambda error: error.place)
    return found


def _floats(values: pa.Array) -> Floats:
    """Return a column as doubles, NaN where there is nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Whole numbers beyond 2^53 are rounded: no column of ours takes them.
    found: Floats = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return found


def _check(column: Column, values: Floats, last: npt.NDArray[Any]) -> None:
    """Raise the first mistake among `values`, which follow on `last`."""
    wrong = ~((values >= column.least) & (values <= column.most))
    if column.is_whole:
        wrong |= values != np.floor(values)
    if column.is_sorted:
        before = np.concatenate([last if last.size else values[:1], values[:-1]])
        wrong |= values < before
    if not wrong.any():
        return
    place = int(wrong.argmax())
    value = float(values[place])
    if np.isnan(value):
        reason = f"{column.name} is empty or no number"
    elif not column.least <= value <= column.most:
        reason = f"{column.name} is {value:.15g}; {column.says}"
    elif column.is_whole and value != int(value):
        reason = f"{column.name} is {value:.15g}, which is not whole"
    else:
        reason = f"{column.name} is {value:.15g}, less than {before[place]:.15g} in the row before"
    raise _WrongRowError(place, reason)


def _csv_blocks(path: Path, file: BinaryIO, columns: Sequence[Column]) -> Blocks:
    import pyarrow as pa
    from pyarrow import csv

    names = [column.name for column in columns]
    reader = csv.open_csv(
        file,
        # One thread: several do not tell the row of what is no number, and gain nothing here.
        csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        csv.ParseOptions(ignore_empty_lines=False),  # each counts as a row
        csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()), null_values=[""]),
    )
    _check_names(path, "row 1", reader.schema.names, names)
    return iter(reader)


def _parquet_blocks(path: Path, file: BinaryIO, columns: Sequence[Column]) -> Blocks:
    import pyarrow as pa
    from pyarrow import parquet

    table, names = parquet.ParquetFile(file), [column.name for column in columns]
    schema = table.schema_arrow
    _check_names(path, "", schema.names, names)
    for name in names:
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise ScenarioError(path, "", f"column {name} has values of type {kind}, no numbers")
    _check_length(path, table.metadata.num_rows)
    blocks: Blocks = table.iter_batches(_BLOCK_ROWS)
    return blocks


def _check_names(path: Path, place: str, found: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a column that is not among `names`, one that is there twice, and one that is not."""
    for name in found:
        if name not in names:
            reason = f"unknown column {shown(repr(name))}; it takes {', '.join(names)}"
            raise ScenarioError(path, place, reason, nearest(name, names))
        if list(found).count(name) > 1:
            raise ScenarioError(path, place, f"has several columns {name}")
    for name in names:
        if name not in found:
            raise ScenarioError(path, place, f"has no column {name}")


ROWS_MAX = 50_000_000
"""A table is kept in memory. As many as a run may draw (`sim.scenario.limits`)."""
_BLOCK_BYTES = 1 << 22
_BLOCK_ROWS = 1 << 17
_FORMS: dict[str, tuple[str, Callable[[Path, BinaryIO, Sequence[Column]], Blocks], int]] = {
    ".csv": ("CSV", _csv_blocks, 2),
    ".parquet": ("Parquet", _parquet_blocks, 1),
}
SUFFIXES = tuple(_FORMS)
