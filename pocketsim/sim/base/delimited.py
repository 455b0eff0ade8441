"""Columns of text files, CSV and lines without a header, as spreadsheets and editors leave them.

Read over are a mark of byte order, UTF-16, gzip, `#` lines, blank last lines, columns without a
name that are empty or stand first (an index), `;` or a tab between values and then decimal commas.
Rows keep the numbers that an editor shows. What else is wrong is told with its row.
"""

from __future__ import annotations

import csv as plain_csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from pocketsim.sim.base import moments
from pocketsim.sim.base.arrow import native
from pocketsim.sim.base.errors import ScenarioError, nearest, shown
from pocketsim.sim.base.line_blocks import parted, whole_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from pocketsim.sim.base.line_blocks import LineBlock

    Rows = tuple[npt.NDArray[np.int64], "pa.Table"]
    """The numbers of some rows, and their columns."""


@dataclass(frozen=True)
class Kinds:
    """Columns that hold numbers, and text; of numbers those that may be dates (`moments`)."""

    numbers: Sequence[str]
    texts: Sequence[str]
    times: Sequence[str] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """All of them, numbers first."""
        return (*self.numbers, *self.texts)


@dataclass
class _Form:
    """What stands between values and in numbers, and what columns are called, "" if they are not.

    `dates` are the types of columns that hold dates.
    """

    delimiter: str
    names: Sequence[str]
    dates: Mapping[str, pa.DataType] | None = None
    decimal: str = "."

    def called(self) -> list[str]:
        """Return a name for each column, those without one by their places."""
        return [name or _by_place(place) for place, name in enumerate(self.names, 1)]

    def without_name(self) -> list[int]:
        """Return the places, from 1, of columns that nobody names, but for an index before all."""
        return [place for place, name in enumerate(self.names, 1) if not name and place > 1]


def of_csv(
    path: Path,
    file: BinaryIO,
    kinds: Kinds,
    check: Callable[[str, Sequence[str]], None],
) -> Iterator[Rows]:
    """Yield the rows of a CSV, in which these columns are looked at.

    `check` is told the place and the names of the header, and raises ScenarioError if it will not
    do. Raises ScenarioError with the first row that cannot be read.
    """
    import numpy as np

    before: list[bytes] = []
    form: _Form | None = None
    for block in _filled(path, file, b"#", before):
        rest = block
        if form is None:
            form, is_above = _header(block, before, kinds.every)
            check(f"row {block.row[0] - is_above}", [name for name in form.names if name])
            rest = block if is_above else block.select(np.arange(block.row.size) > 0)
        if rest.row.size:
            yield rest.row, _parsed(path, rest, form, kinds)


def of_lines(
    path: Path,
    file: BinaryIO,
    kinds: Kinds,
    begin: Callable[[LineBlock], tuple[str, int]],
) -> Iterator[Rows]:
    """Yield the rows of lines without a header, first the columns of numbers, then of texts.

    `begin` is told the first lines, returns what stands between values and how many there are, and
    raises ScenarioError where that will not do.
    """
    form: _Form | None = None
    for block in _filled(path, file, b"#%", []):
        if form is None:
            delimiter, width = begin(block)
            others = [f"value {place}" for place in range(len(kinds.every) + 1, width + 1)]
            form = _Form(delimiter, [*kinds.every, *others])
        yield block.row, _parsed(path, block, form, kinds)


def _filled(
    path: Path, file: BinaryIO, comments: bytes, before: list[bytes]
) -> Iterator[LineBlock]:
    """Yield lines with values; `before` gets the comment that stands before the first of them."""
    import numpy as np

    blank_row, is_first = 0, True
    for row, data in whole_lines(path, file, BLOCK_BYTES):
        block = parted(data, row)
        is_comment = block.begins_with(comments)
        is_blank = _blank(block)
        filled = ~(is_comment | is_blank)
        if is_first and filled.any() and _EXCEL.fullmatch(block.line(int(filled.argmax())).lower()):
            filled[filled.argmax()] = False
        if is_first:
            before[:] = _last_comment(block, is_comment, filled) or before
        if filled.any():
            first, last = np.flatnonzero(filled)[[0, -1]]
            blank = np.flatnonzero(is_blank[:last])
            blank = blank[blank > first] if is_first else blank
            if blank_row or blank.size:
                place = blank_row or int(block.row[blank[0]])
                raise ScenarioError(path, f"row {place}", "is blank, and rows follow it")
            is_first = False
            yield block.select(filled)
        after = is_blank & (np.cumsum(filled) == filled.sum())
        if not is_first and not blank_row and after.any():
            blank_row = int(block.row[after.argmax()])


def _blank(block: LineBlock) -> npt.NDArray[np.bool_]:
    """Tell of each line whether it holds nothing but blanks and separators."""
    import numpy as np

    found = block.begins_with(b"\n \t,;")
    for place in np.flatnonzero(found).tolist():
        found[place] = not block.line(place).strip(b" \t,;")
    return found


def _last_comment(
    block: LineBlock, is_comment: npt.NDArray[np.bool_], filled: npt.NDArray[np.bool_]
) -> list[bytes]:
    import numpy as np

    places = np.flatnonzero(is_comment & (np.cumsum(filled) == 0))
    return [block.line(int(place)) for place in places[-1:]]


