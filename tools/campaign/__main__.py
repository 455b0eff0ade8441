"""`python -m tools.campaign --count 10000`: draw scenarios, run each, say what went wrong.

Scenarios are run one after the other in a process that is made anew when one ends it, or takes too
long; those of fidelity "flow" in forks, since SimGrid runs once in a process. Each that fails is
left as a document in the folder `--out`. Exit code 3 if any failed.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.run.child import die_with_parent
from tools.campaign import checking, drawing

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ROOT = Path(__file__).parents[2]
FORKS = multiprocessing.get_context("fork")
CONTACTS = "phone_a,phone_b,begin_s,end_s\n0,1,0,5\n1,2,0.5,0.6\n0,3,2,40\n2,3,10,11\n0,1,12,70\n"
PRESENCE = """
title = "phones that come and go every few minutes"
never_ratio = 0.1
availability = { p10 = 0.1, p90 = 0.9 }
sessions_per_day = { p10 = 100.0, p90 = 500.0 }
session_s = { p1 = 0.5, p50 = 60.0, p99 = 2000.0 }
gap_s = { p1 = 0.5, p50 = 60.0, p99 = 2000.0 }
session_within = 0.8
gap_within = 0.8
"""


def main() -> int:
    """Run the campaign that the arguments ask for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.campaign", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="scenarios")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of any one")
    parser.add_argument("--out", type=Path, default=Path("build/campaign"), help="folder")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    fates: Counter[str] = Counter()
    failed = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(_Worker(asked)) as worker:
        places = _places(Path(folder))
        for number in range(asked.first, asked.first + asked.count):
            path = Path(folder) / f"{asked.seed}_{number}.toml"
            path.write_text(drawing.toml(drawing.scenario(asked.seed, number, places)))
            name, wrong = worker.fate(path, number)
            fates[name] += 1
            if wrong:
                failed += 1
                left = _leave(path, places, asked.out)
                print(f"{left}: {'; '.join(wrong)}", flush=True)
            path.unlink()
            if (number + 1) % _SAID_EVERY == 0:
                print(f"{number + 1}, {failed} failed", file=sys.stderr, flush=True)
    for name, times in sorted(fates.items()):
        print(f"{times:6} {name}")
    print(f"{asked.count} scenarios of seed {asked.seed}, {failed} failed")
    return _EXIT_FAILED if failed else 0


class _Worker:
    """A process that runs scenarios, and another when that has ended."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._limit_s = asked.limit
        self._process: Any = None
        self._ours: Connection

    def fate(self, path: Path, number: int) -> tuple[str, list[str]]:
        """Return what became of a scenario, and what is wrong."""
        if self._process is None:
            self._ours, theirs = FORKS.Pipe()
            self._process = FORKS.Process(target=_serve, args=(theirs,), daemon=False)
            self._process.start()
            theirs.close()
        self._ours.send((path, number % _TWICE_EVERY == 0))
        if not self._ours.poll(self._limit_s):
            self.close()
            return "hung", [f"did not end within {self._limit_s:g} s"]
        try:
            found: tuple[str, list[str]] = self._ours.recv()
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            self.close()
            return "crashed", [f"its process ended with {code}"]
        return found

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._ours.close()
            self._process = None


def _serve(theirs: Connection) -> None:
    with contextlib.suppress(EOFError):
        while True:
            path, twice = theirs.recv()
            theirs.send(_apart(path) if '"flow"' in path.read_text() else _fate(path, twice=twice))


def _fate(path: Path, *, twice: bool) -> tuple[str, list[str]]:
    try:
        return checking.fate(path, twice=twice)
    except Exception:  # noqa: BLE001 - whatever it is, it is what the campaign looks for
        return "raised", [traceback.format_exc()]


def _apart(path: Path) -> tuple[str, list[str]]:
    """Return the fate of a scenario that is run in a fork of its own."""
    ours, theirs = FORKS.Pipe()
    parent = os.getpid()

    def serve_once() -> None:
        die_with_parent(parent)
        theirs.send(_fate(path, twice=False))

    child = FORKS.Process(target=serve_once)
    child.start()
    theirs.close()
    found: tuple[str, list[str]]
    try:
        found = ours.recv()
    except EOFError:
        child.join()
        found = "crashed", [f"its process ended with {child.exitcode}"]
    child.join()
    return found


def _places(folder: Path) -> dict[str, Path]:
    contacts = folder / "contacts.csv"
    contacts.write_text(CONTACTS)
    presence = folder / "presence.toml"
    presence.write_text(PRESENCE)
    return {
        "implementation": ROOT / "tests" / "support" / "every_transport.toml",
        "class": ROOT / "pocketsim" / "scenarios" / "own_protocol" / "gossip.py",
        "contacts": contacts,
        "presence": presence,
    }


def _leave(path: Path, places: dict[str, Path], out: Path) -> Path:
    """Leave a document where it can be run again, with the files that it may name."""
    text = path.read_text()
    for name in ("contacts", "presence"):
        shutil.copy(places[name], out)
        text = text.replace(str(places[name]), places[name].name)
    left = out / path.name
    left.write_text(text)
    return left


_TWICE_EVERY = 20
_SAID_EVERY = 500
_EXIT_FAILED = 3

if __name__ == "__main__":
    sys.exit(main())
