"""`pocketsim notebooks`: what it copies, and that it overwrites nothing of anybody's."""

import pytest

from pocketsim.api.documents import catalog

FIRST = "01_first_run.ipynb"


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
    assert done.stderr == "next: jupyter lab 'a course'\n"


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
