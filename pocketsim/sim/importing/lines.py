"""Lines of values between white space, a block of them at a time, as columns of text.

Comments and empty lines are left out and counted. No line is looked at by itself: a million of them
take about a quarter of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.arrow import native, numbers
from pocketsim.sim.base.errors import ScenarioError, shown
from pocketsim.sim.base.line_blocks import LineBlock, parted, whole_lines
from pocketsim.sim.importing.source import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """How lines are written: how many values one has, as `says` puts in words, and what parts them.

    Each character of `separators` is one separator and several together are one, too, unless
    `keeps_empty`: then each is, and values are stripped of blanks. A line that begins with a
    byte of `comments` is none. A first line without a number at `number`, where the next line has
    one, is a header.
    """

    least: int
    most: int
    says: str
    separators: bytes = b" \t"
    keeps_empty: bool = False
    comments: bytes = b"#%"
    number: int | None = None


@dataclass(frozen=True)
class Block:
    """Lines one after the other: `row` numbers them, `values` has as many columns as the widest.

    Values that a line does not have are empty; `width` says how many it has.
    """

    path: Path
    row: npt.NDArray[np.int64]
    width: npt.NDArray[np.int64]
    values: list[pa.Array]

    def select(self, kept: npt.NDArray[np.bool_]) -> Block:
        """Return the lines that are `kept`."""
        import pyarrow as pa

        if kept.all():
            return self
        places = pa.Array.from_buffers(
            pa.int64(), int(kept.sum()), [None, pa.py_buffer(np.flatnonzero(kept))]
        )
        values = [value.take(places) for value in self.values]
        return Block(self.path, self.row[kept], self.width[kept], values)

    def numbers(self, column: int, name: str) -> Floats:
        """Return a column as finite numbers; raises ScenarioError for the first that is none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.values[column].null_count:
            self.refuse(numbers(self.values[column].is_null()), f"has no {name}")
        try:
            found: Floats = numbers(pc.cast(self.values[column], pa.float64()))
        except pa.ArrowInvalid:
            place = first_spoiled(self.values[column], pa.float64())
            text = self.values[column][place].as_py()
            raise self.error(place, f"{name} is {shown(repr(text))}, no number") from None
        self.refuse(~np.isfinite(found), f"{name} is not finite")
        return found

    def names(self, column: int, name: str) -> pa.Array:
        """Return a column as text; raises ScenarioError for the first that is empty."""
        import pyarrow.compute as pc

        self.refuse(numbers(pc.equal(self.values[column], "")), f"has no {name}")
        return self.values[column]

    def error(self, place: int, reason: str) -> ScenarioError:
        """Return what to raise for what is wrong with the line at `place` in this block."""
        return ScenarioError(self.path, f"row {self.row[place]}", reason)

    def refuse(self, wrong: npt.NDArray[np.bool_], reason: str) -> None:
        """Raise ScenarioError for the first line that is wrong."""
        if wrong.any():
            raise self.error(int(wrong.argmax()), reason)


@dataclass
class Head:
    """What stands before the first line of values, and how many lines hold none."""

    comments: list[str]
    header: list[str]
    left_out: int = 0


def blocks(path: Path, form: Form, head: Head) -> Iterator[Block]:
    """Yield the lines of the file at `path`, and tell `head` what is none of them.

    Raises ScenarioError for the first line that is not of this form, and for a file without any.
    """
    is_first, found = True, False
    with unpacked(path) as file:
        for row, data in whole_lines(path, file, _BLOCK_BYTES):
            lines = _kept(parted(_clean(data, form), row), form, head)
            if is_first and lines.row.size and form.number is not None:
                lines, is_first = _without_header(lines, form, head), False
            if lines.row.size:
                found = True
                yield _block(path, form, lines)
    if not found:
        raise ScenarioError(path, "", "has no rows")


