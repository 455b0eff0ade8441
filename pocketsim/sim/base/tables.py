"""Tables that somebody else wrote, as columns of numbers: CSV, Parquet, and lines without a header.

Blocks of rows are read and checked as arrays, so that ten million rows take seconds. Whatever is
wrong with a file is one `ScenarioError` with the file, the row and the reason. What the columns
mean, and what two of them must have in common, is known to whoever reads the table.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base import delimited, moments
from pocketsim.sim.base.arrow import numbers
from pocketsim.sim.base.delimited import check_names
from pocketsim.sim.base.errors import ScenarioError, shown
from pocketsim.sim.base.files import opened, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from io import BufferedReader
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from pocketsim.sim.base.line_blocks import LineBlock

    Floats = npt.NDArray[np.float64]
    Blocks = Iterator[tuple[npt.NDArray[np.int64], pa.RecordBatch | pa.Table]]
    """Rows, by their numbers in the file."""
    Block = dict[str, Any]
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


def _none() -> npt.NDArray[np.int64]:
    import numpy as np

    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Table:
    """Columns of one length by name: doubles, or uint32 where they are whole.

    Columns that are `named` have places in `names`, all of the table: sorted as numbers if all of
    them are, else as texts. `digest` is the SHA-256 of the file, in hex; `first_row` the number
    that its first row has, and `left_out` those of lines behind it that hold no values. `is_dated`
    says that times are dates in the file.
    """

    path: Path
    digest: str
    first_row: int
    columns: Mapping[str, npt.NDArray[Any]]
    names: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()
    left_out: npt.NDArray[np.int64] = dataclasses.field(default_factory=_none)
    is_dated: bool = False

    def time_text(self, time_s: float) -> str:
        """Return a time as people read it: a date where the file has dates."""
        return moments.text(time_s) if self.is_dated else f"{time_s:.12g} s"

    def row(self, place: int) -> int:
        """Return the number in the file of the row at `place`, counted from 0."""
        import numpy as np

        row = self.first_row + place
        closed_up = self.left_out - np.arange(self.left_out.size)
        return row + int(np.searchsorted(closed_up, row, side="right"))

    def error(self, place: int, reason: str) -> ScenarioError:
        """Return what to raise for what is wrong with the row at `place`, counted from 0."""
        return ScenarioError(self.path, f"row {self.row(place)}", reason)

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


def read(
    path: Path,
    columns: Sequence[Column | Names],
    lines: Lines | None = None,
    check: Callable[[Table], None] | None = None,
) -> Table:
    """Return the table in the file at `path`, which has these columns, in any order, and no others.

    Its suffix says what it is, unless it is `lines`, whose columns are in this order. Rows are
    numbered as lines of the file are; those of Parquet from 1. `check` is told some rows at a time,
    and raises ScenarioError for what is wrong among them: then no more is read. Names are numbers
    of their own in each. Raises ScenarioError with the first row that holds what it must not.
    """
    import pyarrow as pa

    blocks = _form(path, lines)
    with opened(path) as file:
        if not file.seekable():
            raise ScenarioError(path, "", "is a pipe, and a table is read twice")
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        try:
            found = _collected(path, blocks(path, file, columns), columns, check)
        except (pa.ArrowException, OSError) as error:
            text = str(error).partition("\n")[0]
            told = shown(text[:1].lower() + text[1:])
            raise ScenarioError(path, "", f"is not Parquet: {told}") from None
    return dataclasses.replace(found, digest=digest)


def _form(path: Path, lines: Lines | None) -> _Blocks:
    if lines is not None:
        return functools.partial(_line_blocks, lines)
    name = path.name.lower()
    for suffix, blocks in _FORMS.items():
        if name.endswith(suffix):
            return blocks
    hint = "; save it as CSV" if path.suffix.lower() in _WORKBOOKS else ""
    raise ScenarioError(path, "", f"its name ends in none of {', '.join(_FORMS)}{hint}")


def _collected(
    path: Path,
    blocks: Blocks,
    columns: Sequence[Column | Names],
    check: Callable[[Table], None] | None,
) -> Table:
    """Return the columns of all blocks, without the digest of their file."""
    import numpy as np

    first_row, rows, next_row, is_dated = 1, 0, 0, False
    parts: list[Block] = []
    left_out: list[npt.NDArray[np.int64]] = []
    for row, block in blocks:
        is_dated |= any(moments.is_moment(kind) for kind in block.schema.types)
        try:
            parts.append(_checked(block, columns, parts[-1] if parts else {}))
        except _WrongRowError as error:
            raise ScenarioError(path, f"row {row[error.place]}", error.reason) from None
        first_row = first_row if rows else int(row[0])
        left_out.append(_between(row, next_row if rows else first_row))
        next_row, rows = int(row[-1]) + 1, rows + row.size
        _check_length(path, rows)
        if check is not None:
            of_block = {name: _codes(values) for name, values in parts[-1].items()}
            check(Table(path, "", int(row[0]), of_block, left_out=_between(row, int(row[0]))))
    if not rows:
        raise ScenarioError(path, "", "has no rows")
    numbers = [column.name for column in columns if isinstance(column, Column)]
    names = [column.name for column in columns if isinstance(column, Names)]
    # Parts go as they are joined: at no time does all of a table lie in memory twice.
    found = {name: np.concatenate([part.pop(name) for part in parts]) for name in numbers}
    places, every = _numbered(parts, names) if names else ({}, ())
    return Table(
        path,
        "",
        first_row,
        {**found, **places},
        every,
        frozenset(names),
        np.concatenate(left_out),
        is_dated,
    )


def _codes(values: Any) -> npt.NDArray[Any]:
    """Return a column as numbers, the same for the same text."""
    import numpy as np

    if isinstance(values, np.ndarray):
        return values
    return numbers(values.dictionary_encode().indices)


def _between(row: npt.NDArray[np.int64], first: int) -> npt.NDArray[np.int64]:
    """Return which numbers from `first` to the last of `row` are not in it."""
    import numpy as np

    if row[-1] - first + 1 == row.size:
        return _none()
    return np.setdiff1d(np.arange(first, row[-1] + 1), row, assume_unique=True)


def _check_length(path: Path, rows: int) -> None:
    if rows > ROWS_MAX:
        raise ScenarioError(path, "", f"has more than {ROWS_MAX:,} rows, which is the most")


def _checked(
    block: pa.RecordBatch | pa.Table, columns: Sequence[Column | Names], before: Block
) -> Block:
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


def _named(column: Names, values: pa.Array | pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.cast(values, pa.string())
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
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
    import numpy as np
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
    import numpy as np
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
    import numpy as np

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


def _csv_blocks(path: Path, file: BufferedReader, columns: Sequence[Column | Names]) -> Blocks:
    names = [column.name for column in columns]

    def check(place: str, found: Sequence[str]) -> None:
        check_names(path, place, found, names)

    if file.peek(len(_ZIP))[: len(_ZIP)] == _ZIP:
        raise ScenarioError(path, "", "is a workbook or an archive, no CSV; save it as CSV")
    with unpacked(path, file) as inner:
        yield from delimited.of_csv(path, inner, _kinds(columns), check)


def _line_blocks(
    lines: Lines, path: Path, file: BufferedReader, columns: Sequence[Column | Names]
) -> Blocks:
    def begin(block: LineBlock) -> tuple[str, int]:
        first = block.line(0)
        row = f"row {block.row[0]}"
        if first.split()[1:2] == [b"CONN"]:
            reason = "is a log of connections of The ONE, whose lines are time CONN a b up or down"
            raise ScenarioError(path, row, f"{reason}; {lines.says}")
        delimiter = "\t" if b"\t" in first else " "
        width = first.count(delimiter.encode()) + 1
        if width not in lines.widths:
            raise ScenarioError(path, row, f"has {width} values; {lines.says}")
        return delimiter, width

    with unpacked(path, file) as inner:
        yield from delimited.of_lines(path, inner, _kinds(columns), begin)


def _kinds(columns: Sequence[Column | Names]) -> delimited.Kinds:
    found = [column for column in columns if isinstance(column, Column)]
    return delimited.Kinds(
        tuple(column.name for column in found),
        tuple(column.name for column in columns if isinstance(column, Names)),
        tuple(column.name for column in found if column.is_time),
    )


def _parquet_blocks(path: Path, file: BufferedReader, columns: Sequence[Column | Names]) -> Blocks:
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    # Read by this thread alone: no other may hold what is Python's when the process ends.
    table, names = parquet.ParquetFile(file, pre_buffer=False), [column.name for column in columns]
    schema = table.schema_arrow
    check_names(path, "", [name for name in schema.names if not _INDEX.fullmatch(name)], names)
    for column in columns:
        name, kind = column.name, schema.field(column.name).type
        if isinstance(column, Names) and (pa.types.is_string(kind) or pa.types.is_integer(kind)):
            continue
        if isinstance(column, Column) and column.is_time and moments.is_moment(kind):
            continue
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise ScenarioError(path, "", f"column {name} has values of type {kind}, no numbers")
    _check_length(path, table.metadata.num_rows)
    row = 1
    for block in table.iter_batches(_BLOCK_ROWS, columns=names, use_threads=False):
        if block.num_rows:
            yield np.arange(row, row + block.num_rows), block
        row += block.num_rows


ROWS_MAX = 50_000_000
"""A table is kept in memory. As many as a run may draw (`sim.scenario.limits`)."""
_DIGITS = 18  # of a number that 64 bits hold; what is longer is in order as text
_BLOCK_ROWS = 1 << 17
_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+|")  # what pandas calls an index
_ZIP, _WORKBOOKS = b"PK\x03\x04", (".xlsx", ".xls", ".ods", ".numbers")
_Blocks = Callable[["Path", "BufferedReader", "Sequence[Column | Names]"], "Blocks"]
_FORMS: dict[str, _Blocks] = {
    ".csv": _csv_blocks,
    ".csv.gz": _csv_blocks,
    ".parquet": _parquet_blocks,
}
SUFFIXES = tuple(_FORMS)
