"""What a command writes is there whole, or what was there before still is."""

import contextlib
import errno
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from pocketsim import testing
from pocketsim.cli import app
from pocketsim.cli.ui import output_paths
from pocketsim.sim.base.errors import NoRoomError, ScenarioError
from pocketsim.sim.run import collect

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def run(tmp_path):
    resolved = testing.resolved("a", protocol={"kind": "trustchain"}, churn=None)
    return testing.run_dir(tmp_path / "runs", resolved, testing.Shape())


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, list(map(str, arguments)))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_target_is_replaced_at_the_end(tmp_path):
    target = tmp_path / "new" / "a.csv"
    for text in ("one", "two"):
        with output_paths.replacing(target) as aside:
            aside.write_text(text)
            assert not target.exists() or target.read_text() == "one"
        assert target.read_text() == text
    target.chmod(0o640)
    with output_paths.replacing(target) as aside:
        aside.write_text("three")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert names(target.parent) == ["a.csv"]


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt(), RuntimeError("ours")])
def test_a_failure_leaves_what_was_there(tmp_path, error):
    target = tmp_path / "a.csv"
    target.write_text("old")

    def fail():
        with output_paths.replacing(target) as aside:
            aside.write_text("half of")
            raise error

    with pytest.raises(NoRoomError if error is FULL else type(error)):
        fail()
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a.csv"]


def test_a_link_leads_to_what_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/a.csv")
    with output_paths.replacing(tmp_path / "link") as aside:
        aside.write_text("x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "a.csv").read_text() == "x"


def test_the_longest_name_has_room_beside_it(tmp_path):
    target = tmp_path / ("x" * 255)
    with output_paths.replacing(target) as aside:
        aside.write_text("x")
    assert names(tmp_path) == [target.name]


def test_a_pipe_is_written_to(tmp_path, run, call):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    done = call("export", run, "-o", "pipe")
    reader.join()
    assert (done.exit_code, done.stdout) == (0, "pipe\n")
    assert read == [call("export", run).stdout]
    assert (tmp_path / "pipe").is_fifo()


def test_standard_output_is_accepted_as_a_path(cli, run):
    expected = cli("export", run).stdout
    assert expected
    assert cli("export", run, "-o", "/dev/stdout").stdout == expected


def test_directories_and_broken_links_are_refused_as_targets(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for target, reason in ((tmp_path, "is a directory"), (tmp_path / "loop", "symbolic links")):
        with (
            pytest.raises(ScenarioError, match=f"cannot be written: .*{reason}"),
            output_paths.replacing(target),
        ):
            raise AssertionError("there is nothing to write to")


def test_error_of_another_file_is_not_blamed_on_the_target(tmp_path):
    for target in (tmp_path / "a.csv", tmp_path):
        with pytest.raises(FileNotFoundError), output_paths.writing(target):
            (tmp_path / "other" / "b").read_bytes()


@pytest.mark.parametrize(
    "command", ["report", "csv", "gexf", "json", "graphml", "validate", "calibrate"]
)
def test_a_full_disk_keeps_the_old_file(call, run, tmp_path, root, monkeypatch, limited, command):
    old = tmp_path / ("old.toml" if command == "calibrate" else "old")
    old.write_text("what was there")
    arguments = {
        "report": ["report", run, "-o", old],
        "csv": ["export", run, "-o", old],
        **{form: ["export", run, "--to", form, "-o", old] for form in ("graphml", "gexf", "json")},
        "validate": ["validate", "--subset", "latency", "--report", old],
        "calibrate": [
            *("calibrate", root / "tests/reports/linux_vm.json", "--allow-spoiled"),
            *("--base", "moto_g04s", "--name", "x", "-o", old),
        ],
    }[command]
    if command == "validate":
        from pocketsim.calibration.validate import validation

        result = validation.ValidationResult([], [], (run,))
        monkeypatch.setattr(validation, "validate", lambda *_, **__: result)
    with limited(100):
        done = call(*arguments)
    assert isinstance(done.exception, NoRoomError), done.output
    assert done.exception.exit_code == 5
    assert "file too large" in str(done.exception)
    assert old.read_text() == "what was there"
    assert names(tmp_path) == [old.name, "runs"]


def test_a_full_device_is_one_line_and_exit_5(cli, run):
    done = cli("export", run, "-o", "/dev/full")
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr == "/dev/full: no space left on device\n"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pocketsim.cli", "export", str(run), "--to", "graphml"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=cli.environment,
            check=False,
        )
    assert (done.returncode, done.stderr) == (5, "output: no space left on device\n")


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("/proc/x", "/proc/x: cannot be written: no such file or directory"),
        ("taken", "taken: cannot be written: file exists (taken/small)"),
        ("dangling", "dangling: cannot be written: file exists"),
        ("loop", "loop: cannot be written: too many levels of symbolic links (loop/small)"),
        ("small.toml", "small.toml: cannot be written: not a directory (small.toml/small)"),
        ("\x1b[2J/small.toml/x", "\\x1b[2J/small.toml/x: cannot be written: "),
    ],
)
def test_impossible_run_directory_is_exit_2(fake_cli, scenario, tmp_path, out, said):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / scenario.stem).touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "\x1b[2J").mkdir()
    (tmp_path / "\x1b[2J/small.toml").touch()
    (tmp_path / "sweep.toml").write_text('[sweep]\nscenario = "small.toml"\n')
    before = names(tmp_path)
    for command in (("run", scenario), ("sweep", "run", "sweep.toml")):
        done = fake_cli(*command, "--out", out)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr.startswith(said)
        assert done.stderr.count("\n") == 1
        assert done.stderr.strip().isprintable()
    assert names(tmp_path) == before


