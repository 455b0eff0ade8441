"""Folders of figures: what is theirs is made anew, what is not stays as it is."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pocketsim import testing
from pocketsim.cli import app
from pocketsim.cli.ui import output_folder
from pocketsim.sim.base.errors import EnvironmentMissingError, ScenarioError


def one_run(folder):
    resolved = testing.resolved("mine", 16.0, 100, repetitions=5)
    return testing.run_dir(folder, resolved, testing.Shape())


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one_run(tmp_path / "runs")
    runner = CliRunner()
    return lambda *words: runner.invoke(app, ["report", "runs", *words])


@pytest.mark.slow
def test_a_folder_is_written_and_no_page_unless_asked_for(call, tmp_path):
    done = call("--paper", "out/figures")
    assert (done.exit_code, done.stdout) == (0, "out/figures\n")
    assert not Path("report.html").exists()
    names = {path.name for path in Path("out/figures").iterdir()}
    assert {"methods.md", "references.bib", "fates_1.pdf", output_folder.MADE} <= names
    done = call("--paper", "out/figures", "-o", "page.html")
    assert done.stdout == "out/figures\npage.html\n"
    assert Path("page.html").stat().st_size > 1e6


def test_the_list_is_one_that_sha256sum_checks(call):
    call("--paper", "figures")
    for line in Path("figures", output_folder.MADE).read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256(Path("figures", name).read_bytes()).hexdigest() == digest


def contents(folder="figures"):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@pytest.mark.slow
def test_changed_or_foreign_files_are_not_overwritten(call):
    call("--paper", "figures")
    before = contents()
    assert call("--paper", "figures").exit_code == 0
    assert contents() == before
    for name in ("methods.md", "fates_1.svg"):
        Path("figures", name).write_text("mine")
        mine = contents()
        error = call("--paper", "figures").exception
        assert isinstance(error, ScenarioError)
        assert f"figures/{name}" in str(error)
        assert "--force" in str(error)
        assert contents() == mine, "nothing was written"
        assert call("--paper", "figures", "--force").exit_code == 0
        assert contents() == before


def test_a_folder_of_others_is_shared_but_not_its_names(call):
    Path("figures").mkdir()
    Path("figures/notes.txt").write_text("mine")
    assert call("--paper", "figures").exit_code == 0
    assert Path("figures/notes.txt").read_text() == "mine"
    Path("theirs").mkdir()
    Path("theirs/methods.md").write_text("mine")
    assert isinstance(call("--paper", "theirs").exception, ScenarioError)
    assert contents("theirs") == {"methods.md": b"mine"}


def test_obsolete_files_are_removed_unless_changed(tmp_path):
    output_folder.write(tmp_path, {"a": b"1", "b": b"2", "c": b"3"})
    (tmp_path / "c").write_bytes(b"mine")
    output_folder.write(tmp_path, {"a": b"1"})
    assert {path.name for path in tmp_path.iterdir()} == {"a", "c", output_folder.MADE}


def test_files_of_an_interrupted_command_can_be_overwritten(tmp_path, monkeypatch):
    output_folder.write(tmp_path, {"a": b"1", "b": b"2"})
    put = output_folder.output_paths.put

    def fails(path, content):
        if path.name == "b":
            raise KeyboardInterrupt
        put(path, content)

    monkeypatch.setattr(output_folder.output_paths, "put", fails)
    with pytest.raises(KeyboardInterrupt):
        output_folder.write(tmp_path, {"a": b"3", "b": b"4"})
    monkeypatch.undo()
    output_folder.write(tmp_path, {"a": b"5", "b": b"6"})
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"5", b"6"]


def test_a_list_names_nothing_outside_its_folder(tmp_path):
    folder = tmp_path / "figures"
    folder.mkdir()
    (tmp_path / "theirs").write_bytes(b"x")
    digest = hashlib.sha256(b"x").hexdigest()
    (folder / output_folder.MADE).write_text(f"{digest}  ../theirs\n")
    output_folder.write(folder, {"a": b"1"})
    assert (tmp_path / "theirs").exists()


def test_nothing_is_written_into_a_run_or_over_a_file(call):
    (run,) = Path("runs/mine").iterdir()
    for target in (run, run / "figures"):
        error = call("--paper", str(target)).exception
        assert isinstance(error, ScenarioError)
        assert "never written to again" in str(error)
    Path("file").write_text("mine")
    assert "is no folder" in str(call("--paper", "file").exception)
    assert Path("file").read_text() == "mine"


def test_without_matplotlib_it_says_what_to_install(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    error = call("--paper", "figures").exception
    assert isinstance(error, EnvironmentMissingError)
    assert error.exit_code == 5
    assert "pip install 'pocketsim[paper]'" in str(error)
    assert not Path("figures").exists()
