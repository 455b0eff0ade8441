"""Which build made a result: a digest over everything in the package that shapes a run.

The version alone would let a run directory recorded before a change pass for one after it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from pathlib import Path

from pocketsim import sim
from pocketsim.sim.base.engine_facts import SIMGRID

_PACKAGE = Path(sim.__file__).parent
NOT_OF_A_RUN = (
    *("base/designs.py", "export", "importing", "devices/contents.py", "devices/numbers.py"),
    *("devices/lint.py", "devices/ratios.py"),
    *("metrics/reference.py", "run/csv_cells.py", "run/collect.py"),
    *("run/ask_simgrid.py", "run/core_sites.py"),
    *(
        "run/forks.py",
        "run/dask_backend.py",
        "run/store.py",
        "run/sweep.py",
        "run/sweep_document.py",
    ),
    "run/stopping_rule.py",
    *("scenario/schema.py", "scenario/shipped.py", "scenario/warnings.py"),
)
"""What of the package no run can tell; all else is what the runner and its children import."""
LIBRARIES = ("numpy", "scipy")
"""Whose version may change what is drawn or computed."""


@functools.cache
def build_digest() -> str:
    """Return twelve hex digits over what can change a run: its sources and the compiled engine."""
    digest = hashlib.sha256()
    for path in sources():
        name = path.relative_to(_PACKAGE).as_posix()
        digest.update(name.encode() + b"\0" + path.read_bytes())
    digest.update((_PACKAGE / "devices/transport_options.json").read_bytes())
    engine = engine_file()
    if engine is None:
        digest.update(b"no engine")
    else:
        with engine.open("rb") as file:  # in parts: it is tens of megabytes
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()[:12]


def versions(*more: str, simgrid: bool = False) -> dict[str, str]:
    """Return what can change a run: this package, its build, and libraries that draw or replay.

    `more` are such libraries of some runs alone, as SimGrid is of runs with flows. A library that
    is not there is "missing".
    """
    return {
        "pocketsim": sim.__version__,
        "build": build_digest(),
        **{name: _version(name) for name in (*LIBRARIES, *more)},
        **({"simgrid": SIMGRID} if simgrid else {}),
    }


def sources() -> list[Path]:
    """Return the Python files that a run depends on, sorted."""
    left_out = tuple(f"{_PACKAGE / name}" for name in NOT_OF_A_RUN)
    folders = tuple(f"{name}/" for name in left_out)
    return sorted(
        path
        for path in _PACKAGE.rglob("*.py")
        if str(path) not in left_out and not str(path).startswith(folders)
    )


def engine_file() -> Path | None:
    """Return the compiled engine's file without loading it, or None when it is not built."""
    spec = importlib.util.find_spec("pocketsim.sim._engine")
    return Path(spec.origin) if spec and spec.origin else None


def simgrid_file() -> Path:
    """Return the library that loads SimGrid for the engine, be it there or not."""
    return _PACKAGE / "_simgrid.so"


@functools.cache
def git_commit() -> str | None:
    """Return the commit of the source tree ("-dirty" when changed), or None outside of one.

    That of the code of this process: it is asked for once.
    """
    # An environment may lie in the repository of something else, which has no file of ours.
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    return _git("describe", "--always", "--dirty", "--abbrev=40")


def _git(*arguments: str) -> str | None:
    """Return what git says of the package's folder, or None where it fails or says nothing."""
    import subprocess

    command = ["git", "-C", str(_PACKAGE), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return (done.stdout.strip() or None) if done.returncode == 0 else None


@functools.cache
def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"
