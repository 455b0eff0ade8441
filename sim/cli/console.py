"""Where the command line writes: data to stdout, everything for people to stderr."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_level = 0


def set_level(level: int) -> None:
    """Set how much is said: -1 quiet, 0 as usual, 1 verbose."""
    global _level  # noqa: PLW0603 - one per process, like the streams themselves
    _level = level


def data(text: str) -> None:
    """Write a line of data."""
    sys.stdout.write(f"{text}\n")


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as data, with columns as wide as they need to be."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    data(f"\n{title}")
    for row in cells:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        data(f"  {line.rstrip()}")


def say(text: str, level: int = 0) -> None:
    """Write a line for people, if they want that much."""
    if level <= _level:
        sys.stderr.write(f"{text}\n")


def fail(text: str) -> None:
    """Write what went wrong."""
    sys.stderr.write(f"{text}\n")


@contextmanager
def progress(total: int) -> Iterator[Callable[[str, int], None]]:
    """Yield a function to call, from any thread, as `total` repetitions end.

    On a terminal it moves a bar; elsewhere it says a line for each tenth of a long job.
    """
    lock = threading.Lock()
    bar = _bar() if _level >= 0 and sys.stderr.isatty() and total else None
    done = 0

    def step(name: str, repetition: int) -> None:
        nonlocal done
        rung, _, _digest = name.rpartition("-")
        with lock:
            done += 1
            if bar:
                bar.update(task, completed=done, description=rung)
            elif total >= _LONG and done * 10 // total > (done - 1) * 10 // total:
                say(f"{done} of {total} repetitions: {rung}")
            say(f"{name}: repetition {repetition} done", 1)

    if bar is None:
        yield step
        return
    with bar:
        task = bar.add_task("starting", total=total)
        yield step


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


_LONG = 20  # repetitions from which on silence would be worrying
