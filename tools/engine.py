"""Compiles the engine and tells how far that is: `python -m tools.engine`, for `make setup`.

Cargo's own bar needs a terminal and is lost behind what builds a package for Python. What is left
is estimated from the crates that are done and from the share of the time that the engine's own
crate takes, which is optimised as a whole with all that it calls.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from pocketsim.api.progress import span

ROOT = Path(__file__).resolve().parents[1]
ENGINE = "pocketsim-engine"
ENGINE_SHARE = 0.7
"""Of the time of a build from nothing on two cores; measured, tests say nothing of it."""
CRATES = 59
"""Crates of a build from nothing, the engine's own among them; counted."""
EVERY_S = 15.0


@dataclass
class Build:
    """How far a build is that began at `started_s`, by the lines that Cargo wrote."""

    started_s: float
    crates: int = 0
    engine_since_s: float | None = None
    said: deque[str] = field(default_factory=lambda: deque(maxlen=200))

    def take(self, line: str, now_s: float) -> None:
        """Take note of a line of Cargo's at `now_s`."""
        self.said.append(line)
        if match := _COMPILING.match(line):
            self.crates += 1
            if match[1] == ENGINE:
                self.engine_since_s = now_s

    def line(self, now_s: float) -> str:
        """Return how far it is at `now_s`, and how long the rest may take."""
        took_s = now_s - self.started_s
        said = f"engine: {min(self.crates, CRATES)} of {CRATES} crates in {span(took_s)}"
        done = self._done(now_s)
        return said if done is None else f"{said}, some {span(took_s / done * (1 - done))} left"

    def _done(self, now_s: float) -> float | None:
        """Return the share that is done; None where nothing tells how much is left."""
        if self.engine_since_s is None:
            share = (1 - ENGINE_SHARE) * min(1.0, self.crates / CRATES)
            return share if self.crates >= _TELLING else None
        before_s = self.engine_since_s - self.started_s
        if self.crates < _TELLING:  # the others were there
            return None
        whole_s = before_s * ENGINE_SHARE / (1 - ENGINE_SHARE)
        part = (now_s - self.engine_since_s) / whole_s if whole_s else 1.0
        return (1 - ENGINE_SHARE) + ENGINE_SHARE * part if part < 1 else None


def main() -> int:
    """Build, and return the exit code of the build; where it fails, show what it said."""
    maturin = str(Path(sys.executable).with_name("maturin"))
    command = [maturin, "develop", "--release", "--skip-install"]
    build = Build(time.monotonic())
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(build, done))
    teller.start()
    # Whatever environment the user has active, it is this one that is built for.
    others = {key: value for key, value in os.environ.items() if key != "CONDA_PREFIX"}
    environment = {**others, "VIRTUAL_ENV": sys.prefix}
    try:
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            for line in process.stderr:
                build.take(line.rstrip(), time.monotonic())
    finally:
        done.set()
        teller.join()
    if process.returncode:
        sys.stderr.write("\n".join([*build.said, ""]))
    return process.returncode


def _tell(build: Build, done: threading.Event) -> None:
    """Write how far it is now and then: on a terminal in one line."""
    is_terminal = sys.stderr.isatty()
    while not done.wait(1.0 if is_terminal else EVERY_S):
        line = build.line(time.monotonic())
        sys.stderr.write(f"\r\033[K{line}" if is_terminal else f"{line}\n")
        sys.stderr.flush()
    if is_terminal:
        sys.stderr.write("\r\033[K")


_COMPILING = re.compile(r"\s*Compiling (\S+) v")
_TELLING = 10
"""Crates after which a rate says something."""

if __name__ == "__main__":
    sys.exit(main())