def _header(block: LineBlock, before: Sequence[bytes], asked: Sequence[str]) -> tuple[_Form, bool]:
    """Return the form that the header has, and whether that is the comment above the first line."""
    found = _named(block.line(0), asked)
    above = _named(before[0].lstrip(b"# "), asked) if before else found
    is_above = not {*asked} <= {*found.names} and {*asked} <= {*above.names}
    return (above, True) if is_above else (found, False)


def _named(line: bytes, asked: Sequence[str]) -> _Form:
    """Return the form of a header: of what may stand between names, what finds most of those."""
    text = line.decode()
    found = []
    for delimiter in _DELIMITERS:
        try:
            names = next(plain_csv.reader([text], delimiter=delimiter), [])
        except plain_csv.Error:  # of a field of thousands of characters
            names = text.split(delimiter)
        names = [_UNNAMED.sub("", name.strip()) for name in names]
        found.append(_Form(delimiter, names))
    return max(found, key=lambda form: (len({*asked} & {*form.names}), len(form.names)))


def _parsed(path: Path, block: LineBlock, form: _Form, kinds: Kinds) -> pa.Table:
    """Return the columns of some lines; raises ScenarioError with the first that is wrong."""
    import pyarrow as pa

    if form.dates is None:
        form.dates = moments.kinds(
            block.line(0).decode(), form.called(), form.delimiter, kinds.times
        )
    try:
        table = _table(block, form, kinds)
    except pa.ArrowInvalid as error:
        spoiled = _SPOILED.match(str(error))
        if not (spoiled and "," in spoiled[4] and form.delimiter != "," and form.decimal == "."):
            raise _refused(path, block, form, str(error)) from None
        form.decimal = ","
        try:
            table = _table(block, form, kinds)
        except pa.ArrowInvalid as second:
            raise _refused(path, block, form, str(second)) from None
    for place in form.without_name():
        _check_empty(path, block, table, place)
    return table


def _check_empty(path: Path, block: LineBlock, table: pa.Table, column: int) -> None:
    import pyarrow.compute as pc

    place = pc.index(pc.is_valid(table[_by_place(column)]), True).as_py()
    if place >= 0:
        reason = f"has a value in column {column}, which the header does not name"
        raise ScenarioError(path, f"row {block.row[place]}", reason)


def _by_place(column: int) -> str:
    return f"column {column}"


def _table(block: LineBlock, form: _Form, kinds: Kinds) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    empty = map(_by_place, form.without_name())
    types = {
        **dict.fromkeys(kinds.numbers, pa.float64()),
        **dict.fromkeys([*kinds.texts, *empty], pa.string()),
        **(form.dates or {}),
    }
    return csv.read_csv(
        pa.BufferReader(native(block.text)),
        # One thread: several do not tell the row of what is no number.
        csv.ReadOptions(
            use_threads=False,
            column_names=form.called(),
            block_size=max(block.text.size, _LEAST_BLOCK_BYTES),
        ),
        csv.ParseOptions(delimiter=form.delimiter, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=[""],
            strings_can_be_null=True,
            decimal_point=form.decimal,
        ),
    )


def _refused(path: Path, block: LineBlock, form: _Form, text: str) -> ScenarioError:
    """Return what to say of lines that pyarrow cannot read, with the row that it tells."""
    if found := _SPOILED.match(text):
        name = form.called()[int(found[1])]
        what = "number" if found[3] == "double" else "moment as the first row has one"
        reason = f"{name} is {shown(found[4])}, no {what}"
        if "," in found[4] and form.delimiter == ",":
            reason += "; decimal commas take `;` between values"
        return ScenarioError(path, f"row {block.row[int(found[2]) - 1]}", reason)
    if found := _COUNTED.search(text):
        place = int(found[1]) - 1
        reason = f"has {found[3]} values, not {found[2]}"
        if block.line(place).rstrip().endswith(form.delimiter.encode()):
            reason += f"; it ends with {form.delimiter!r}, and the rows before do not"
        elif int(found[3]) > int(found[2]) and form.delimiter == ",":
            reason += "; decimal commas take `;` between values"
        return ScenarioError(path, f"row {block.row[place]}", reason)
    return ScenarioError(path, "", f"is not CSV: {shown(text.partition(chr(10))[0])}")


def check_names(path: Path, place: str, found: Sequence[str], names: Sequence[str]) -> None:
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


BLOCK_BYTES = 1 << 22
_LEAST_BLOCK_BYTES = 1 << 10
_DELIMITERS = (",", ";", "\t")
_EXCEL = re.compile(rb"\"?sep=.\"?")  # a first line that says what stands between values
_UNNAMED = re.compile(r"Unnamed: \d+")  # what pandas calls what has no name
_SPOILED = re.compile(
    r"In CSV column #(\d+): Row #(\d+): .*? to (\w+)(?:\[[^]]*\])?: "
    r"(?:invalid value |expected .* in )?(.*?)(?:\. If these .*)?$"
)
_COUNTED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
