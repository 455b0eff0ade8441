"""Child processes: at most so many at a time, killed together, each failure explained.

They are forks of one process that loads libraries once (`sim.run.forkserver`). Knows a job only as
something to hand over; what the files mean is the runner's business.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from pocketsim.sim.base import files
from pocketsim.sim.base.errors import (
    EngineError,
    EnvironmentMissingError,
    NoRoomError,
    ProtocolError,
    ScenarioError,
    UserError,
)
from pocketsim.sim.base.log import logger
from pocketsim.sim.run import durations
from pocketsim.sim.run.job import Share, summary_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pocketsim.sim.run.job import Assembly, Job
    from pocketsim.sim.scenario.resolved import Resolved

    Heard = Callable[[Share], None]

# -P: what lies in the user's folder, a json.py, say, is no module of a child's.
COMMAND = (sys.executable, "-P", "-m", "pocketsim.sim.run.child")
"""What replays a job."""
# A list, so that tests can put one with a fake engine in its place.
SERVER = [sys.executable, "-P", "-m", "pocketsim.sim.run.forkserver"]
ENVIRONMENT = {
    # A set in a protocol of one's own has one order, whatever the environment says.
    "PYTHONHASHSEED": "0",
    # A child computes on one core. With numpy's idle threads around, the C library takes locks for
    # every allocation, and SimGrid makes so many that the replay takes a sixth longer.
    "OPENBLAS_NUM_THREADS": "1",
    # An allocator that pyarrow brings along starts a thread when it is loaded, which no fork has.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
PREFERRED = {
    # Phones of a large population are met in no order, so that with small pages the processor would
    # look most of them up in tables that no cache holds. Only glibc from 2.35 on heeds it.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
"""What holds in a child unless the user has set it otherwise."""
REASON = "\x1e"
"""What begins the line in which a child says why it failed, among all that others may say."""
EXIT_NO_ROOM = os.EX_CANTCREAT
"""What a child ends with that has no room for its files. Without an engine, or without the SimGrid
that flows need, it ends with 5."""
EXIT_OTHER_DATA = os.EX_DATAERR
"""What a child ends with that finds other data in a file than the run was resolved with."""
EXIT_PROTOCOL = os.EX_PROTOCOL
"""What a child ends with when a protocol of the user's own fails."""
EXIT_NOT_TOGETHER = os.EX_SOFTWARE
"""What a child ends with that has simulated, and could not put the run together."""
EXIT_OTHER_CODE = os.EX_TEMPFAIL
"""What a child ends with whose code is not that which the run was resolved by."""


class Done(NamedTuple):
    """What a child wrote to stderr, and how many seconds of a core it had."""

    said: str
    core_s: float


class StoppedError(Exception):
    """The children were told to stop; whoever told them reports why."""


