"""The file that is imported: opened, compressed by gzip or not, and its digest.

Whatever is wrong with it is one `ScenarioError` with the file, the row and the reason. Rows are
lines, counted from 1, with headers, comments and empty lines.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
from typing import TYPE_CHECKING

from pocketsim.sim.base import files
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
    with opened(path) as file, files.unpacked(path, file) as inner:
        yield inner


def text(path: Path) -> str:
    """Return the text of a document of bounded size; raises ScenarioError for any other."""
    with unpacked(path) as file:
        data = file.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise ScenarioError(path, "", f"is larger than {LARGEST_BYTES >> 20} MiB")
    if data.startswith(files.UTF_16_MARKS):
        return files.decoded(path, data)
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        row = 1 + data.count(b"\n", 0, error.start)
        raise ScenarioError(path, f"row {row}", "is not UTF-8 text; save it as UTF-8") from None


LARGEST_BYTES = 256 << 20  # as of a graph that a scenario names (`sim.base.graphs`)
