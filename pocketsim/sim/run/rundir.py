"""Run directories: built aside, renamed into place last, one writer at a time.

That a run directory is there means that it is complete; this is what makes a killed sweep
resumable. What is in the files does not matter here (`sim.run.results` reads them).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import time
from typing import TYPE_CHECKING

from pocketsim.sim.base import files
from pocketsim.sim.base.errors import RunInProgressError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVENTS = "events.parquet"
FILES = (
    "scenario.toml",
    "resolved.json",
    "manifest.json",
    "metrics.json",
    EVENTS,
    "log.txt",
)
TOKENS, BLOCKS, TIMELINE = "tokens.parquet", "blocks.parquet", "timeline.parquet"
MAP = "map.parquet"
"""Beside `FILES` where the scenario asks for it."""
PHONES = "phones.csv"
"""Beside `FILES` where files of the scenario call people by ids: who is which phone."""
HISTOGRAMS = "histograms.parquet"
"""Instead of `EVENTS` in a run that keeps none."""


@contextlib.contextmanager
def lock(target: Path) -> Iterator[None]:
    """Hold the lock of run directory `target`, or raise RunInProgressError at once.

    Raises ScenarioError where the file system has no locks: two processes would not see each other;
    and where the lock's file is a link or no plain file, which is somebody else's.
    The lock is the kernel's, on a file beside the directory, so it goes with its process.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    path = _lock_path(target)
    descriptor = _open_locked(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


@contextlib.contextmanager
def building(target: Path, scratch: Path | None = None) -> Iterator[Path]:
    """Yield a folder that becomes `target` when the block ends well and vanishes when not.

    With `scratch` it lies there, and is copied in the end. The caller holds `lock(target)`.
    """
    with files.aside(target, scratch) as built:
        yield built
        with files.aside(target) if scratch else contextlib.nullcontext(built) as aside:
            if scratch:
                shutil.copytree(built, aside, dirs_exist_ok=True)
            for path in (*aside.iterdir(), aside):
                files.flush(path)
            aside.rename(target)
            files.flush(target.parent)


def sweep_stale(folder: Path) -> None:
    """Remove what killed processes left in `folder`: unfinished directories that nobody locks."""
    for aside in sorted(folder.glob(f"{files.ASIDE}*")):
        name = aside.name.removeprefix(files.ASIDE).partition("-")[2]
        with contextlib.suppress(RunInProgressError), lock(folder / name):
            shutil.rmtree(aside, ignore_errors=True)


def is_run(folder: Path) -> bool:
    """Return whether a folder has what makes it a run."""
    has = {name for name in (*_NEEDED, EVENTS, HISTOGRAMS) if (folder / name).is_file()}
    return has >= set(_NEEDED) and not has.isdisjoint({EVENTS, HISTOGRAMS})


def runs_in(folder: Path) -> list[Path]:
    """Return the folder if it is a finished run, or those in a scenario's folder, or in several."""
    several = [folder] if is_run(folder) else [*folder.glob("*"), *folder.glob("*/*")]
    # Hidden ones are still being built.
    return sorted(path for path in several if not path.name.startswith(".") and is_run(path))


def is_complete(target: Path) -> bool:
    """Tell whether the run is there."""
    return target.is_dir()


def is_held(target: Path) -> bool:
    """Tell whether a process has the lock of run directory `target`."""
    try:
        descriptor = files.open_plain(_lock_path(target), os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError, ScenarioError):
        return False
    try:
        # Shared, so that processes which only ask do not stand in each other's way.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return is_of_another(error)
    finally:
        os.close(descriptor)
    return False


def is_of_another(error: OSError) -> bool:
    """Tell whether a lock was refused because another process has it."""
    return error.errno in _HELD


def without_locks(folder: Path, error: OSError) -> ScenarioError:
    """Return what to say where a lock was refused because `folder` has none."""
    reason = f"no locks on this file system ({os.strerror(error.errno or 0).lower()})"
    return ScenarioError(folder, "", f"{reason}; {_WITH_LOCKS}")


def failed_folder(target: Path) -> Path:
    """Return where the jobs of crashed children of this run are kept."""
    return target.parent / f".failed-{target.name}"


def _lock_path(target: Path) -> Path:
    return target.parent / f"{_LOCK}{target.name}"


def _open_locked(path: Path) -> int:
    while True:
        descriptor = files.open_plain(path, os.O_RDWR | os.O_CREAT)
        try:
            _take(descriptor)
        except OSError as error:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            if not is_of_another(error):
                path.unlink()
                raise without_locks(path.parent, error) from None
            name = path.name.removeprefix(_LOCK)
            raise RunInProgressError(f"{name} is being run by process {holder}") from None
        # Its last holder may have removed the file between our open and our lock.
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode())
                return descriptor
        os.close(descriptor)


def _take(descriptor: int) -> None:
    """Take the lock; raises OSError where a run has it, and waits for who only asks (`is_held`)."""
    for _ in range(_TRIES):
        with contextlib.suppress(BlockingIOError, PermissionError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        # Runs do not share: this fails if it is one. Given back, as two who wait would else share.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        time.sleep(_PAUSE_S)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


_NEEDED = ("metrics.json", "resolved.json")
_HELD = (errno.EWOULDBLOCK, errno.EACCES)  # flock(2), and where a network file system uses fcntl(2)
_TRIES, _PAUSE_S = 1000, 0.001  # to ask takes microseconds, unless who asks is stopped meanwhile
_WITH_LOCKS = "choose a folder on one that has them (--out)"
_LOCK = ".lock-"