class Children:
    """Does jobs in child processes, `jobs` at a time, from any number of threads.

    A context: when it is left, no child is left.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._slots = threading.BoundedSemaphore(jobs)
        self._lock = threading.Lock()
        self._idle: list[_Slot] = []
        self._server: _Server | None = None
        self._stopped = False

    def __enter__(self) -> Self:
        """Return this."""
        return self

    def __exit__(self, *_: object) -> None:
        """End whatever is under way."""
        self.stop()

    def begin(self) -> None:
        """Let the process that forks load its libraries, if it does not yet, and do not wait."""
        with self._lock:
            if self._server is None and not self._stopped:
                self._server = _Server.start()

    def run(
        self,
        job: Job,
        keep_failed_in: Path,
        progress: Heard | None = None,
        assembly: Assembly | None = None,
    ) -> Done:
        """Run one job to its end and return what it wrote to stderr, and how long it took.

        With an `assembly`, it is the only one of its run, which is put together, too.

        `progress` gets the shares of the job that the child says are done; what it raises is raised
        here, when the child has ended, and it is not called again. Raises EngineError when the
        child crashed (its job is then kept in `keep_failed_in` for replay),
        EnvironmentMissingError when there is no engine, NoRoomError when there is no room for what
        the child writes, ProtocolError when a protocol of the user's own fails, UserError when the
        code or a file has changed, StoppedError after `stop`.
        """
        asked = {"job": job} if assembly is None else {"job": job, "assembly": assembly}
        code, said, core_s = self._do(asked, progress or _nothing)
        if code == EnvironmentMissingError.exit_code:
            raise EnvironmentMissingError(said.strip())
        if code == EXIT_NO_ROOM:
            raise NoRoomError(_last_line(said))
        if code == EXIT_OTHER_DATA:
            raise UserError(_last_line(said))
        if code == EXIT_PROTOCOL:
            raise ProtocolError(_last_line(said))
        if code == EXIT_OTHER_CODE:
            raise UserError(_CHANGED)
        if code == EXIT_NOT_TOGETHER:
            raise RuntimeError(f"{_NOT_TOGETHER} ({_how(code)}):\n{said}")
        if code == 0 and not _is_done(job, assembly):
            said += "\nthe process ended before it was done, as if it were"
            raise engine_error(code, said, job, keep_failed_in)
        if code != 0:
            raise engine_error(code, said, job, keep_failed_in)
        return Done(said, core_s)

    def assemble(self, work: Assembly) -> float:
        """Put a run together of what its repetitions left; return how many seconds that took.

        Raises NoRoomError when there is no room for it, EngineError when the child was killed,
        StoppedError after `stop`; anything else is a mistake of ours, with what the child said.
        """
        return self._step({"assembly": work})

    def measure(self, resolved: Resolved, folder: Path) -> None:
        """Write what the repetitions in a folder come to as its metrics.json; raises the same."""
        self._step({"measure": {"resolved": resolved, "folder": str(folder)}})

    def stop(self) -> None:
        """Kill every child and start no more."""
        with self._lock:
            self._stopped = True
            if self._server is not None:
                self._server.end()
            for slot in self._idle:
                slot.close()
            self._idle.clear()

    def _step(self, asked: Mapping[str, Any]) -> float:
        code, said, core_s = self._do(asked, _nothing)
        if code == EXIT_NO_ROOM:
            raise NoRoomError(_last_line(said))
        if code < 0:
            what = f"what put a run together ended with {_how(code)}"
            raise EngineError(what, _tail(said), "start it again")
        if code != 0:
            raise RuntimeError(f"{_NOT_TOGETHER} ({_how(code)}):\n{said}")
        return core_s

    def _do(self, asked: Mapping[str, Any], heard: Heard) -> tuple[int, str, float]:
        """Return the exit code of who did what is asked, what it said, and the seconds it took."""
        with self._slots, tempfile.TemporaryFile() as log:
            taken_s = durations.stopwatch()
            slot = self._slot()
            told = _Listener(heard)
            code = slot.do(json.dumps(asked).encode(), log.fileno(), told)
            with self._lock:
                if self._stopped or code is None:
                    slot.close()
                else:
                    self._idle.append(slot)
                if self._stopped:
                    raise StoppedError
            if told.failure is not None:
                raise told.failure
            if code is None:
                return -signal.SIGKILL, f"{_said(log)}{self._last_words()}", taken_s()
            return code, _said(log), taken_s()

    def _last_words(self) -> str:
        """Return what the process that forks said, if it is that which ended."""
        with self._lock:
            ended = self._server is not None and self._server.has_ended()
            said = _said(self._server.log) if ended and self._server else ""
        return f"\nthe process that forks ended\n{said}"

    def _slot(self) -> _Slot:
        """Return somebody who is idle, or make one."""
        with self._lock:
            if self._stopped:
                raise StoppedError
            if self._server is not None and self._server.has_ended():
                logger.warning("the process that forks ended; another begins")
                self._server.end()
                self._server = None
                for slot in self._idle:  # which ended with it
                    slot.close()
                self._idle.clear()
            if self._idle:
                return self._idle.pop()
            if self._server is None:
                self._server = _Server.start()
            return self._server.slot()


def _socketpair(kind: socket.SocketKind) -> tuple[socket.socket, socket.socket]:
    pair = socket.socketpair(socket.AF_UNIX, kind)
    for end in pair:
        end.settimeout(None)  # whatever `socket.setdefaulttimeout` the user's program called
    return pair


@contextlib.contextmanager
def _deferring(number: signal.Signals) -> Iterator[None]:
    """Let a signal wait, to this thread and to processes that it starts until they let it come."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {number})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def environment() -> dict[str, str]:
    """Return the variables of a process that replays jobs."""
    return {**PREFERRED, **os.environ, **ENVIRONMENT}


