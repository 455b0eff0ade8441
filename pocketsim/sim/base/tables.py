"""Tables that somebody else wrote, as columns of numbers: CSV, Parquet, and lines without a header.

Blocks of rows are read and checked as arrays, so that ten million rows take seconds. Whatever is
wrong with a file is one `ScenarioError` with the file, the row and the reason. What the columns
mean, and what two of them must have in common, is known to whoever reads the table.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base import moments
from pocketsim.sim.base.arrow import numbers
from pocketsim.sim.base.errors import ScenarioError, nearest, shown
from pocketsim.sim.base.files import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyarrow import csv

    Floats = npt.NDArray[np.float64]
    Blocks = Iterator[pa.RecordBatch]
    Block = Mapping[str, Any]
    """Columns of some rows: arrays of numbers, and what names are as pyarrow has it."""


@dataclass(frozen=True)
class Column:
    """What a column may hold: numbers from `least` to `most`, which `says` puts in words.

    They are whole, and below 2^32, if `is_whole`; none is less than that before if `is_sorted`. If
    they are times in seconds, `is_time`, they may be dates, too (`sim.base.moments`).
    """

    name: str
    least: float
    most: float
    says: str
    is_whole: bool = False
    is_sorted: bool = False
    is_time: bool = False


@dataclass(frozen=True)
class Names:
    """A column of names: any texts but none, or numbers as they are written."""

    name: str


@dataclass(frozen=True)
class Lines:
    """Lines without a header, of as many values as one of `widths`, as `says` puts in words.

    Between values stands a tab if there is one in the first line, else a space. Values beyond the
    columns that are asked for are not looked at.
    """

    widths: tuple[int, ...]
    says: str


@dataclass(frozen=True)
class Table:
    """Columns of one length by name: doubles, or uint32 where they are whole.

    Columns that are `named` have places in `names`, all of the table: sorted as numbers if all of
    them are, else as texts. `digest` is the SHA-256 of the file, in hex; `first_row` the number
    that its first row has. `is_dated` says that times are dates in the file.
    """

    path: Path
    digest: str
    first_row: int
    columns: Mapping[str, npt.NDArray[Any]]
    names: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()
    is_dated: bool = False

    def time_text(self, time_s: float) -> str:
        """Return a time as people read it: a date where the file has dates."""
        return moments.text(time_s) if self.is_dated else f"{time_s:.12g} s"

    def error(self, place: int, reason: str) -> ScenarioError:
        """Return what to raise for what is wrong with the row at `place`, counted from 0."""
        return ScenarioError(self.path, f"row {self.first_row + place}", reason)

    def refuse(self, wrong: npt.NDArray[np.bool_], reason: str) -> None:
        """Raise ScenarioError for the first row that is wrong; `reason` quotes it by {column}."""
        if wrong.any():
            place = int(wrong.argmax())
            row: dict[str, Any] = {name: column[place] for name, column in self.columns.items()}
            if self.is_dated:
                dates = (name for name, value in row.items() if isinstance(value, float))
                row |= {name: _Date(row[name]) for name in dates}
            raise self.error(place, reason.format_map(row))


class _Date(float):
    """A moment that is quoted as one, whatever a format says of numbers."""

    def __format__(self, spec: str) -> str:
        return moments.text(self)


class _WrongRowError(Exception):
    """The row at a place of a block, counted from 0, is wrong."""

    def __init__(self, place: int, reason: str) -> None:
        self.place, self.reason = place, reason
        super().__init__(place, reason)


def read(path: Path, columns: Sequence[Column | Names], lines: Lines | None = None) -> Table:
    """Return the table in the file at `path`, which has these columns, in any order, and no others.

    Its suffix says what it is, unless it is `lines`, whose columns are in this order. In a CSV the
    header is row 1; in others, which have none, the first row is. Raises ScenarioError with the
    first row that holds what it must not.
    """
    import pyarrow as pa

    name, blocks, first_row = _form(path, lines)
    with opened(path) as file:
        if not file.seekable():
            raise ScenarioError(path, "", "is a pipe, and a table is read twice")
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        try:
            rows = blocks(path, file, columns)
            found, names, is_dated = _collected(path, rows, columns, first_row)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise _unreadable(path, name, error) from None
    named = frozenset(column.name for column in columns if isinstance(column, Names))
    return Table(path, digest, first_row, found, names, named, is_dated)


def _form(path: Path, lines: Lines | None) -> _Form:
    if lines is not None:
        return "lines of text", functools.partial(_line_blocks, lines), 1
    suffix = path.suffix.lower()
    if suffix not in _FORMS:
        raise ScenarioError(path, "", f"its name ends in none of {', '.join(_FORMS)}")
    return _FORMS[suffix]


def _unreadable(path: Path, name: str, error: Exception) -> ScenarioError:
    """Return what to say of a file that pyarrow cannot read, with the row where it tells."""
    text = str(error).partition("\n")[0].removeprefix("CSV parse error: ")
    if "Empty CSV file" in text:
        return ScenarioError(path, "", "has no rows")
    if found := _SPOILED.fullmatch(text):
        what = _KINDS.get(found[3], "text")
        reason = f"{shown(found[4])} in column {int(found[1]) + 1} is no {what}"
        return ScenarioError(path, f"row {found[2]}", reason)
    if found := _COUNTED.match(text):
        return ScenarioError(path, f"row {found[1]}", f"has {found[3]} values, not {found[2]}")
    return ScenarioError(path, "", f"is not {name}: {shown(text[:1].lower() + text[1:])}")


def _collected(
    path: Path, blocks: Blocks, columns: Sequence[Column | Names], row: int
) -> tuple[dict[str, npt.NDArray[Any]], tuple[str, ...], bool]:
    """Return the columns of all blocks, the first of which begins at `row`, and their names.

    And whether times are dates.
    """
    first_row, is_dated = row, False
    parts: list[Block] = []
    for block in blocks:
        is_dated |= any(moments.is_moment(kind) for kind in block.schema.types)
        try:
            parts.append(_checked(block, columns, parts[-1] if parts else {}))
        except _WrongRowError as error:
            raise ScenarioError(path, f"row {row + error.place}", error.reason) from None
        row += block.num_rows
        _check_length(path, row - first_row)
    if row == first_row:
        raise ScenarioError(path, "", "has no rows")
    numbers = [column.name for column in columns if isinstance(column, Column)]
    names = [column.name for column in columns if isinstance(column, Names)]
    found = {name: np.concatenate([part[name] for part in parts]) for name in numbers}
    if not names:
        return found, (), is_dated
    places, every = _numbered(parts, names)
    return {**found, **places}, every, is_dated


def _check_length(path: Path, rows: int) -> None:
    if rows > ROWS_MAX:
        raise ScenarioError(path, "", f"has more than {ROWS_MAX:,} rows, which is the most")


def _checked(block: pa.RecordBatch, columns: Sequence[Column | Names], before: Block) -> Block:
    """Return the columns of a block that follows on `before`; raise the first of its mistakes."""
    found: dict[str, Any] = {}
    mistakes = []
    for column in columns:
        values = block[column.name]
        try:
            if isinstance(column, Names):
                found[column.name] = _named(column, values)
            else:
                found[column.name] = _checked_numbers(column, values, before.get(column.name))
        except _WrongRowError as error:
            mistakes.append(error)
    if mistakes:
        raise min(mistakes, key=lambda error: error.place)
    return found


def _named(column: Names, values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.cast(values, pa.string())
    place = pc.index(values, "").as_py()
    if place >= 0:
        raise _WrongRowError(place, f"{column.name} is empty")
    if values.null_count:
        place = pc.index(pc.is_null(values), True).as_py()
        raise _WrongRowError(place, f"{column.name} is empty")
    return values


def _numbered(
    parts: Sequence[Block], columns: Sequence[str]
) -> tuple[dict[str, npt.NDArray[np.uint32]], tuple[str, ...]]:
    """Return columns of names as places among all of them, in order, and these."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = {name: pa.chunked_array([part[name] for part in parts]) for name in columns}
    once = pa.chunked_array([chunk for text in texts.values() for chunk in text.chunks]).unique()
    every = once.to_pylist()
    all_numbers = all(text.isascii() and text.isdecimal() for text in every)
    all_numbers &= max(map(len, every), default=0) <= _DIGITS
    # Not by Python's sort: to make a column of a list, pyarrow loads pandas.
    order = once.take(pc.array_sort_indices(pc.cast(once, pa.int64()) if all_numbers else once))
    places = {
        name: numbers(pc.index_in(text, value_set=order)).astype(np.uint32)
        for name, text in texts.items()
    }
    return places, tuple(order.to_pylist())