class OfThisTestError(RuntimeError):
    """A block fails."""


def remove_what_cannot_be_written(path):
    path.unlink(missing_ok=True)
    raise OfThisTestError


@pytest.mark.parametrize("kind", ["pipe", "socket", "link to a pipe"])
def test_a_library_that_removes_what_it_cannot_write_leaves_whatever_is_no_file(tmp_path, kind):
    target = tmp_path / "target"
    if kind == "socket":
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as bound:
            bound.bind(str(target))
    else:
        os.mkfifo(tmp_path / "pipe")
        target = tmp_path / "pipe"
    if kind == "link to a pipe":
        target = tmp_path / "link"
        target.symlink_to("pipe")
    before = names(tmp_path)
    with pytest.raises(OfThisTestError), output_paths.replacing(target) as aside:
        remove_what_cannot_be_written(aside)
    assert names(tmp_path) == before


def test_a_table_for_a_pipe_that_nobody_reads_on_is_refused_and_the_pipe_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = threading.Thread(target=lambda: os.close(os.open(tmp_path / "pipe", os.O_RDONLY)))
    reader.start()
    table = pa.table({"x": np.random.default_rng(1).random(1 << 17)})

    def write():
        with output_paths.replacing(tmp_path / "pipe") as aside:
            collect.write(table, aside, as_csv=False)

    with pytest.raises(ScenarioError, match="pipe: cannot be written: broken pipe"):
        write()
    reader.join()
    assert (tmp_path / "pipe").is_fifo()


def test_a_socket_is_refused_as_a_target(tmp_path):
    target = tmp_path / "socket"
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as bound:
        bound.bind(str(target))

    def write():
        with output_paths.replacing(target) as aside:
            aside.write_text("x")

    with pytest.raises(ScenarioError, match="socket: cannot be written: no such device"):
        write()
    assert target.is_socket()


def test_a_file_of_the_users_that_has_the_name_of_a_temporary_one_stays(tmp_path):
    theirs = [tmp_path / f"{prefix}{os.getpid()}" for prefix in (".tmp-", ".writing-")]
    for path in theirs:
        path.write_text("theirs")
    with output_paths.replacing(tmp_path / "a.csv") as aside:
        aside.write_text("x")
    assert [path.read_text() for path in theirs] == ["theirs", "theirs"]


def test_output_to_dev_stdout_is_appended(run, tmp_path):
    said = tmp_path / "said.txt"
    said.write_text("before\n")
    command = [sys.executable, "-m", "pocketsim.cli", "export", str(run), "-o", "/dev/stdout"]
    with said.open("a") as file:
        subprocess.run(command, stdout=file, check=True)
    assert said.read_text().startswith('before\n"operation","timestamp"')


def test_a_journal_is_kept_beside_a_file_alone(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ScenarioError, match="pipe: is no file, and a journal"):
        output_paths.journal_of(tmp_path / "pipe")
    assert output_paths.journal_of(tmp_path / "new.toml") == tmp_path / "new.journal"
