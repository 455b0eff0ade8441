"""What several tests need: scenario texts, a fake engine in a real child process, fake metrics."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FAKE_CHILD = ROOT / "tests" / "fake_child.py"
DRIVER = ROOT / "tests" / "fake_cli.py"
sys.path.append(str(ROOT / "tests"))  # for `import engine_plans`: tests are not a package

SCENARIO = """
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


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def fake_engine(monkeypatch):
    """Children run tests/fake_child.py, and metrics count rows; both are set for this process."""
    monkeypatch.setattr("sim.children.COMMAND", [sys.executable, str(FAKE_CHILD)])
    metrics = types.ModuleType("sim.metrics")
    metrics.compute = lambda table, resolved: {"rung": resolved["rung"], "rows": table.num_rows}
    monkeypatch.setitem(sys.modules, "sim.metrics", metrics)
    monkeypatch.setattr("sim.metrics", metrics, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return monkeypatch


@pytest.fixture
def cli(tmp_path):
    """Return a function that runs the command line, with the fake engine, in another process."""

    def call(*arguments, **variables):
        return subprocess.run(
            [sys.executable, str(DRIVER), *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
            check=False,
            timeout=60,
        )

    call.command = [sys.executable, str(DRIVER)]
    call.environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return call
