"""A process that loads libraries once and forks for each job: `python -P -m <this module>`.

SimGrid allows one engine per process, for good, and may abort the process; a fork is a process of
its own and costs milliseconds, where a new Python costs half a second. Three kinds of process live
here, each with one thread, since a fork has only the thread that made it:

* the *server* loads what every job needs, and forks a slot for each socket that it is handed on
  stdin;
* a *slot* takes one job after another from its socket, loads what else such jobs need, forks for
  each, and tells how that ended;
* a *fork* does the job (`sim.run.child`, `sim.run.assembly`) and tells how far it is.

Who asks is gone when its sockets are closed; then all end, each with the one that forked it. The
other end, and what jobs are, is `sim.run.children`'s.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.run import assembly, child

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pocketsim.sim.run.child import Tell
    from pocketsim.sim.scenario.resolved import Resolved

    Perform = Callable[[dict[str, Any], Tell], int]

HEADER_BYTES = 8
"""A job begins with its length, big-endian; a descriptor to say things on comes with that."""


def perform(
    asked: dict[str, Any], tell: Tell, simulate: Callable[[Any, Tell], int] = child.perform
) -> int:
    """Do what is asked, in a fork; return the exit code.

    A run of one repetition is put together by who simulated it: another fork takes as long as that.
    """
    if "job" in asked:
        code = simulate(asked["job"], tell)
        if code or "assembly" not in asked:
            return code
        asked["assembly"]["logs"] = [_said()]
    if "assembly" in asked:
        work = asked["assembly"]
        return assembly.attempt(lambda: assembly.assemble(work), Path(work["target"]))
    work, folder = asked["measure"], Path(asked["measure"]["folder"])
    return assembly.attempt(lambda: assembly.measured(folder, work["resolved"]), folder)


def _said() -> str:
    """Return what this fork has said so far: who asked gave a file to say it in."""
    _flush()
    with contextlib.suppress(OSError):  # code of one's own may have closed it
        return os.pread(2, os.fstat(2).st_size, 0).decode(errors="replace")
    return ""


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # as code of one's own has left it
            stream.flush()


def main(how: Perform = perform) -> int:
    """Fork a slot for each socket that comes on stdin, until nobody is there to send one."""
    parent = os.getppid()
    # A batch system tells every process of a job to end. The parent does that; a fork that took the
    # signal before would look as if it had crashed. Of a handler nothing that a fork runs knows.
    _do_not_take()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    load()
    threads = len(list(Path("/proc/self/task").iterdir()))
    assert threads == 1, (
        f"{threads} threads, of which a fork has one: the others' locks stay locked"
    )
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for slots
    with socket.socket(fileno=os.dup(0)) as control:
        control.settimeout(_PATIENCE_S)
        while True:
            try:
                said, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            except TimeoutError:
                if os.getppid() == parent:
                    continue
                return 0  # though something else that it forked still has its socket
            if not said:
                return 0
            with socket.socket(fileno=descriptors[0]) as asking:
                if _fork(lambda: _slot(asking, how)):
                    continue


def _do_not_take() -> None:
    signal.signal(signal.SIGTERM, lambda *_: None)


def load() -> tuple[object, ...]:
    """Load what each fork would else load anew; what is missing, a fork says."""
    from numpy import random
    from pyarrow import compute, parquet

    from pocketsim.sim import metrics
    from pocketsim.sim.base.build import build_digest

    with contextlib.suppress(ImportError):
        from pocketsim.sim import _engine  # noqa: F401
    loaded = (
        random,
        compute,
        parquet,
        metrics,
        build_digest(),
    )  # what these files are now is what runs
    _freeze()
    return loaded


def load_for(asked: Mapping[str, Any]) -> None:
    """Load what only some jobs need, and takes longer to load than most of them run."""
    job, work = asked.get("job"), asked.get("assembly") or asked.get("measure")
    before = len(sys.modules)
    if job and "networkx" in job["resolved"]["versions"]:
        import networkx as nx  # noqa: F401
    if job and _draws_by_laws(job["resolved"]):
        from scipy import special
    if work and work["resolved"]["run"]["repetitions"] > 1:  # whose means have intervals
        from scipy import optimize, special  # noqa: F401
    if len(sys.modules) > before:
        _freeze()


def _draws_by_laws(resolved: Resolved) -> bool:
    churn = [resolved["churn"], *(group.get("churn") for group in resolved["devices"])]
    is_drawn = any(law is not None and law["kind"] not in ("file", "none") for law in churn)
    return is_drawn or resolved["run"]["draw"] == "posterior"


def _freeze() -> None:
    # Else each fork's collections write to, and so copy, every page of what is loaded.
    gc.collect()
    gc.freeze()


def _slot(asking: socket.socket, how: Perform) -> int:
    """Do one job after another, each in a fork, until nobody asks."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while (taken := _take(asking)) is not None:
        asked, say = taken
        # Where this fails, the fork imports by itself, and says why it cannot.
        with contextlib.suppress(Exception):
            load_for(asked)
        number = _fork(lambda: _job(asked, say, asking, how))  # noqa: B023 - called at once
        os.close(say)
        _, status = os.waitpid(number, 0)
        # What ended may have been in the middle of a line.
        asking.sendall(f"\nended {os.waitstatus_to_exitcode(status)}\n".encode())
    return 0


def _take(asking: socket.socket) -> tuple[dict[str, Any], int] | None:
    """Return the next job and the descriptor to say things on, or None when there is none."""
    header, descriptors, _, _ = socket.recv_fds(asking, HEADER_BYTES, 1)
    if len(header) < HEADER_BYTES:
        return None
    text = bytearray()
    while (left := int.from_bytes(header, "big") - len(text)) > 0:
        part = asking.recv(min(left, 1 << 20))
        if not part:
            return None
        text += part
    return json.loads(text), descriptors[0]


def _job(asked: dict[str, Any], say: int, asking: socket.socket, how: Perform) -> int:
    # What SimGrid or a protocol of the user's prints is no share of the job: it goes into the log.
    os.dup2(say, 1)
    os.dup2(say, 2)
    # Workers of a protocol's own end when it ends them, be it before they have begun.
    os.register_at_fork(
        before=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL),
        after_in_parent=_do_not_take,
    )
    return how(asked, lambda share: asking.sendall(share.line().encode()))


def _fork(work: Callable[[], int]) -> int:
    """Fork, do `work` there and end with its exit code; return the number of the process here."""
    parent = os.getpid()
    number = os.fork()
    if number:
        return number
    # Of the fork nothing may go on: neither what the parent has begun, nor its way out.
    code = 1
    try:
        child.die_with_parent(parent)
        code = work()
    except BaseException:  # noqa: BLE001 - of any kind: it is written down, and the fork ends
        import traceback

        with contextlib.suppress(Exception):
            traceback.print_exc()
    finally:
        _flush()
        os._exit(code)


_PATIENCE_S = 1.0  # how long a parent may be dead whose other children keep its end open

if __name__ == "__main__":
    sys.exit(main())
