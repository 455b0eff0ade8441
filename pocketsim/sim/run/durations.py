"""How long runs took, for people who plan, and for what is not to be begun before a limit.

Seconds of a shared machine are no result: they lie beside run directories, not in them, no run
depends on them, and the file may be removed.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from pocketsim.sim.base import files
from pocketsim.sim.base.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILE = ".durations.jsonl"


def stopwatch() -> Callable[[], float]:
    """Return what tells how many seconds ago that was."""
    started_s = time.monotonic()
    return lambda: time.monotonic() - started_s


def note(directory: Path, repetitions: int, core_s: float) -> None:
    """Note what a run with so many repetitions took of a core."""
    told = {"scenario": directory.parent.name, "run": directory.name}
    line = json.dumps({**told, "repetitions": repetitions, "core_s": round(core_s, 3)})
    path = directory.parent.parent / FILE
    # Whoever has no room for this has none for a run, which says so.
    with suppress(OSError, ScenarioError):
        descriptor = files.open_plain(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def per_repetition_s(out: Path) -> dict[tuple[str, str], float]:
    """Return the core seconds of a repetition of each run that was noted in a folder of runs."""
    noted = _Noted(out / FILE)
    noted.read()
    return noted.of_run


class Limit:
    """A time at which whatever runs is ended: nothing is begun that would not fit before it.

    For how long a run takes, the notes in its folder of runs are asked, to which other processes
    add: what it took before, or else the longest of its scenario. Where none is noted, it is begun.
    Other scenarios are no measure. For any thread.
    """

    def __init__(
        self, ends_unix_s: float, out: Path, jobs: int, now: Callable[[], float] = time.time
    ) -> None:
        self._ends_unix_s = ends_unix_s
        self._noted = _Noted(out / FILE)
        self._jobs = jobs
        self._now = now
        self._lock = threading.Lock()

    def has_room_for(self, directory: Path, repetitions: int) -> bool:
        """Tell whether a run that is begun now ends before the limit."""
        scenario, run = directory.parent.name, directory.name
        with self._lock:
            self._noted.read()
            alike_s = self._noted.longest.get(scenario, 0.0)
            each_s = self._noted.of_run.get((scenario, run), alike_s)
        expected_s = each_s * repetitions / min(repetitions, self._jobs)
        return self._now() + expected_s * _CAUTION <= self._ends_unix_s


class _Noted:
    """Core seconds per repetition, by scenario and run and the longest by scenario, in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read_bytes = 0
        self.of_run: dict[tuple[str, str], float] = {}
        self.longest: dict[str, float] = {}

    def read(self) -> None:
        """Read the lines that are new and whole."""
        with suppress(OSError, ScenarioError), self._opened() as file:
            file.seek(self._read_bytes)
            content = file.read()
            whole = content.rfind(b"\n") + 1
            self._read_bytes += whole
            for line in content[:whole].splitlines():
                with suppress(ValueError, KeyError, TypeError, ZeroDivisionError):
                    told = json.loads(line)
                    each_s = told["core_s"] / told["repetitions"]
                    scenario = told["scenario"]
                    self.of_run[scenario, told["run"]] = each_s
                    self.longest[scenario] = max(self.longest.get(scenario, 0.0), each_s)

    def _opened(self) -> IO[bytes]:
        return os.fdopen(files.open_plain(self._file, os.O_RDONLY), "rb")


_CAUTION = 1.25  # another node may be slower, and other seeds take longer