def _clean(data: bytes, form: Form) -> bytes:
    """Return lines with one separator between two values, and none before or after them."""
    if form.keeps_empty:
        return data
    to = form.separators[:1]
    if len(form.separators) > 1:
        data = data.translate(bytes.maketrans(form.separators, to * len(form.separators)))
    while to + to in data:
        data = data.replace(to + to, to)
    if to + b"\n" in data:
        data = data.replace(to + b"\n", b"\n")
    if b"\n" + to in data:
        data = data.replace(b"\n" + to, b"\n")
    return data.strip(to)


def _kept(lines: LineBlock, form: Form, head: Head) -> LineBlock:
    """Return the lines that hold values."""
    kept = ~lines.begins_with(b"\n" + form.comments)
    head.left_out += int((~kept).sum())
    if lines.row[0] == 1:
        before = int(kept.argmax()) if kept.any() else kept.size
        head.comments += [lines.line(place).decode() for place in range(before)]
    return lines.select(kept)


def _without_header(lines: LineBlock, form: Form, head: Head) -> LineBlock:
    places = range(min(2, lines.row.size))
    values, *after = (lines.line(place).split(form.separators[:1]) for place in places)
    is_header = len(values) >= form.least and not _has_number(values, form)
    # Where ids are texts, the first line is as the others.
    if not is_header or (after and not _has_number(after[0], form)):
        return lines
    head.header += [value.decode().strip() for value in values]
    head.left_out += 1
    return lines.select(np.arange(lines.row.size) > 0)


def _has_number(values: list[bytes], form: Form) -> bool:
    assert form.number is not None, "who asks has a column of numbers"
    return len(values) > form.number and _is_number(values[form.number].decode())


def _block(path: Path, form: Form, lines: LineBlock) -> Block:
    import pyarrow as pa

    to = form.separators[:1]
    count = lines.line(0).count(to) + 1
    try:
        # Most often all lines have as many values as the first, which pyarrow counts itself.
        values = _values(lines, to, count)
        width = np.full(lines.row.size, count)
    except pa.ArrowInvalid:
        values, width = [], _widths(lines, to)
    wrong = (width < form.least) | (width > form.most)
    if wrong.any():
        place = int(wrong.argmax())
        reason = f"has {width[place]} values; {form.says}"
        raise ScenarioError(path, f"row {lines.row[place]}", reason)
    if not values:
        values = _values(_padded(lines, to, width), to, int(width.max()))
    if form.keeps_empty:
        values = [_strip(column) for column in values]
    return Block(path, lines.row, width, values)


def _widths(lines: LineBlock, separator: bytes) -> npt.NDArray[np.int64]:
    """Return how many values each line has."""
    before = np.searchsorted(np.flatnonzero(lines.text == ord(separator)), lines.end)
    return np.diff(before, prepend=0) + 1


def _padded(lines: LineBlock, separator: bytes, width: npt.NDArray[np.int64]) -> LineBlock:
    """Return lines with empty values at their ends, so that all have as many as the widest."""
    missing = width.max() - width
    text = np.insert(lines.text, np.repeat(lines.end, missing), ord(separator))
    return LineBlock(text, lines.end + np.cumsum(missing), lines.row)


def _values(lines: LineBlock, separator: bytes, width: int) -> list[pa.Array]:
    """Return columns of text; raises ArrowInvalid unless each line has so many values."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(number) for number in range(width)]
    table = csv.read_csv(
        pa.BufferReader(native(lines.text)),
        csv.ReadOptions(
            use_threads=False, column_names=names, block_size=max(lines.text.size, 1 << 10)
        ),
        csv.ParseOptions(delimiter=separator.decode(), quote_char=False, ignore_empty_lines=False),
        csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    assert table.num_rows == lines.row.size, "each line is a row"
    return [column.combine_chunks() for column in table.columns]


def _strip(values: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.utf8_trim_whitespace(values)


def first_spoiled(values: pa.Array, kind: pa.DataType) -> int:
    """Return the place of the first of some texts that are not all of a kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first, last = 0, len(values)
    while last - first > 1:  # of a half that is spoiled, the first such half
        middle = (first + last) // 2
        try:
            pc.cast(values[first:middle], kind)
        except pa.ArrowInvalid:
            last = middle
        else:
            first = middle
    return first


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


_BLOCK_BYTES = 1 << 24
