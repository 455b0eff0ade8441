"""How far runs are, for people: a bar on a terminal, a line every half minute elsewhere.

Repetitions tell the share of them that is done; what is left is estimated from what is done. Only
wall time is looked at here, and only for people.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pocketsim.cli import console
from pocketsim.sim.base.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.progress import Progress


@dataclass
class Meter:
    """Repetitions that have ended and those under way, of `total`, since `started_s`.

    `labels` say in words which run a name is; others are called by their rung.
    """

    total: int
    started_s: float
    labels: Mapping[str, str] = field(default_factory=dict)
    ended: int = 0
    under_way: dict[tuple[str, int], float] = field(default_factory=dict)
    latest: str = "starting"

    def advance(self, name: str, repetition: int, share: float) -> None:
        """Take note that `share` of a repetition of run `name` is done; 1 is its end."""
        self.latest = printable(self.labels.get(name) or name.rpartition("-")[0])
        if share < 1:
            self.under_way[name, repetition] = share
        else:
            self.under_way.pop((name, repetition), None)
            self.ended += 1

    @property
    def done(self) -> float:
        """How many repetitions are done, with the shares of those under way."""
        return self.ended + sum(self.under_way.values())

    def line(self, now_s: float) -> str:
        """Return where things stand at `now_s`, and how long the rest may take."""
        took_s = now_s - self.started_s
        text = f"{self.done:.3g} of {self.total} repetitions in {span(took_s)}"
        if self.done > 0:
            text += f", {span(took_s / self.done * (self.total - self.done))} left"
        return f"{text}: {self.latest}"


@contextmanager
def progress(
    total: int, labels: Mapping[str, str] | None = None
) -> Iterator[Callable[[str, int, float], None]]:
    """Yield a function to call, from any thread, as `total` repetitions come on.

    It takes a run's name, the number of a repetition and the share of it that is done.
    """
    meter = Meter(total, time.monotonic(), labels or {})
    if console.level() < 0 or not total:
        yield _nothing
    elif sys.stderr.isatty():
        with _bar() as bar:
            yield _on_terminal(bar, meter)
    else:
        with _lines(meter) as step:
            yield step


def span(seconds: float) -> str:
    """Return a length of time as people say it: 5 s, 2 min 5 s, 3 h 2 min."""
    whole = round(seconds)
    minutes, rest_s = divmod(whole, 60)
    hours, rest_min = divmod(minutes, 60)
    if hours:
        return f"{hours} h {rest_min} min"
    return f"{minutes} min {rest_s} s" if minutes else f"{rest_s} s"


def _nothing(_name: str, _repetition: int, _share: float) -> None:
    pass


def _on_terminal(bar: Progress, meter: Meter) -> Callable[[str, int, float], None]:
    task, lock = bar.add_task(meter.latest, total=meter.total), threading.Lock()

    def step(name: str, repetition: int, share: float) -> None:
        with lock:
            meter.advance(name, repetition, share)
            bar.update(task, completed=round(meter.done, 2), description=meter.latest)
        _verbose(name, repetition, share)

    return step


@contextmanager
def _lines(meter: Meter) -> Iterator[Callable[[str, int, float], None]]:
    lock, ended = threading.Lock(), threading.Event()

    def step(name: str, repetition: int, share: float) -> None:
        with lock:
            meter.advance(name, repetition, share)
        _verbose(name, repetition, share)

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


def _verbose(name: str, repetition: int, share: float) -> None:
    if share >= 1:
        console.say(f"{name}: repetition {repetition} done", 1)


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:g}/{task.total:g}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        # Speed is that of the whole job: repetitions of one run end together.
        TimeRemainingColumn(compact=True),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


SILENCE_S = 30.0  # longer, and people look whether the program still lives
