"""What several tests need: a small scenario, and the command line with the engine or a fake one.

The fake engine (`support/fake_child.py`) is for tests of processes: it sleeps or aborts when told
to, and says what it ran. Everything else runs the real one. What several tests import is in
`support`.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
FAKE_CHILD = ROOT / "tests" / "support" / "fake_child.py"
DRIVER = ROOT / "tests" / "support" / "fake_cli.py"
sys.path.append(str(ROOT / "tests"))  # for `from support import ...`: tests are not a package
from support import forked  # noqa: E402

forked.fork_servers()
# Programs of `support` that are started by their path find the packages of these tests, too.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# What whoever runs the tests has set is nothing to them.
for variable in ("POCKETSIM_OUT", "POCKETSIM_JOBS", "POCKETSIM_QUIET"):
    os.environ.pop(variable, None)

# The same code gives the same verdict, on slow machines too; `make test` says how to draw others.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("fresh", deadline=None)
settings.load_profile("repeatable")

# A shell starts background jobs with SIGINT ignored, and children inherit that. A handler here
# makes children start with the default, so that tests can interrupt them wherever they run.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

EVERY_TRANSPORT = ROOT / "tests" / "support" / "every_transport.toml"
SCENARIO = f"""
implementation = "{EVERY_TRANSPORT}"

[run]
seed = 7
duration = "2s"
repetitions = 2

[[devices]]
profile = "moto_g04s"
count = 2
access = "home_wifi"

[network.access.home_wifi]
up = "40Mbps"
down = "40Mbps"
latency = "1.5ms"

[workload]
kind = "paced"
rate = ["4/s", "8/s"]
payload = "100B"

[transport]
mode = "udp"
"""


@pytest.fixture
def scenario_text():
    return SCENARIO


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture
def fake_engine(monkeypatch):
    """Children of this process are forks of tests/support/fake_child.py."""
    monkeypatch.setattr("pocketsim.sim.run.children.SERVER", [sys.executable, str(FAKE_CHILD)])
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return monkeypatch


def command_line(folder, *program, timeout_s=60, anew=False):
    """Return a function that runs a program of Python's in `folder`, in another process.

    That is a fork of one that has loaded everything (`support.forked`), or a Python begun anew.
    """

    def call(*arguments, **variables):
        environment = {**call.environment, **variables}
        if sys.dont_write_bytecode:  # `files_up_to`
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        begin = begun_anew if anew else forked.run
        return begin([*program, *map(str, arguments)], folder, environment, timeout_s)

    call.command = list(program)
    call.environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return call


def begun_anew(command, folder, environment, timeout_s):
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
        timeout=timeout_s,
    )


@contextlib.contextmanager
def files_up_to(most_bytes):
    """Let no file of this process and its children grow larger, as on a disk that is full.

    Nobody may keep compiled modules meanwhile: Python 3.11 does not see that it cut one short.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def limited():
    return files_up_to


@pytest.fixture
def cli(tmp_path):
    return command_line(tmp_path, sys.executable, "-m", "pocketsim.cli")


@pytest.fixture
def fake_cli(tmp_path):
    """Return what `cli` returns, with the fake engine."""
    return command_line(tmp_path, sys.executable, str(DRIVER))
