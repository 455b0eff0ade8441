"""`pocketsim notebooks`: what it copies, and that it overwrites nothing of anybody's."""

import importlib.util
import shlex
import subprocess
import sys

import pytest

from pocketsim.api.documents import catalog
from pocketsim.cli.documents import notebooks

FIRST = "00_question_to_figure.ipynb"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def shipped():
    return {path.name: path.read_bytes() for path in catalog.notebooks()}


def test_they_are_copied_with_their_data(cli, tmp_path, shipped):
    done = cli("notebooks", "a course")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "a course") == shipped
    assert FIRST in shipped
    assert {"loopback_report.json", "loopback_trade.jsonl"} <= set(shipped)
    assert done.stdout.splitlines() == [f"a course/{name}" for name in shipped]
    *_, last = done.stderr.splitlines()
    assert last.startswith("next: ")
    assert last.endswith(" -m jupyterlab 'a course'")


@pytest.fixture
def modules(monkeypatch):
    """Return a function that says which modules are missing here."""

    def call(*missing):
        def find_spec(name):
            return None if name in missing else object()

        monkeypatch.setattr(notebooks.importlib.util, "find_spec", find_spec)

    return call


def test_what_comes_next_works_where_all_is_there(modules):
    modules()
    assert notebooks.commands("course") == ["python -m jupyterlab course"]


def test_what_is_missing_is_installed_first(modules):
    modules("jupyterlab", "matplotlib")
    assert notebooks.commands("course") == [
        "python -m pip install jupyterlab matplotlib",
        "python -m jupyterlab course",
    ]


def test_uv_installs_where_pip_is_missing(modules):
    modules("jupyterlab", "pip")
    first, _ = notebooks.commands("course")
    assert first == f"uv pip install --python {sys.executable} jupyterlab"


def test_an_interpreter_that_no_name_leads_to_is_called_by_its_path(modules, monkeypatch):
    modules()
    monkeypatch.setenv("PATH", "/nowhere")
    assert notebooks.commands("a course") == [f"{sys.executable} -m jupyterlab 'a course'"]


def test_what_is_said_here_finds_what_it_needs():
    """The last command starts, or the one before installs what it misses."""
    *installs, opens = notebooks.commands("course")
    command = [*shlex.split(opens)[:-1], "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    asked = " ".join(installs)
    assert done.returncode == 0 or "jupyterlab" in asked
    assert ("jupyterlab" in asked) == (importlib.util.find_spec("jupyterlab") is None)
    for one in installs:
        tool = shlex.split(one)[:3] if "-m pip" in one else ["uv"]
        assert (
            subprocess.run([*tool, "--version"], check=False, capture_output=True).returncode == 0
        )


def test_copying_again_fills_what_is_missing(cli, tmp_path, shipped):
    assert cli("notebooks", ".").returncode == 0
    (tmp_path / FIRST).unlink()
    (tmp_path / "mine.ipynb").write_text("mine")
    assert cli("notebooks", ".").returncode == 0
    assert contents(tmp_path) == {**shipped, "mine.ipynb": b"mine"}


@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_changed_notebooks_are_not_overwritten(cli, tmp_path, kind):
    path = tmp_path / "08_a_study.ipynb"  # not the first, so that others could have been written
    if kind == "file":
        path.write_text("my answers")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    done = cli("notebooks", ".")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{path.name}: is there already and differs; --force overwrites it\n"
    assert list(tmp_path.iterdir()) == [path]
    assert kind != "file" or path.read_text() == "my answers"


def test_force_overwrites(cli, tmp_path, shipped):
    (tmp_path / FIRST).write_text("my answers")
    assert cli("notebooks", ".", "--force").returncode == 0
    assert contents(tmp_path) == shipped


def test_a_file_in_the_place_of_the_folder_is_exit_2(cli, tmp_path):
    (tmp_path / "course").write_text("mine")
    done = cli("notebooks", "course")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert contents(tmp_path) == {"course": b"mine"}


def test_a_run_directory_is_not_written_to(cli, tmp_path):
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    for name in ("metrics.json", "resolved.json", "events.parquet"):
        (run / name).touch()
    assert cli("notebooks", "runs/one").returncode == 2
    assert len(list(run.iterdir())) == 3
