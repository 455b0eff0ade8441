"""Programs that the tests in tests/interop build, find and run."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What `cargo test` builds, so that nothing is built twice when all tests run: the same profile, and
# the same features of dependencies, which another choice of packages would change.
BUILD = ["cargo", "test", "--quiet", "--workspace", "--locked", "--no-run"]
PATIENCE_S = 30.0
UNPACKED = ROOT / "build" / "interop"


@functools.cache
def built() -> Path:
    """Build the programs of the workspace; return the folder that they are in."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo to build the probe with")
    subprocess.run(BUILD, cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", "target")
    return ROOT / target / "debug"


@contextmanager
def running(*command: str | Path, **options) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a program until the block ends; give it and the first line of its stdout."""
    with subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        **options,
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGTERM)


def unpacked(name: str) -> str:
    """Return the path of a program of Debian's, installed or in build/interop."""
    folders = [os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]
    folders += [str(UNPACKED / "usr" / kind) for kind in ("bin", "sbin")]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        pytest.skip(f"no {name}: tools/interop.sh fetches it")
    return found


def unpacked_environment() -> dict[str, str]:
    """Return the environment in which programs of build/interop find their libraries."""
    libraries = [*UNPACKED.glob("lib/*-linux-gnu"), *UNPACKED.glob("usr/lib/*-linux-gnu")]
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries))}


def wait_until(condition, what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for something that happens soon; fail with `what` if it does not."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {patience_s} s for {what}"
        time.sleep(0.01)
