"""Python programs as forks of a process that has loaded what they import.

A test of a command needs a process of its own: its output, folder, variables and exit code. What a
new Python spends on imports, a second or more for each, says nothing, so a test's programs are
forked from one process per worker of pytest that has them. `popen` takes the place of
`subprocess.Popen` where a program is Python's; the fork ends as Python does. The forks' own engine
servers are such forks, too. Tests in which the start itself counts begin a Python of their own.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER_BYTES = 8
"""A request begins with its length, big-endian; the three standard streams come with that."""


class Forked:
    """A program under way, as `subprocess.Popen` has it."""

    def __init__(self, asking: socket.socket, args: list[str]) -> None:
        self.args = args
        self.returncode: int | None = None
        self._asking = asking
        self._lines = asking.makefile("rb")
        self.pid = int(self._lines.readline())

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._asking], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._asking], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = int(self._lines.readline())
            self._lines.close()
            self._asking.close()
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def popen(
    args, *, env=None, stdin=None, stdout=None, stderr=None, cwd=None, start_new_session=False
) -> Forked:
    """Begin a program of Python's; streams are files or descriptors, by default this process's."""
    streams = [stdin, stdout, stderr]
    numbers = [
        number if stream is None else _number(stream) for number, stream in enumerate(streams)
    ]
    asked = {
        "args": list(map(str, args[1:])),
        "env": {
            key: os.fsdecode(text) for key, text in (os.environ if env is None else env).items()
        },
        "cwd": str(cwd or Path.cwd()),
        "limits": {limit: resource.getrlimit(limit) for limit in _LIMITS},
        "masked": list(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "session": start_new_session,
    }
    text = json.dumps(asked).encode()
    asking = socket.socket(socket.AF_UNIX)
    asking.settimeout(None)
    with _STARTING:
        address = _address()
    asking.connect(address)
    socket.send_fds(asking, [len(text).to_bytes(HEADER_BYTES, "big")], numbers)
    asking.sendall(text)
    return Forked(asking, list(args))


def run(args, cwd, env, timeout_s) -> subprocess.CompletedProcess[str]:
    """Run a program of Python's to its end and return what it said."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        program = popen(args, cwd=cwd, env=env, stdin=_NOTHING, stdout=out, stderr=err)
        try:
            program.wait(timeout_s)
        except subprocess.TimeoutExpired:
            program.kill()
            raise
        return subprocess.CompletedProcess(args, program.returncode, _said(out), _said(err))


def _said(file) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


def _number(stream) -> int:
    return stream if isinstance(stream, int) else stream.fileno()


def fork_servers() -> None:
    """Let the engine's servers that this process starts be such forks."""
    from pocketsim.sim.run import children

    children.subprocess = types.SimpleNamespace(Popen=popen)


@functools.cache
def _address() -> str:
    """Return where the process is asked that has loaded everything; start it if there is none."""
    if __name__ == "__main__":
        return _ARGUMENTS[1]
    folder = tempfile.TemporaryDirectory(prefix="forked-")
    address = f"{folder.name}/socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(128)
        server = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__)), address],
            env={**os.environ, **_ENVIRONMENT},
            stdin=listening.fileno(),
        )

    @atexit.register
    def end() -> None:
        server.kill()
        server.wait()
        folder.cleanup()

    return address


def serve():
    """Fork for each who asks; return, in a fork, what it is to run."""
    from pocketsim.sim.base.build import build_digest

    parent = os.getppid()
    for module in _LOADED:
        importlib.import_module(module)
    build_digest()
    gc.collect()
    gc.freeze()  # else each fork's collections write to, and so copy, every page of what is loaded
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork has one thread"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listening = socket.socket(fileno=os.dup(0))
    listening.settimeout(_PATIENCE_S)
    while True:
        try:
            asking, _ = listening.accept()
        except TimeoutError:
            # Linux can tell the end of the thread alone that began it, which may end long before.
            if os.getppid() != parent:
                os._exit(0)
            continue
        if os.fork() == 0:
            listening.close()
            return _forked(asking)
        asking.close()


def _forked(asking: socket.socket):
    """Fork what is asked for and tell how it ends; return, in the fork, what it is to run."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    header, streams, _, _ = socket.recv_fds(asking, HEADER_BYTES, 3)
    text = b""
    while len(text) < int.from_bytes(header, "big"):
        text += asking.recv(1 << 20)
    asked = json.loads(text)
    number = os.fork()
    if number == 0:
        asking.close()
        return functools.partial(_program, asked, streams)
    for stream in streams:
        os.close(stream)
    asking.sendall(f"{number}\n".encode())
    _, status = os.waitpid(number, 0)
    asking.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _program(asked, streams) -> None:
    """Become the program: at its end, the interpreter ends as it does."""
    if asked["session"]:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        if stream > 2:
            os.close(stream)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    for limit, values in asked["limits"].items():
        resource.setrlimit(int(limit), values)
    signal.pthread_sigmask(signal.SIG_SETMASK, asked["masked"])
    fork_servers()
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    time.tzset()
    tempfile.tempdir = None
    arguments = asked["args"]
    safe = arguments[0] == "-P"
    arguments = arguments[safe:]
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [path for path in paths if path not in sys.path]
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        if not safe:
            sys.path.insert(0, asked["cwd"])
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        if not safe:
            sys.path.insert(0, str(Path(arguments[0]).parent))
        runpy.run_path(arguments[0], run_name="__main__")


_ARGUMENTS = list(sys.argv)
_STARTING = threading.Lock()
_PATIENCE_S = 1.0  # how long who asks may be gone before that is seen
_NOTHING = os.open(os.devnull, os.O_RDONLY)
_LIMITS = (resource.RLIMIT_FSIZE, resource.RLIMIT_AS, resource.RLIMIT_NOFILE)
_ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    # As in an engine's server, `sim.run.children`.
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
_LOADED = (
    "numpy",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyarrow.csv",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "plotly.graph_objects",
    "pocketsim.cli",
    "pocketsim.api",
    "pocketsim.report",
    "pocketsim.sim.metrics",
    "pocketsim.sim.scenario",
    "pocketsim.sim.run.assembly",
    "pocketsim.sim.run.child",
    "pocketsim.sim._engine",
)

if __name__ == "__main__":
    serve()()
