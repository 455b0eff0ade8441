"""What the tests of the Android builds have in common: where things lie, and the harness."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tools.android.environment import BUILD

QEMU = ["qemu-aarch64", "-L", str(BUILD / "musl")]
# For anything that is awaited: emulated, on a busy machine. Only a hopeless test waits that long.
LIMIT_S = 120.0


class Harness:
    """The app's library in an emulated process; each call is a line there and a line back."""

    def __init__(self) -> None:
        command = [*QEMU, str(BUILD / "harness"), str(BUILD / "libprobe.so")]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def call(self, method: str, argument: object) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{method} {argument}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        assert answer, f"the process ended with {self.process.poll()}"
        return answer

    def start(self, **request: Any) -> int:
        answer = self.call("start", json.dumps(request))
        assert answer.startswith("ok "), answer
        return int(answer[3:])

    def status(self, handle: int) -> dict[str, Any]:
        return json.loads(self.call("statusOf", handle)[3:])

    def report(self, handle: int) -> dict[str, Any]:
        return json.loads(self.call("reportOf", handle)[3:])

    def until(self, handle: int, ready: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + LIMIT_S
        while not ready(status := self.status(handle)):
            assert time.monotonic() < deadline, status
            time.sleep(0.05)
        return status

    def end(self, handle: int) -> dict[str, Any]:
        return self.until(handle, lambda status: status["stage"] in {"finished", "failed"})

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(timeout=LIMIT_S)
        self.process.stdout.close()
        return code


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness()
    yield harness
    if harness.process.poll() is None:
        assert harness.close() == 0
