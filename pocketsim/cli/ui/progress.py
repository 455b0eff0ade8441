"""How far runs are, as the command says it: a bar on a terminal, else a line every half minute."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pocketsim.api.progress import Meter, bar
from pocketsim.cli.ui import console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@contextmanager
def progress(
    total: int, labels: Mapping[str, str] | None = None
) -> Iterator[Callable[[str, int, float], None]]:
    """Yield a function to call, from any thread, as `total` repetitions come on.

    It takes a run's name, the number of a repetition and the share of it that is done.
    """
    meter = Meter.of(total, labels)
    if console.level() < 0 or not total:
        yield _nothing
        return
    with bar(meter) if sys.stderr.isatty() else _lines(meter) as step:
        yield step


def _nothing(_name: str, _repetition: int, _share: float) -> None:
    pass


@contextmanager
def _lines(meter: Meter) -> Iterator[Callable[[str, int, float], None]]:
    lock, ended = threading.Lock(), threading.Event()

    def step(name: str, repetition: int, share: float) -> None:
        with lock:
            meter.advance(name, repetition, share)

    def speak() -> None:
        while not ended.wait(SILENCE_S):
            with lock:
                console.say(meter.line(time.monotonic()))

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield step
    finally:
        ended.set()
        speaker.join()


SILENCE_S = 30.0  # longer, and people look whether the program still lives
