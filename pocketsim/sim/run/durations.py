"""How long runs took, for people who plan: what a sweep will take is told from those that ran.

Seconds of a shared machine are no result: they lie beside run directories, not in them, nothing
depends on them, and the file may be removed.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = ".durations.jsonl"


@contextmanager
def taken(directory: Path, repetitions: int, at_a_time: int) -> Iterator[None]:
    """Note what the block, which makes a run with so many repetitions, takes of a core."""
    started_s = time.monotonic()
    yield
    seconds = (time.monotonic() - started_s) * min(repetitions, at_a_time)
    told = {"scenario": directory.parent.name, "run": directory.name}
    line = json.dumps({**told, "repetitions": repetitions, "core_s": round(seconds, 3)})
    # Whoever has no room for this has none for a run, which says so.
    with suppress(OSError), (directory.parent.parent / FILE).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def per_repetition_s(out: Path) -> dict[tuple[str, str], float]:
    """Return the core seconds of a repetition of each run that was noted in a folder of runs."""
    found = {}
    with suppress(OSError):
        for line in (out / FILE).read_text(encoding="utf-8").splitlines():
            with suppress(ValueError, KeyError, TypeError):
                told = json.loads(line)
                place = (told["scenario"], told["run"])
                found[place] = told["core_s"] / told["repetitions"]
    return found
