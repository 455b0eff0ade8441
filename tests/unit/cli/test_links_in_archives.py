"""An archive of runs may have links under our names: what those lead to stays as it is."""

import contextlib
import os
import threading

import pytest

from pocketsim.calibration.inverse.journal import Journal
from pocketsim.cli.ui import output_folder
from pocketsim.sim.base import files
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.run import children, durations, rundir, store

JOB = {"resolved": {"rung": {}}, "repetition": 0}


def hold_a_lock(folder):
    with rundir.lock(folder / "name"):
        pass


def ask_for_a_lock(folder):
    assert not rundir.is_held(folder / "name")


def note_a_duration(folder):
    durations.note(folder / "scenario" / "run", 1, 1.0)


def read_durations(folder):
    assert durations.per_repetition_s(folder) == {}


def keep_a_failed_job(folder):
    children.keep(JOB, "said", folder)


def pack(folder):
    with store.Packing(folder, "name", store.Store(folder)):
        pass


def write_a_pack(folder):
    store._write_pack({"a": "{}"}, folder / "name.parquet")


def keep_in_a_journal(folder):
    Journal(folder / "name.journal", "made with").keep("of", 1)


def write_a_folder(folder):
    output_folder.write(folder, {"figure.svg": b"new"})


OURS = [
    (hold_a_lock, ".lock-name"),
    (ask_for_a_lock, ".lock-name"),
    (note_a_duration, durations.FILE),
    (read_durations, durations.FILE),
    (keep_a_failed_job, "repetition-0.job.json"),
    (keep_a_failed_job, "repetition-0.stderr.txt"),
    (pack, "name.journal"),
    (write_a_pack, "name.tmp"),
    (keep_in_a_journal, "name.journal"),
    (write_a_folder, output_folder.MADE),
    (write_a_folder, "figure.svg"),
]


@pytest.mark.parametrize(("act", "name"), OURS)
@pytest.mark.parametrize("link", ["symbolic", "hard"])
def test_a_link_under_a_name_of_ours_leaves_the_file_that_it_leads_to(tmp_path, act, name, link):
    theirs, folder = tmp_path / "theirs", tmp_path / "unpacked"
    theirs.write_text("of the user's\n")
    folder.mkdir()
    if link == "symbolic":
        (folder / name).symlink_to(theirs)
    else:
        (folder / name).hardlink_to(theirs)
    with contextlib.suppress(ScenarioError):
        act(folder)
    assert theirs.read_text() == "of the user's\n"
    assert os.path.lexists(folder / name)


@pytest.mark.parametrize(("act", "name"), [one for one in OURS if one[1] != "figure.svg"])
def test_a_pipe_under_a_name_of_ours_keeps_nobody_waiting(tmp_path, act, name):
    os.mkfifo(tmp_path / name)

    def attempt():
        with contextlib.suppress(ScenarioError):
            act(tmp_path)

    acting = threading.Thread(target=attempt, daemon=True)
    acting.start()
    acting.join(20)
    assert not acting.is_alive()
    assert (tmp_path / name).is_fifo()


def test_special_files_are_refused_with_a_remedy(tmp_path):
    (tmp_path / ".lock-run").symlink_to("theirs")
    with (
        pytest.raises(ScenarioError, match=r"lock-run: is a link or no plain file.*; remove it"),
        rundir.lock(tmp_path / "run"),
    ):
        raise AssertionError("it was locked")
    assert not (tmp_path / "theirs").exists()


def test_a_plain_file_is_opened_and_emptied(tmp_path):
    path = tmp_path / "plain"
    path.write_text("longer than what follows")
    with os.fdopen(files.open_plain(path, os.O_WRONLY | os.O_TRUNC), "w") as file:
        file.write("new")
    assert path.read_text() == "new"
