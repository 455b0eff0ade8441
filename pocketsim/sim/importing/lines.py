"""Lines of values between white space, a block of them at a time, as columns of text.

Comments and empty lines are left out and counted. A million lines take about half a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.arrow import numbers
from pocketsim.sim.base.errors import ScenarioError, shown
from pocketsim.sim.importing.source import BOM, decoded, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """How lines are written: how many values one has, as `says` puts in words, and what parts them.

    Each character of `separators` is one separator and several together are one, too, unless
    `keeps_empty`: then each is, and values are stripped of blanks. A line that begins with one of
    `comments` is none. A first line without a number at `number`, where the next line has one, is a
    header.
    """

    least: int
    most: int
    says: str
    separators: bytes = b" \t"
    keeps_empty: bool = False
    comments: tuple[bytes, ...] = (b"#", b"%")
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
    row, is_first, found = 1, True, False
    with unpacked(path) as file:
        for data in _whole_lines(file):
            decoded(path, data, row)
            clean = _clean(data, form)
            lines = clean.removesuffix(b"\n").split(b"\n")
            numbered = _kept(lines, form, head, row)
            if is_first and numbered and form.number is not None:
                numbered, is_first = _without_header(lines, numbered, form, head), False
            if numbered:
                found = True
                yield _block(path, form, lines, np.array(numbered, np.int64), row)
            row += len(lines)
    if not found:
        raise ScenarioError(path, "", "has no rows")


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield blocks that end with a line; the last may have no line break."""
    rest = file.read(_BLOCK_BYTES).removeprefix(BOM)
    while rest:
        more = file.read(_BLOCK_BYTES)
        if not more:
            yield rest
            return
        end = rest.rfind(b"\n") + 1
        if end:
            yield rest[:end]
        rest = rest[end:] + more


def _clean(data: bytes, form: Form) -> bytes:
    """Return lines with one separator between two values, and none before or after them."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
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


def _kept(lines: list[bytes], form: Form, head: Head, row: int) -> list[int] | range:
    """Return the places of the lines that hold values."""
    kept = [
        place for place, line in enumerate(lines) if line and not line.startswith(form.comments)
    ]
    if len(kept) == len(lines):
        return range(len(lines))
    head.left_out += len(lines) - len(kept)
    if row == 1:
        head.comments += [line.decode() for line in lines[: kept[0] if kept else None]]
    return kept


def _without_header(
    lines: list[bytes], numbered: list[int] | range, form: Form, head: Head
) -> list[int] | range:
    values, after = (
        lines[place].split(form.separators[:1]) for place in [*numbered[:2], numbered[0]][:2]
    )
    is_header = len(values) >= form.least and not _has_number(values, form)
    # Where ids are texts, the first line is as the others.
    if not is_header or (len(numbered) > 1 and not _has_number(after, form)):
        return numbered
    head.header += [value.decode().strip() for value in values]
    head.left_out += 1
    return numbered[1:]


def _has_number(values: list[bytes], form: Form) -> bool:
    assert form.number is not None, "who asks has a column of numbers"
    return len(values) > form.number and _is_number(values[form.number].decode())


def _block(
    path: Path, form: Form, lines: list[bytes], places: npt.NDArray[np.int64], row: int
) -> Block:
    to = form.separators[:1]
    kept = lines if places.size == len(lines) else [lines[place] for place in places.tolist()]
    width = _widths(kept, to)
    wrong = (width < form.least) | (width > form.most)
    if wrong.any():
        place = int(wrong.argmax())
        reason = f"has {width[place]} values; {form.says}"
        raise ScenarioError(path, f"row {row + places[place]}", reason)
    widest = int(width.max())
    if int(width.min()) < widest:
        pads = [to * (widest - each) for each in range(widest + 1)]
        kept = [line + pads[each] for line, each in zip(kept, width.tolist(), strict=True)]
    values = _values(kept, to, widest, _strip if form.keeps_empty else None)
    return Block(path, row + places, width, values)


def _widths(lines: list[bytes], separator: bytes) -> npt.NDArray[np.int64]:
    """Return how many values each line has."""
    text = np.frombuffer(b"\n".join([*lines, b""]), np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    parted = np.cumsum(text == ord(separator), dtype=np.int64)[ends]
    return np.diff(parted, prepend=0) + 1


def _values(
    lines: list[bytes], separator: bytes, widest: int, mend: Callable[[pa.Array], pa.Array] | None
) -> list[pa.Array]:
    import pyarrow as pa
    from pyarrow import csv

    names = [str(number) for number in range(widest)]
    table = csv.read_csv(
        BytesIO(b"\n".join([*lines, b""])),
        csv.ReadOptions(column_names=names, block_size=2 * _BLOCK_BYTES),
        csv.ParseOptions(delimiter=separator.decode(), quote_char=False, ignore_empty_lines=False),
        csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    assert table.num_rows == len(lines), "each line is a row"
    columns = [column.combine_chunks() for column in table.columns]
    return [mend(column) for column in columns] if mend else columns


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
