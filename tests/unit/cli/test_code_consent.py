"""Code that a scenario names: never run by a look, and outside its folder after a yes alone."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from pocketsim.sim.scenario.load import load

MARKED = """
from pathlib import Path
from pocketsim.protocol import Protocol

Path({marker!r}).touch()


class Mine(Protocol):
    pass
"""
NAMED = '\n[protocol]\nkind = "python"\nclass = "{file}:Mine"\n'
RUN = ("--set", "run.repetitions=1", "--set", "run.duration=1s")


@pytest.fixture
def marker(tmp_path):
    """A file that is there once the code was run."""
    return tmp_path / "was_run"


@pytest.fixture
def theirs(scenario, tmp_path, marker):
    """A scenario that names code, by the path that is asked for."""

    def call(file):
        folder = tmp_path / "theirs"
        folder.mkdir(exist_ok=True)
        code = (folder / file).resolve()
        code.write_text(MARKED.format(marker=str(marker)))
        text = scenario.read_text().replace('rate = ["4/s", "8/s"]', 'rate = "4/s"')
        path = folder / "theirs.toml"
        path.write_text(text + NAMED.format(file=file))
        return path

    return call


@pytest.mark.parametrize(
    "command",
    [
        ("check", "FILE"),
        ("show", "FILE"),
        ("run", "FILE", "--dry-run"),
    ],
)
@pytest.mark.parametrize("file", ["mine.py", "../elsewhere.py"])
def test_a_look_at_a_scenario_does_not_run_its_code(command, file, theirs, marker, cli):
    path = theirs(file)
    done = cli(*(str(path) if word == "FILE" else word for word in command))
    assert done.returncode == 0, done.stderr
    assert not marker.exists()


@pytest.mark.engine
def test_code_beside_the_scenario_is_run_without_a_question(theirs, marker, cli):
    done = cli("run", str(theirs("mine.py")), *RUN)
    assert done.returncode == 0, done.stderr
    assert marker.exists()


@pytest.mark.engine
def test_code_outside_the_folder_is_refused_where_nobody_can_be_asked(theirs, marker, cli):
    path = theirs("../elsewhere.py")
    done = cli("run", str(path), *RUN)
    assert done.returncode == 2
    assert "theirs.toml: protocol.class: runs " in done.stderr
    assert "outside the scenario's folder; read it, and say --allow-code" in done.stderr
    assert not marker.exists()
    done = cli("run", str(path), *RUN, "--allow-code")
    assert done.returncode == 0, done.stderr
    assert marker.exists()


def test_a_link_out_of_the_folder_leads_outside(theirs, tmp_path):
    path = theirs("../elsewhere.py")
    (path.parent / "mine.py").symlink_to(tmp_path / "elsewhere.py")
    path.write_text(path.read_text().replace("../elsewhere.py", "mine.py"))
    assert load(path).code_outside() == {"protocol.class": tmp_path / "elsewhere.py"}


def test_code_named_on_the_command_line_is_trusted_but_not_in_a_sweep(theirs, tmp_path):
    path = theirs("mine.py")
    theirs("../elsewhere.py")
    path = theirs("mine.py")
    named = "protocol.class=../elsewhere.py:Mine"
    assert not load(path, [named]).code_outside()
    assert load(path, [named], "their_sweep.toml").code_outside()


@pytest.mark.engine
def test_a_sweep_and_its_batch_script_take_the_same_yes(theirs, tmp_path, marker, cli):
    path = theirs("../elsewhere.py")
    sweep = path.with_name("sweep.toml")
    axes = '[axes]\n"workload.rate" = ["4/s"]\n"run.repetitions" = [1]\n"run.duration" = ["1s"]\n'
    sweep.write_text(f'[sweep]\nscenario = "theirs.toml"\n\n{axes}')
    for command in (("run",), ("slurm", "--array", "1")):
        done = cli("sweep", command[0], str(sweep), *command[1:])
        assert done.returncode == 2, done.stdout
        assert "--allow-code" in done.stderr
    assert not marker.exists()
    done = cli("sweep", "slurm", str(sweep), "--array", "1", "--allow-code")
    assert " --allow-code " in done.stdout
    done = cli("sweep", "run", str(sweep), "--allow-code")
    assert done.returncode == 0, done.stderr
    assert marker.exists()


@pytest.mark.engine
@pytest.mark.parametrize(("answer", "code"), [("n\n", 2), ("y\n", 0)])
def test_on_a_terminal_a_yes_is_asked_for_once(answer, code, theirs, tmp_path, marker):
    path = theirs("../elsewhere.py")
    main, terminal = pty.openpty()
    os.write(main, answer.encode())
    command = [sys.executable, "-m", "pocketsim.cli", "run", str(path), *RUN, "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, stdin=terminal, capture_output=True, text=True, check=False
    )
    os.close(main)
    os.close(terminal)
    assert done.returncode == code, done.stderr
    assert done.stderr.count("Run it?") == 1
    assert marker.exists() == (code == 0)
    assert not done.stdout or json.loads(done.stdout)
