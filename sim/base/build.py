"""Which build made a result: a digest over everything in the package that shapes a run.

The version alone would let a run directory recorded before a change pass for one after it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import subprocess
from pathlib import Path

import sim

_PACKAGE = Path(sim.__file__).parent
NOT_OF_A_RUN = (
    *("export", "devices/contents.py", "run/collect.py", "run/forks.py", "run/sweep.py"),
    *("scenario/schema.py", "scenario/warnings.py"),
)
"""What of the package no run can tell; all else is what the runner and its children import."""


@functools.cache
def build_digest() -> str:
    """Return twelve hex digits over what can change a run: its sources and the compiled engine."""
    digest = hashlib.sha256()
    for path in sources():
        name = path.relative_to(_PACKAGE).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes())
    engine = engine_file()
    digest.update(engine.read_bytes() if engine else b"no engine")
    return digest.hexdigest()[:12]


def sources() -> list[Path]:
    """Return the Python files that a run depends on, sorted."""
    left_out = [_PACKAGE / name for name in NOT_OF_A_RUN]
    return sorted(
        path
        for path in _PACKAGE.rglob("*.py")
        if not any(path.is_relative_to(out) for out in left_out)
    )


def engine_file() -> Path | None:
    """Return the compiled engine's file without loading it, or None when it is not built."""
    spec = importlib.util.find_spec("sim._engine")
    return Path(spec.origin) if spec and spec.origin else None


def git_commit() -> str | None:
    """Return the commit of the source tree ("-dirty" when changed), or None outside of one."""
    command = ["git", "-C", str(_PACKAGE), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None
