"""What the library says through the logger `pocketsim`, and the command with -v."""

import logging
import os
import signal
import subprocess
import sys

import pytest

import pocketsim as ps
from pocketsim.sim.run import children


def said(caplog):
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_runs_begin_and_end_and_are_found_again(scenario, tmp_path, fake_engine, caplog):
    caplog.set_level(logging.DEBUG, "pocketsim")
    (run,) = ps.run(scenario, {"workload.rate": "4/s"}, out=tmp_path)
    at, name = run.directory, run.directory.name
    first, *repetitions, last = said(caplog)
    assert first == ("INFO", f"{at}: begins, 2 x 2 s")
    assert sorted(repetitions) == [("DEBUG", f"{name}: repetition {n} done") for n in (0, 1)]
    assert last[0] == "INFO"
    assert last[1].startswith(f"{at}: done in ")
    caplog.clear()
    ps.run(scenario, {"workload.rate": "4/s"}, out=tmp_path)
    assert said(caplog) == [("INFO", f"{at}: is there already")]


def test_what_to_know_of_a_scenario_is_a_warning_said_once(scenario, tmp_path, fake_engine, caplog):
    changes = {"workload.rate": ["4/s", "8/s"], "devices[0].count": 3}
    ps.run(scenario, changes, out=tmp_path)
    (warning,) = said(caplog)
    assert warning[0] == "WARNING"
    assert f"{scenario}: devices" in warning[1]


def test_that_the_process_that_forks_was_replaced_is_a_warning(fake_engine, caplog):
    with children.Children(1) as some:
        some._slot().close()
        os.kill(some._server.process.pid, signal.SIGKILL)
        some._server.process.wait()
        some._slot().close()
    assert said(caplog) == [("WARNING", "the process that forks ended; another begins")]


@pytest.mark.parametrize(
    ("setup", "hears"), [("", False), ("logging.basicConfig(level='INFO')", True)]
)
def test_a_script_hears_what_it_listens_to(root, scenario, tmp_path, setup, hears):
    server = str(root / "tests" / "support" / "fake_child.py")
    code = (
        f"import logging, sys\n{setup}\nimport pocketsim as ps\n"
        "from pocketsim.sim.run import children\n"
        f"children.SERVER = [sys.executable, {server!r}]\n"
        f"ps.run({str(scenario)!r}, {{'workload.rate': '4/s', 'devices[0].count': 3}})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("INFO:pocketsim:" in done.stderr) == hears
    assert bool(done.stderr) == hears


def test_the_command_says_it_with_v(fake_cli, scenario):
    arguments = ("run", scenario, "--set", "workload.rate=4/s")
    done = fake_cli(*arguments, "-v").stderr
    assert ": begins, 2 x 2 s\n" in done
    assert ": repetition 1 done\n" in done
    assert ": done in " in done
    assert ": is there already\n" in fake_cli("-v", *arguments).stderr
    assert "already" not in fake_cli(*arguments).stderr
