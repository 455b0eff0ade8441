"""Lines of a text file, blocks of them at a time as arrays, numbered as an editor numbers them.

Text is UTF-8, or UTF-16 that begins with a mark of byte order; line breaks are of any kind. What a
line means is known to whoever reads it.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import NOT_TEXT, UTF_16_MARKS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt


class Readable(Protocol):
    """What bytes are read from, in order."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most about `size`; none at the end."""


@dataclass(frozen=True)
class LineBlock:
    """Lines with their breaks: `end` is where each break stands, `row` the number of each line."""

    text: npt.NDArray[np.uint8]
    end: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]

    def start(self) -> npt.NDArray[np.int64]:
        """Return where each line begins."""
        import numpy as np

        return np.concatenate([[0], self.end[:-1] + 1])

    def begins_with(self, some: bytes) -> npt.NDArray[np.bool_]:
        """Tell of each line whether its first byte, the break of an empty one, is of `some`."""
        import numpy as np

        return np.isin(self.text[self.start()], np.frombuffer(some, np.uint8))

    def line(self, place: int) -> bytes:
        """Return one line without its break."""
        start = int(self.end[place - 1]) + 1 if place else 0
        return self.text[start : self.end[place]].tobytes()

    def select(self, kept: npt.NDArray[np.bool_]) -> LineBlock:
        """Return the lines that are `kept`."""
        import numpy as np

        if kept.all():
            return self
        size = np.diff(self.end, prepend=-1)
        text = self.text[np.repeat(kept, size)]
        return LineBlock(text, np.cumsum(size[kept]) - 1, self.row[kept])


def parted(data: bytes, row: int) -> LineBlock:
    """Return the lines of some text, the first of which is `row`."""
    import numpy as np

    text = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", np.uint8)
    end = np.flatnonzero(text == ord("\n"))
    return LineBlock(text, end, np.arange(row, row + end.size))


def whole_lines(path: Path, file: Readable, block_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines in UTF-8, with line feeds alone, and the row of their first.

    Raises ScenarioError with the row of what is no text, and of a line as long as a block.
    """
    import numpy as np

    row = 1
    try:
        for raw in _blocks(path, file, block_bytes):
            data = raw.removeprefix(codecs.BOM_UTF8) if row == 1 else raw
            _check_text(path, data, row)
            if b"\r" in data:
                data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            yield row, data
            row += int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))
    except _LongLineError:
        reason = f"is longer than {block_bytes:,} bytes, which no line is"
        raise ScenarioError(path, f"row {row}", reason) from None


class _LongLineError(Exception):
    """A line does not end in a block."""


def _check_text(path: Path, data: bytes, row: int) -> None:
    """Raise ScenarioError with the row of what is no text in UTF-8; the first is `row`."""
    try:
        data.decode()
        place, reason = data.find(b"\0"), NOT_TEXT
    except UnicodeDecodeError as error:
        place, reason = error.start, "is not UTF-8 text; save it as UTF-8"
    if place >= 0:
        lines = data[:place].replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")
        raise ScenarioError(path, f"row {row + lines}", reason)


def _blocks(path: Path, file: Readable, block_bytes: int) -> Iterator[bytes]:
    """Yield blocks that end with a line; the last may have no line break."""
    rest = file.read(block_bytes)
    if rest.startswith(UTF_16_MARKS):
        yield from _blocks(path, _Utf16(path, file, rest), block_bytes)
        return
    while rest:
        more = file.read(block_bytes)
        if not more:
            yield rest
            return
        # A carriage return at the very end may be half of a break.
        end = rest.rfind(b"\n") + 1 or rest.rfind(b"\r", 0, -1) + 1
        if not end:
            raise _LongLineError
        yield rest[:end]
        rest = rest[end:] + more


class _Utf16:
    """A file in UTF-16 that reads as UTF-8; its `first` bytes have been read already."""

    def __init__(self, path: Path, file: Readable, first: bytes) -> None:
        self._path, self._file, self._first = path, file, first
        self._decoder = codecs.getincrementaldecoder("utf-16")()

    def read(self, size: int) -> bytes:
        """Return the next text, of about `size` bytes; none at the end."""
        data, self._first = self._first or self._file.read(size), b""
        try:
            return self._decoder.decode(data, final=not data).encode()
        except UnicodeError:
            raise ScenarioError(self._path, "", "is not UTF-16 text; save it as UTF-8") from None
