"""The file that is imported: opened, compressed by gzip or not, and its digest.

Whatever is wrong with it is one `ScenarioError` with the file, the row and the reason. Rows are
lines, counted from 1, with headers, comments and empty lines.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import zlib
from typing import TYPE_CHECKING

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO


def digest(path: Path) -> str:
    """Return the SHA-256 of the file as it stands, in hex; raises ScenarioError for a pipe."""
    with opened(path) as file:
        if not file.seekable():
            raise ScenarioError(path, "", "is a pipe, and a source is read twice")
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open the file at `path` for reading, unpacked if its content is gzip's.

    Raises ScenarioError where it cannot be read or is no whole gzip file.
    """
    with opened(path) as file:
        is_packed = file.peek(2)[:2] == _GZIP
        try:
            yield gzip.GzipFile(fileobj=file) if is_packed else file  # type: ignore[misc]
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            reason = f"is no whole gzip file: {str(error)[:1].lower()}{str(error)[1:]}"
            raise ScenarioError(path, "", reason) from None


def text(path: Path) -> str:
    """Return the text of a document of bounded size; raises ScenarioError for any other."""
    with unpacked(path) as file:
        data = file.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise ScenarioError(path, "", f"is larger than {LARGEST_BYTES >> 20} MiB")
    return decoded(path, data, 1)


def decoded(path: Path, data: bytes, row: int) -> str:
    """Return UTF-8 text whose first line is `row`; raises ScenarioError with the row of another."""
    try:
        return data.removeprefix(BOM).decode() if row == 1 else data.decode()
    except UnicodeDecodeError as error:
        wrong = row + data.count(b"\n", 0, error.start)
        raise ScenarioError(path, f"row {wrong}", "is not UTF-8 text") from None


BOM = b"\xef\xbb\xbf"
LARGEST_BYTES = 256 << 20  # as of a graph that a scenario names (`sim.base.graphs`)
_GZIP = b"\x1f\x8b"