class _Server(NamedTuple):
    """The process that forks; `log` has what it says."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    log: IO[bytes]

    @classmethod
    def start(cls) -> _Server:
        ours, theirs = _socketpair(socket.SOCK_SEQPACKET)
        log = tempfile.TemporaryFile()  # noqa: SIM115 - until the server ends
        with theirs, _deferring(signal.SIGTERM):  # until it has its handler
            process = subprocess.Popen(
                SERVER,
                env=environment(),
                stdin=theirs.fileno(),
                stdout=log,
                stderr=log,
                # Ctrl-C reaches the parent alone, which then kills its children.
                start_new_session=True,
            )
        return cls(process, ours, log)

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def slot(self) -> _Slot:
        ours, theirs = _socketpair(socket.SOCK_STREAM)
        # If it ends as we ask, who is to do the first job is told.
        with theirs, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self.control, [b"1"], [theirs.fileno()])
        return _Slot(ours)

    def end(self) -> None:
        # Its forks, and theirs, are killed with it by the kernel (`child.die_with_parent`).
        self.process.kill()
        self.process.wait()
        self.control.close()
        self.log.close()


class _Slot:
    """A process that does one job at a time, each in a fork, at the other end of a socket."""

    def __init__(self, asking: socket.socket) -> None:
        self._asking = asking
        self._lines = asking.makefile("rb")

    def do(self, asked: bytes, log: int, told: _Listener) -> int | None:
        """Return the exit code of who did what is asked; None where all of them are gone.

        Also then nothing runs any more: the socket ends when the last of them does.
        """
        try:
            socket.send_fds(self._asking, [len(asked).to_bytes(8, "big")], [log])
            self._asking.sendall(asked)
            for line in self._lines:
                if line.startswith(_ENDED):
                    return int(line.removeprefix(_ENDED))
                told(line)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return None

    def close(self) -> None:
        self._lines.close()
        self._asking.close()


class _Listener:
    """Hands on what a child tells; what that raises is kept, and nothing handed on after it."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self.failure: Exception | None = None

    def __call__(self, line: bytes) -> None:
        if self.failure is not None or not line.strip():
            return
        try:
            self._heard(Share.read(line))
        except Exception as error:  # noqa: BLE001 - raised again by who waits for the child
            self.failure = error


def _said(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")


def _tail(said: str) -> str:
    return "\n".join(said.splitlines()[-_TAIL_LINES:])


def _is_done(job: Job, assembly: Assembly | None) -> bool:
    """Tell whether what a child leaves is there: code of one's own may end it at any time."""
    if assembly is not None:
        return (Path(assembly["folder"]) / "metrics.json").is_file()
    return summary_path(Path(job["out_dir"]), job["repetition"]).is_file()


def _last_line(said: str) -> str:
    """Return the reason that a child gave; of one that could not mark it, the last line."""
    lines = said.strip("\n").split("\n")  # not `splitlines`, which takes the mark for an end
    marked = [line.removeprefix(REASON) for line in lines if line.startswith(REASON)]
    return (marked or lines)[-1].strip()


def _nothing(_share: float) -> None:
    pass


def engine_error(returncode: int, stderr: str, job: Job, directory: Path) -> EngineError:
    """Return what to say of a child that crashed; its job is kept in `directory` for replay."""
    rung = job["resolved"]["rung"]
    what = f"repetition {job['repetition']} of {rung} ended with {_how(returncode)}"
    return EngineError(what, _tail(stderr), keep(job, stderr, directory))


def keep(job: Job, stderr: str, directory: Path) -> str:
    """Keep a job that failed, and what it said, in `directory`; return the line that replays it."""
    try:
        path = _keep(job, stderr, directory)
    except (OSError, ScenarioError) as error:
        # Of the two failures this one matters less; a full disk may well be the cause of the other.
        return f"not possible, the job could not be kept ({error})"
    return f"{shlex.join(COMMAND)} < {shlex.quote(str(path))}"


def kept(error: EngineError) -> tuple[Job, str] | None:
    """Return the job that an error's line replays, and what it said, if it could be kept."""
    path = Path(shlex.split(error.replay)[-1])
    said = path.with_name(path.name.replace(_JOB, _STDERR))
    try:
        return json.loads(path.read_text(encoding="utf-8")), said.read_text(encoding="utf-8")
    except OSError:
        return None


def _how(returncode: int) -> str:
    return signal.Signals(-returncode).name if returncode < 0 else f"exit code {returncode}"


def _keep(job: Job, stderr: str, directory: Path) -> Path:
    """Write a job, to be run again, and what it said into `directory`; return the job's file."""
    directory = directory.absolute()  # the line that replays it may be pasted anywhere
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"repetition-{job['repetition']}{_JOB}"
    _write(path, json.dumps({**job, "out_dir": str(directory), "is_replay": True}))
    _write(directory / f"repetition-{job['repetition']}{_STDERR}", stderr)
    return path


def _write(path: Path, text: str) -> None:
    descriptor = files.open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


_ENDED = b"ended "
_JOB, _STDERR = ".job.json", ".stderr.txt"
_TAIL_LINES = 20
_NOT_TOGETHER = "a run was not put together"
_CHANGED = "the code of `sim` changed while this process ran; start it again"
