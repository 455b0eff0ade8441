"""Where the command line writes: data to stdout, everything for people to stderr.

What people read may quote documents and paths, so it holds nothing that a terminal would obey.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence

from pocketsim.sim.base.errors import printable

_level = 0


def set_level(level: int) -> None:
    """Set how much is said: -1 quiet, 0 as usual, 1 verbose."""
    global _level  # noqa: PLW0603 - one per process, like the streams themselves
    _level = level


def listen() -> None:
    """Say what the library says of its work, too: that is of use to who wants to know more."""
    import logging

    from pocketsim.sim.base.log import logger

    class Said(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(self.format(record), 1)

    if not any(isinstance(one, Said) for one in logger.handlers):
        logger.addHandler(Said())
    logger.setLevel(logging.DEBUG)


def level() -> int:
    """Return how much is said, as `set_level` takes it."""
    return _level


def data(text: str) -> None:
    """Write a line of data."""
    sys.stdout.write(f"{text}\n")


def json_data(value: object) -> None:
    """Write a value as JSON, as data."""
    data(json.dumps(value, indent=1))


def table(
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    write: Callable[[str], None] = data,
) -> None:
    """Write a table, as data unless told otherwise, with columns as wide as they need to be."""
    cells = [[printable(str(cell)) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    write(f"\n{printable(title)}")
    for row in cells:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        write(f"  {line.rstrip()}")


def say(text: str, level: int = 0) -> None:
    """Write a line for people, if they want that much."""
    if level <= _level:
        sys.stderr.write(f"{_lines(text)}\n")


def fail(text: str) -> None:
    """Write what went wrong."""
    sys.stderr.write(f"{_lines(text)}\n")


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
