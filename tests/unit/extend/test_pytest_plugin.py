"""The fixtures that pytest has wherever pocketsim is installed."""

import os
import subprocess
import sys
import tomllib

import pytest

TESTS = """
from pathlib import Path

from pocketsim import load, testing
from pocketsim.protocol import Deliver, Protocol, Send


class Greeter(Protocol):
    def command(self, request, now_s):
        yield Send(request.peer, b"hello")

    def receive(self, sender, message, now_s):
        yield Deliver(message)


def test_a_protocol(pocketsim_harness):
    phones = pocketsim_harness(Greeter, phones=2, delay_s=0.02)
    phones.command(0, peer=1)
    phones.run(until_s=1.0)
    assert [said.output.value for said in phones.said(Deliver)] == [b"hello"]


def test_a_reader(pocketsim_run, tmp_path):
    (run,) = load(pocketsim_run())
    assert run.values("success_ratio") == [1.0] * 5
    other = pocketsim_run(testing.resolved("other", repetitions=1), testing.Shape(lost_ratio=1.0))
    assert other.is_relative_to(tmp_path)
    assert load(other)[0].values("success_ratio") == [0.0]
"""
HEAVY = ("numpy", "pandas", "pyarrow", "pydantic", "pocketsim.sim.base.errors")


@pytest.fixture
def installed(root, tmp_path):
    """What an installation has that a checkout has not: metadata with the entry points."""
    points = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [f"{name} = {module}" for name, module in points["pytest11"].items()]
    folder = tmp_path / "site" / "pocketsim-0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pocketsim\nVersion: 0\n")
    (folder / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    (folder / "RECORD").write_text("pocketsim/__init__.py,,\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder.parent), str(root)])}


def run(tmp_path, env, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", *arguments]
    return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)  # noqa: PLW1510


def test_tests_of_other_projects_have_the_fixtures(installed, tmp_path):
    (tmp_path / "test_theirs.py").write_text(TESTS)
    done = run(tmp_path, installed)
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout


def test_pytest_lists_what_the_fixtures_are(installed, tmp_path):
    said = run(tmp_path, installed, "--fixtures").stdout
    assert "pocketsim_harness" in said
    assert "Return what writes an invented run" in said


def test_at_the_start_of_pytest_nothing_heavy_is_loaded(installed, tmp_path):
    (tmp_path / "test_empty.py").write_text(
        f"import sys\n\ndef test_start():\n    loaded = set(sys.modules)\n"
        f"    assert 'pocketsim.extend.pytest_plugin' in loaded\n"
        f"    assert not loaded & set({HEAVY!r})\n"
    )
    # Others' plugins may load what they like.
    done = run(tmp_path, installed, "-p", "no:hypothesispytest", "-p", "no:xdist")
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