def _checked_numbers(
    column: Column, values: pa.Array, before: npt.NDArray[Any] | None
) -> npt.NDArray[Any]:
    """Return the values of a column, or raise the first mistake; `before` are those before them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_dated = moments.is_moment(values.type)
    if is_dated:
        found: Floats = moments.seconds(values)
    else:
        # Whole numbers beyond 2^53 are rounded: no column of ours takes them.
        found = numbers(pc.cast(values, pa.float64(), safe=False), absent=math.nan)
    _check(column, found, found[:1] if before is None else before[-1:], is_dated=is_dated)
    return found.astype(np.uint32 if column.is_whole else np.float64, copy=False)


def _check(column: Column, values: Floats, last: npt.NDArray[Any], *, is_dated: bool) -> None:
    """Raise the first mistake among `values`, which follow on `last`."""
    wrong = ~((values >= column.least) & (values <= column.most))
    if column.is_whole:
        wrong |= values != np.floor(values)
    if column.is_sorted:
        before = np.concatenate([last, values[:-1]])
        wrong |= values < before
    if not wrong.any():
        return
    place = int(wrong.argmax())
    value = _Date(values[place]) if is_dated else float(values[place])
    if np.isnan(value):
        reason = f"{column.name} is empty or no number"
    elif not column.least <= value <= column.most:
        reason = f"{column.name} is {value:.15g}; {column.says}"
    elif column.is_whole and value != int(value):
        reason = f"{column.name} is {value:.15g}, which is not whole"
    else:
        earlier = type(value)(before[place])
        reason = f"{column.name} is {value:.15g}, less than {earlier:.15g} in the row before"
    raise _WrongRowError(place, reason)


def _csv_blocks(path: Path, file: BinaryIO, columns: Sequence[Column | Names]) -> Blocks:
    reader = _text(file, columns, ",")
    _check_names(path, "row 1", reader.schema.names, [column.name for column in columns])
    return iter(reader)


def _line_blocks(
    lines: Lines, path: Path, file: BinaryIO, columns: Sequence[Column | Names]
) -> Blocks:
    first = file.readline(_BLOCK_BYTES)
    file.seek(0)
    delimiter = "\t" if b"\t" in first else " "
    if first.split()[1:2] == [b"CONN"]:
        reason = "is a log of connections of The ONE, whose lines are time CONN a b up or down"
        raise ScenarioError(path, "row 1", f"{reason}; {lines.says}")
    width = first.count(delimiter.encode()) + 1
    if first and width not in lines.widths:
        raise ScenarioError(path, "row 1", f"has {width} values; {lines.says}")
    others = [f"value {number + 1}" for number in range(len(columns), width)]
    return iter(_text(file, columns, delimiter, [*(column.name for column in columns), *others]))


def _text(
    file: BinaryIO,
    columns: Sequence[Column | Names],
    delimiter: str,
    names: Sequence[str] | None = None,
) -> csv.CSVStreamingReader:
    """Return a reader of lines; the first has the names of the columns unless those are given."""
    import pyarrow as pa
    from pyarrow import csv

    types = {
        column.name: pa.float64() if isinstance(column, Column) else pa.string()
        for column in columns
    }
    times = [column.name for column in columns if isinstance(column, Column) and column.is_time]
    types |= moments.kinds(file, names, delimiter, times)
    return csv.open_csv(
        file,
        # One thread: several do not tell the row of what is no number, and gain nothing here.
        csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES, column_names=names),
        # Each empty line counts as a row.
        csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=types, null_values=[""], include_columns=list(types) if names else None
        ),
    )


def _parquet_blocks(path: Path, file: BinaryIO, columns: Sequence[Column | Names]) -> Blocks:
    import pyarrow as pa
    from pyarrow import parquet

    table, names = parquet.ParquetFile(file), [column.name for column in columns]
    schema = table.schema_arrow
    _check_names(path, "", schema.names, names)
    for column in columns:
        name, kind = column.name, schema.field(column.name).type
        if isinstance(column, Names) and (pa.types.is_string(kind) or pa.types.is_integer(kind)):
            continue
        if isinstance(column, Column) and column.is_time and moments.is_moment(kind):
            continue
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
            missing = [other for other in names if other not in found]
            raise ScenarioError(path, place, reason, nearest(name, missing))
        if list(found).count(name) > 1:
            raise ScenarioError(path, place, f"has several columns {name}")
    for name in names:
        if name not in found:
            raise ScenarioError(path, place, f"has no column {name}")


ROWS_MAX = 50_000_000
"""A table is kept in memory. As many as a run may draw (`sim.scenario.limits`)."""
_DIGITS = 18  # of a number that 64 bits hold; what is longer is in order as text
_BLOCK_BYTES = 1 << 22
_BLOCK_ROWS = 1 << 17
_SPOILED = re.compile(
    r"In CSV column #(\d+): Row #(\d+): .* to (\w+)(?:\[[^]]*\])?: "
    r"(?:invalid value |expected .* in )?(.*?)(?:\. If these .*)?"
)
_KINDS = {"double": "number", "timestamp": "moment as the first row has one"}
_COUNTED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_Form = tuple[str, "Callable[[Path, BinaryIO, Sequence[Column | Names]], Blocks]", int]
_FORMS: dict[str, _Form] = {
    ".csv": ("CSV", _csv_blocks, 2),
    ".parquet": ("Parquet", _parquet_blocks, 1),
}
SUFFIXES = tuple(_FORMS)
