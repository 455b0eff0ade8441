"""Where the command line writes: data to stdout, everything for people to stderr."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_level = 0


def set_level(level: int) -> None:
    """Set how much is said: -1 quiet, 0 as usual, 1 verbose."""
    global _level  # noqa: PLW0603 - one per process, like the streams themselves
    _level = level


def data(text: str) -> None:
    """Write a line of data."""
    sys.stdout.write(f"{text}\n")


def say(text: str, level: int = 0) -> None:
    """Write a line for people, if they want that much."""
    if level <= _level:
        sys.stderr.write(f"{text}\n")


def fail(text: str) -> None:
    """Write what went wrong."""
    sys.stderr.write(f"{text}\n")


@contextmanager
def progress(total: int) -> Iterator[Callable[[str, int], None]]:
    """Yield a function to call as `total` repetitions end; a bar on a terminal, else lines."""
    if _level < 0 or not sys.stderr.isatty():
        yield lambda name, repetition: say(f"{name}: repetition {repetition} done", 1)
        return
    from rich.console import Console
    from rich.progress import Progress

    lock = threading.Lock()
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("repetitions", total=total)

        def step(name: str, repetition: int) -> None:
            with lock:
                bar.update(task, advance=1, description=name)
                if _level > 0:
                    bar.console.print(f"{name}: repetition {repetition} done")

        yield step
