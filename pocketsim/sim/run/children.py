"""Child processes: at most so many at a time, killed together, each failure explained.

Knows a job only as something to hand to a child; what the files mean is the runner's business.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from pocketsim.sim.base.errors import EngineError, EnvironmentMissingError, NoRoomError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pocketsim.sim.run.job import Job

    Heard = Callable[[float], None]

# A list, so that tests can put a fake engine in its place. -P: what lies in the user's folder, a
# json.py, say, is no module of a child's.
COMMAND = [sys.executable, "-P", "-m", "pocketsim.sim.run.child"]
# A child computes on one core. With numpy's idle threads around, the C library takes locks for
# every allocation, and SimGrid makes so many that the replay takes a sixth longer.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}
EXIT_NO_ROOM = os.EX_CANTCREAT
"""What a child ends with that has no room for its files. Without an engine it ends with 5."""
EXIT_OTHER_DATA = os.EX_DATAERR
"""What a child ends with that finds other data in a file than the run was resolved with."""
EXIT_OTHER_CODE = os.EX_TEMPFAIL
"""What a child ends with whose code is not that which the run was resolved by."""


EXIT_OTHER_DATA = os.EX_DATAERR
"""What a child ends with that finds other data in a file than the run was resolved with."""


class StoppedError(Exception):
    """The children were told to stop; whoever told them reports why."""


class Children:
    """Runs jobs in child processes, `jobs` at a time, from any number of threads."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._slots = threading.BoundedSemaphore(jobs)
        self._lock = threading.Lock()
        self._live: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def run(self, job: Job, keep_failed_in: Path, progress: Heard | None = None) -> str:
        """Run one job to its end and return what it wrote to stderr.

        `progress` gets the shares of the job that the child says are done, from another thread;
        what it raises is raised here, when the child has ended, and it is not called again.
        Raises EngineError when the child crashed (its job is then kept in `keep_failed_in` for
        replay), EnvironmentMissingError when there is no engine, NoRoomError when there is no room
        for what the child writes, UserError when the code or a file of data has changed,
        StoppedError after `stop`.
        """
        with self._slots:
            process, told = self._start()
            # Beside `communicate`, which would keep what the child says until its end.
            failures: list[Exception] = []
            heard = progress or _nothing
            listener = threading.Thread(target=_listen, args=(told, heard, failures), daemon=True)
            listener.start()
            try:
                _, stderr = process.communicate(json.dumps(job))
            finally:
                listener.join()
                with self._lock:
                    self._live.discard(process)
        if self._stopped:
            raise StoppedError
        if failures:
            raise failures[0]
        if process.returncode == EnvironmentMissingError.exit_code:
            raise EnvironmentMissingError(f"{stderr.strip()}\n{_FIX}")
        if process.returncode == EXIT_NO_ROOM:
            raise NoRoomError(stderr.strip().rpartition("\n")[2])
        if process.returncode == EXIT_OTHER_DATA:
            raise UserError(stderr.strip().rpartition("\n")[2])
        if process.returncode == EXIT_OTHER_CODE:
            raise UserError(_CHANGED)
        if process.returncode != 0:
            raise engine_error(process.returncode, stderr, job, keep_failed_in)
        return stderr

    def stop(self) -> None:
        """Kill every child and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._live:
                process.kill()

    def _start(self) -> tuple[subprocess.Popen[str], int]:
        """Start a child; return it and the descriptor on which it tells how far it is."""
        with self._lock:
            if self._stopped:
                raise StoppedError
            told, tell = os.pipe()
            # A session of its own: Ctrl-C reaches the parent alone, which then kills its children.
            try:
                process = subprocess.Popen(
                    COMMAND,
                    env={**os.environ, **ENVIRONMENT},
                    stdin=subprocess.PIPE,
                    stdout=tell,
                    stderr=subprocess.PIPE,
                    text=True,
                    start_new_session=True,
                )
            except BaseException:
                os.close(told)
                raise
            finally:
                os.close(tell)
            self._live.add(process)
            return process, told


def _listen(descriptor: int, progress: Heard, failures: list[Exception]) -> None:
    """Read what a child says until it ends; anything but a number is not for us.

    What `progress` raises goes into `failures`. Reading goes on: a child writes to no closed pipe.
    """
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                share = float(line)
            except ValueError:
                continue
            if not failures:
                try:
                    progress(share)
                except Exception as error:  # noqa: BLE001 - raised again by who waits for the child
                    failures.append(error)


def _nothing(_share: float) -> None:
    pass


def default_jobs() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def engine_error(returncode: int, stderr: str, job: Job, directory: Path) -> EngineError:
    """Return what to say of a child that crashed; its job is kept in `directory` for replay."""
    how = signal.Signals(-returncode).name if returncode < 0 else f"exit code {returncode}"
    rung = job["resolved"]["rung"]
    what = f"repetition {job['repetition']} of {rung} ended with {how}"
    tail = "\n".join(stderr.splitlines()[-_TAIL_LINES:])
    try:
        path = _keep(job, stderr, directory)
    except OSError as error:
        # Of the two failures this one matters less; a full disk may well be the cause of the other.
        return EngineError(what, tail, f"not possible, the job could not be kept ({error})")
    return EngineError(what, tail, f"{shlex.join(COMMAND)} < {shlex.quote(str(path))}")


def _keep(job: Job, stderr: str, directory: Path) -> Path:
    """Write a job, to be run again, and what it said into `directory`; return the job's file."""
    directory = directory.absolute()  # the line that replays it may be pasted anywhere
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"repetition-{job['repetition']}.job.json"
    path.write_text(
        json.dumps({**job, "out_dir": str(directory), "is_replay": True}), encoding="utf-8"
    )
    (directory / f"repetition-{job['repetition']}.stderr.txt").write_text(stderr, encoding="utf-8")
    return path


_TAIL_LINES = 20
_CHANGED = "the code of `sim` changed while this process ran; start it again"
_FIX = "install it again, or run `make setup`; `pocketsim doctor` tells what is missing"
