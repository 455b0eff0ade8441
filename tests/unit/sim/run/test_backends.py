"""Ways in which runs are made and kept: in a scratch folder, before a limit, by another backend."""

from __future__ import annotations

import json
import signal
from datetime import UTC, datetime

import pytest

from pocketsim import cli
from pocketsim.api.study import Study
from pocketsim.sim.base.errors import EngineError
from pocketsim.sim.run import backend, durations, rundir, runner, store
from pocketsim.sim.run.children import StoppedError

SWEEP = '[sweep]\nscenario = "small.toml"\nseed = [1, 2]\n'  # times two rungs


@pytest.fixture
def study(scenario, tmp_path, monkeypatch, fake_engine):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return lambda: Study("sweep.toml")


@pytest.fixture
def scratch(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_run_is_made_in_scratch_and_copied_whole(tmp_path, scratch):
    target = tmp_path / "small" / "run"
    with rundir.lock(target), rundir.building(target, scratch) as aside:
        assert aside.parent == scratch
        (aside / "metrics.json").write_text("{}")
        assert not list(target.parent.glob(".tmp-*"))
    assert names(target) == ["metrics.json"]
    assert names(scratch) == []
    assert names(target.parent) == ["run"]


def test_a_run_that_fails_in_scratch_leaves_nothing(tmp_path, scratch):
    target = tmp_path / "small" / "run"
    with pytest.raises(ZeroDivisionError), rundir.lock(target), rundir.building(target, scratch):
        raise ZeroDivisionError
    assert names(scratch) == names(target.parent) == []


@pytest.mark.parametrize("keep", ["events", "metrics"])
def test_a_study_in_scratch_comes_to_the_same(study, scratch, tmp_path, keep):
    found = study().run(jobs=2, keep=keep, scratch=scratch)
    assert {outcome.status for outcome in found.values()} == {"ran"}
    in_scratch = study().to_frame()
    assert names(scratch) == []
    (tmp_path / "runs").rename(tmp_path / "before")
    study().run(jobs=2)
    assert in_scratch.equals(study().to_frame())


def test_where_metrics_are_kept_no_run_directory_is_ever_there(study, monkeypatch):
    seen = []
    before = store.Packing._keep

    def watched(self, directory, metrics):
        seen.append(directory.exists())
        before(self, directory, metrics)

    monkeypatch.setattr(store.Packing, "_keep", watched)
    study().run(jobs=2, keep="metrics")
    assert seen == [False] * 4


def test_runs_that_exceed_the_time_limit_are_left_for_later(study):
    first = study()
    runs = list(dict.fromkeys(run.directory for run in first.sweep.runs()))
    (first.out / "small").mkdir(parents=True)
    for number, directory in enumerate(runs):
        durations.note(directory, 1, 1e10 if number else 0.0)
    before = datetime.fromtimestamp(4e9, UTC)
    statuses = {path: outcome.status for path, outcome in first.run(before=before).items()}
    assert statuses == {path: "left" if number else "ran" for number, path in enumerate(runs)}
    assert study().status().runs == {"all": 4, "there": 1, "missing": 3, "busy": 0}
    assert all(outcome.error is None for outcome in study().run(before=before).values())
    assert {outcome.status for outcome in study().run().values()} == {"ran", "reused"}


def test_no_run_starts_after_the_time_limit_but_complete_ones_are_reused(study):
    study().run(jobs=2)
    past = datetime.fromtimestamp(0, UTC)
    assert {outcome.status for outcome in study().run(before=past).values()} == {"reused"}


class Broken:
    """A backend that fails, or waits for good."""

    jobs = 4

    def __init__(self, error):
        self._error = error
        self.stopped = 0

    def make(self, order, folder, failed, heard):
        (folder / "half").touch()
        raise self._error

    def stop(self):
        self.stopped += 1


def test_backend_makes_the_other_runs_after_a_failure(study):
    made = study()
    broken = Broken(EngineError("it broke", "", "replay"))
    tasks = [task for point in made.sweep.points for task in point.tasks]
    outcomes = runner.run_tasks(tasks, 1, keep_going=True, way=runner.Way(broken))
    assert [outcome.status for outcome in outcomes] == ["failed"] * 4
    assert broken.stopped == 0, "who made it ends it"
    assert names(made.out / "small") == []


def test_backend_is_stopped_after_an_unexpected_error(study):
    broken = Broken(ZeroDivisionError())
    tasks = [task for point in study().sweep.points for task in point.tasks]
    with pytest.raises(ZeroDivisionError):
        runner.run_tasks(tasks, 1, keep_going=True, way=runner.Way(broken))
    assert broken.stopped == 1


def test_stopped_backend_makes_no_run(study, tmp_path):
    local = backend.LocalBackend(1)
    local.stop()
    (task, *_) = (task for point in study().sweep.points for task in point.tasks)
    with pytest.raises(StoppedError):
        runner.run_tasks([task], 1, way=runner.Way(local))


def test_a_pack_that_was_just_made_is_found_where_its_journal_was(study, monkeypatch):
    study().run(jobs=2, keep="metrics")
    packs = study().packs
    (packs / "shard-1-of-2.journal").touch()
    before = store._read_journal

    def gone(path):
        path.unlink(missing_ok=True)  # by its owner, between the list of the folder and this
        return before(path)

    monkeypatch.setattr(store, "_read_journal", gone)
    assert study().status().runs["there"] == 4


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--executor", "ray"], "'ray' is not one of local, dask"),
        (["--scheduler", "tcp://a:1"], "--scheduler: is for --executor dask"),
        (["--executor", "dask", "--before", "1"], "--before: is for runs that are made here"),
        (["--executor", "dask", "--scratch", "."], "--scratch: is for runs that are made here"),
        (["--scratch", "missing"], "--scratch: missing is no folder"),
        (["--before", "noon"], "--before: 'noon' is no time, such as"),
        (["--before", "9" * 13], "--before: '9999999999999' is no time"),
    ],
)
def test_mistakes_in_options_are_said(fake_cli, scenario, tmp_path, options, reason):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    done = fake_cli("sweep", "run", "sweep.toml", *options)
    assert done.returncode == 2
    assert reason in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("before", "code", "status"),
    [("1", 4, "left"), ("2000-01-01T00:00+01:00", 4, "left"), ("3000-01-01", 0, "ran")],
)
def test_the_command_tells_what_it_left(fake_cli, scenario, tmp_path, before, code, status):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    done = fake_cli("sweep", "run", "sweep.toml", "--before", before, "--json")
    assert done.returncode == code, done.stderr
    assert [row["status"] for row in json.loads(done.stdout)["runs"]] == [status] * 4
    assert f"4 {status} in " in done.stderr


def test_without_dask_it_is_said_what_to_install(fake_cli, scenario, tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "distributed.py").write_text("raise ImportError")
    path = {"PYTHONPATH": f"{tmp_path}:{fake_cli.environment['PYTHONPATH']}"}
    done = fake_cli("sweep", "run", "sweep.toml", "--executor", "dask", **path)
    assert done.returncode == 5
    assert done.stderr.strip() == (
        "dask.distributed is not there; `pip install 'pocketsim[dask]'` installs it"
    )


def test_second_sigterm_does_not_interrupt_the_cleanup():
    before = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGTERM, cli._interrupt)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)  # does not interrupt what ends the children
    finally:
        signal.signal(signal.SIGTERM, before)
