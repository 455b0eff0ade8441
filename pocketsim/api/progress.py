"""How far runs are, for people: a bar on a terminal or in a notebook.

Repetitions tell the share of them that is done, with their events and simulated seconds; what is
left is estimated from what is done. Only wall time is looked at here, and only for people.
"""

from __future__ import annotations

import builtins
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pocketsim.sim.base import defaults
from pocketsim.sim.base.errors import printable
from pocketsim.sim.run.job import Share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.progress import Progress


@dataclass
class Meter:
    """Repetitions that have ended and those under way, of `total`, since `started_s`.

    Events and simulated seconds of those that have ended are what was last told of them.

    `labels` say in words which run a name is; others are called by their rung.
    """

    total: int
    started_s: float
    labels: Mapping[str, str] = field(default_factory=dict)
    ended: int = 0
    under_way: dict[tuple[str, int], float] = field(default_factory=dict)
    ended_events: int = 0
    ended_simulated_s: float = 0.0
    latest: str = "starting"

    def advance(self, name: str, repetition: int, share: float) -> None:
        """Take note that `share` of a repetition of run `name` is done; 1 is its end."""
        self.latest = printable(self.labels.get(name) or name.rpartition("-")[0])
        if share < 1:
            self.under_way[name, repetition] = share
        else:
            last = self.under_way.pop((name, repetition), None)
            self.ended += 1
            if isinstance(last, Share):
                self.ended_events += last.events
                self.ended_simulated_s += last.simulated_s

    @classmethod
    def of(cls, total: int, labels: Mapping[str, str] | None = None) -> Meter:
        """Return one that starts now."""
        return cls(total, time.monotonic(), labels or {})

    @property
    def done(self) -> float:
        """How many repetitions are done, with the shares of those under way."""
        return self.ended + sum(self.under_way.values())

    def line(self, now_s: float) -> str:
        """Return where things stand at `now_s`, and how long the rest may take."""
        took_s = now_s - self.started_s
        done = f"{self.done:.2g}" if self.total < _MANY else f"{self.done:.0f}"
        text = f"{done} of {self.total} repetitions in {span(took_s)}"
        if self.done > 0:
            text += f", {span(took_s / self.done * (self.total - self.done))} left"
        if speed := self.speed(now_s):
            text += f", {speed}"
        return f"{text}: {self.latest}"

    def speed(self, now_s: float) -> str:
        """Return events and simulated seconds for a second until `now_s`, of all together."""
        # What is made elsewhere tells its end only.
        known = [share for share in self.under_way.values() if isinstance(share, Share)]
        events = self.ended_events + sum(share.events for share in known)
        simulated_s = self.ended_simulated_s + sum(share.simulated_s for share in known)
        took_s = now_s - self.started_s
        if not simulated_s or took_s <= 0:
            return ""
        return f"{short(events / took_s)} events/s, {short(simulated_s / took_s)} simulated s/s"


@contextmanager
def bar(meter: Meter) -> Iterator[Callable[[str, int, float], None]]:
    """Yield a function to call, from any thread, as repetitions come on; it moves a bar.

    It takes a run's name, the number of a repetition and the share of it that is done.
    """
    lock = threading.Lock()
    with _drawn() as drawn:
        task = drawn.add_task(meter.latest, total=meter.total, speed="")

        def step(name: str, repetition: int, share: float) -> None:
            with lock:
                meter.advance(name, repetition, share)
                drawn.update(
                    task,
                    completed=round(meter.done, 2),
                    description=meter.latest,
                    speed=meter.speed(time.monotonic()),
                )

        yield step


def is_watched() -> bool:
    """Return whether somebody may see a bar, and wants one: on a terminal, or in a notebook."""
    return not defaults.is_quiet() and (sys.stderr.isatty() or _is_notebook())


def span(seconds: float) -> str:
    """Return a length of time as people say it: 5 s, 2 min 5 s, 3 h 2 min."""
    whole = round(seconds)
    minutes, rest_s = divmod(whole, 60)
    hours, rest_min = divmod(minutes, 60)
    if hours:
        return f"{hours} h {rest_min} min"
    return f"{minutes} min {rest_s} s" if minutes else f"{rest_s} s"


def short(value: float) -> str:
    """Return a rate with two digits, as people say it: 0.5, 42, 340 thousand, 1.2 million."""
    for least, word in _WORDS:
        if value >= least:
            return f"{float(f'{value / least:.2g}'):g}{word}"
    return f"{value:.2g}"


def _drawn() -> Progress:
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
        TextColumn("{task.fields[speed]}"),
    )
    return Progress(*columns, console=Console(stderr=not _is_notebook()), transient=True)


def _is_notebook() -> bool:
    # As rich finds it out: who runs cells has put this function among Python's own.
    shell = getattr(builtins, "get_ipython", None)
    return shell is not None and type(shell()).__name__ == "ZMQInteractiveShell"


_MANY = 10  # repetitions of which shares are not told
# A rate of 999.6 thousand is a million in two digits.
_WORDS = ((999_500.0, " million"), (999.5, " thousand"), (1.0, ""))
