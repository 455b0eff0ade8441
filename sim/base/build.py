"""Which build made a result: a digest over everything in the package that shapes a run.

The version alone would let a run directory recorded before a change pass for one after it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import subprocess
from pathlib import Path

import calibration
import sim

_PACKAGE = Path(sim.__file__).parent


@functools.cache
def build_digest() -> str:
    """Return twelve hex digits over the package's sources and the compiled engine."""
    digest = hashlib.sha256()
    profiles = [Path(calibration.__file__).with_name(name) for name in ("draws.py", "profile.py")]
    sources = [*_PACKAGE.rglob("*.py"), *profiles]
    for path in sorted(source for source in sources if not _is_front(source)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    engine = engine_file()
    digest.update(engine.read_bytes() if engine else b"no engine")
    return digest.hexdigest()[:12]


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


def _is_front(path: Path) -> bool:
    """Tell whether a source only talks to the user or presents results."""
    return any(path.is_relative_to(_PACKAGE / name) for name in ("cli", "report"))
