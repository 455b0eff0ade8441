import errno
import fcntl
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pocketsim.sim import trace
from pocketsim.sim.base.errors import (
    EngineError,
    NoRoomError,
    RunInProgressError,
    ScenarioError,
    UserError,
)
from pocketsim.sim.run import children, rundir, runner
from pocketsim.sim.scenario.load import load


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def test_a_run_directory_is_complete(scenario, tmp_path):
    directories = runner.run(scenario, ["run.repetitions=3"], tmp_path / "runs", jobs=2)
    assert len(directories) == 2
    first = directories[0]
    assert names(first) == sorted(rundir.FILES)
    manifest = json.loads((first / "manifest.json").read_text())
    assert manifest["seed"] == 7
    assert [told["repetition"] for told in manifest["repetitions"]] == [0, 1, 2]
    assert "simgrid" not in manifest["versions"]
    assert not manifest["engine_options"]
    assert manifest["final_index"] is None
    counts = json.loads((first / "metrics.json").read_text())["counts"]
    assert counts == {"sent": 3 * 8, "stored": 3 * 8, "in_flight": 0, "lost": {}}
    table = trace.read(first / "events.parquet")
    assert table.schema.equals(trace.schema())
    assert sorted(set(table["repetition"].to_pylist())) == [0, 1, 2]
    assert table["kind"].to_pylist()[0] == "send"
    assert table["reason"].null_count == table.num_rows
    assert (first / "log.txt").read_text() == ""
    assert (first / "scenario.toml").read_text().startswith("# --set run.repetitions=3\n")
    assert names(first.parent) == sorted(directory.name for directory in directories)


def test_an_override_of_several_lines_leaves_the_scenario_a_document(scenario, tmp_path):
    overrides = ['title="""\nseveral\nlines"""', "workload.rate=4/s"]
    (directory,) = runner.run(scenario, overrides, tmp_path / "runs")
    stored = load(directory / "scenario.toml", overrides)
    assert stored.scenario == load(scenario, overrides).scenario
    assert stored.text.startswith(
        '# --set title="""\\nseveral\\nlines"""\n# --set workload.rate=4/s\n'
    )


def test_the_same_run_twice_is_byte_identical(scenario, tmp_path):
    one = runner.run(scenario, out=tmp_path / "one", jobs=2)[0]
    other = runner.run(scenario, out=tmp_path / "other", jobs=1)[0]
    for name in rundir.FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_a_complete_run_is_not_repeated(scenario, tmp_path, fake_engine):
    log = tmp_path / "log"
    fake_engine.setenv("FAKE_LOG", str(log))
    runner.run(scenario, out=tmp_path / "runs")
    assert len(log.read_text().splitlines()) == 4
    tasks = runner.tasks_of(load(scenario), tmp_path / "runs")
    assert {outcome.status for outcome in runner.run_tasks(tasks, 1)} == {"reused"}
    assert len(log.read_text().splitlines()) == 4


def test_continued_chains_go_on_over_repetitions_and_rungs(scenario, tmp_path):
    directories = runner.run(scenario, ["run.app=continued"], tmp_path / "runs")
    last = [
        json.loads((directory / "manifest.json").read_text())["final_index"]
        for directory in directories
    ]
    # The proposer stores 8 blocks in each of 2 repetitions at 4/s, then 16 at 8/s.
    assert last == [[17, 1], [49, 1]]
    for name in rundir.FILES:
        (directories[1] / name).unlink()
    directories[1].rmdir()
    again = runner.run(scenario, ["run.app=continued"], tmp_path / "runs")
    assert json.loads((again[1] / "manifest.json").read_text())["final_index"] == last[1]


def test_an_abort_leaves_no_directory_and_a_line_that_replays(scenario, tmp_path, fake_engine):
    fake_engine.setenv("FAKE_ABORT", "1")
    with pytest.raises(EngineError) as caught:
        runner.run(scenario, ["workload.rate=4/s"], tmp_path / "runs")
    text = str(caught.value)
    assert "SIGABRT" in text
    assert "the engine says why" in text
    folder = tmp_path / "runs" / "small"
    (failed,) = folder.iterdir()
    assert failed.name.startswith(".failed-")
    job = failed / "repetition-1.job.json"
    assert text.splitlines()[-1] == f"replay: {shlex.join(children.COMMAND)} < {job}"
    assert json.loads(job.read_text())["out_dir"] == str(failed)


def test_a_crash_is_told_even_where_its_job_cannot_be_kept(
    scenario, tmp_path, fake_engine, monkeypatch
):
    fake_engine.setenv("FAKE_ABORT", "1")
    occupied = tmp_path / "file"
    occupied.write_text("")
    monkeypatch.setattr(rundir, "failed_folder", lambda _target: occupied)
    with pytest.raises(EngineError) as caught:
        runner.run(scenario, ["workload.rate=4/s"], tmp_path / "runs")
    text = str(caught.value)
    assert "ended with SIGABRT" in text
    assert "the engine says why" in text
    assert "\nreplay: not possible, the job could not be kept (" in text
    assert str(occupied) in text
    assert names(tmp_path / "runs" / "small") == []


def test_code_that_changed_meanwhile_makes_no_run(scenario, tmp_path, monkeypatch):
    tasks = runner.tasks_of(load(scenario), tmp_path / "runs")
    for task in tasks:
        # As of a process that lives since before the change.
        task.rungs[0].resolved["versions"]["build"] = "0" * 12
    with pytest.raises(UserError, match="code of `sim` changed while this process ran"):
        runner.run_tasks(tasks, 2, keep_going=True)
    assert names(tmp_path / "runs" / "small") == []


def test_a_job_is_replayed_with_whatever_code_there_is(scenario, tmp_path, fake_engine):
    fake_engine.setenv("FAKE_ABORT", "1")
    with pytest.raises(EngineError) as caught:
        runner.run(scenario, ["workload.rate=4/s"], tmp_path / "runs")
    job = Path(str(caught.value).split(" < ")[-1])
    told = json.loads(job.read_text())
    told["resolved"]["versions"]["build"] = "0" * 12
    command = [sys.executable, "-P", "-m", "pocketsim.sim.run.child"]
    subprocess.run(command, input=json.dumps(told), text=True, check=True)
    assert (job.parent / "repetition-1.parquet").exists()


def test_keep_going_reports_crashes_as_outcomes(scenario, tmp_path, fake_engine):
    fake_engine.setenv("FAKE_ABORT", "0")
    tasks = runner.tasks_of(load(scenario), tmp_path / "runs")
    outcomes = runner.run_tasks(tasks, 2, keep_going=True)
    assert [outcome.status for outcome in outcomes] == ["failed", "failed"]
    assert all(isinstance(outcome.error, EngineError) for outcome in outcomes)


def test_a_child_without_room_says_which_file(scenario, tmp_path, fake_engine, limited):
    tasks = runner.tasks_of(load(scenario, ["workload.rate=4/s"]), tmp_path / "runs")
    with (
        limited(500),
        pytest.raises(NoRoomError, match=r"repetition-[01]\.parquet: file too large$") as caught,
    ):
        runner.run_tasks(tasks, 2, keep_going=True)
    assert caught.value.exit_code == 5
    assert names(tmp_path / "runs" / "small") == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_without_room_for_a_run_directory_nothing_is_left(scenario, tmp_path, fake_engine, number):
    fake_engine.setenv("FAKE_ASSEMBLY", str(number))
    tasks = runner.tasks_of(load(scenario, ["workload.rate=4/s"]), tmp_path / "runs")
    (run,) = (task.folder / task.rungs[0].name for task in tasks)
    with pytest.raises(NoRoomError, match=f"^{run}: {os.strerror(number).lower()}$"):
        runner.run_tasks(tasks, 2, keep_going=True)
    assert names(tmp_path / "runs" / "small") == []


def test_an_error_in_metrics_leaves_nothing(scenario, tmp_path, fake_engine):
    fake_engine.setenv("FAKE_ASSEMBLY", "broken")
    with pytest.raises(
        RuntimeError, match=r"put together \(exit code 70\):(.|\n)*ZeroDivisionError"
    ):
        runner.run(scenario, out=tmp_path / "runs")
    assert names(tmp_path / "runs" / "small") == []


def test_a_not_finite_metric_is_refused(scenario, tmp_path, fake_engine):
    fake_engine.setenv("FAKE_ASSEMBLY", "not_finite")
    with pytest.raises(RuntimeError, match="JSON compliant"):
        runner.run(scenario, out=tmp_path / "runs")
    assert names(tmp_path / "runs" / "small") == []


def test_run_directory_appears_by_a_final_rename(tmp_path):
    target = tmp_path / "run"
    with rundir.lock(target), rundir.building(target) as aside:
        (aside / "file").write_text("x")
        assert not rundir.is_complete(target)
    assert (target / "file").read_text() == "x"
    assert names(tmp_path) == ["run"]


def test_one_writer_at_a_time(tmp_path):
    target = tmp_path / "run"
    message = f"run is being run by process {os.getpid()}"
    with (
        rundir.lock(target),
        pytest.raises(RunInProgressError, match=message),
        rundir.lock(target),
    ):
        pass
    with rundir.lock(target):
        pass
    assert names(tmp_path) == []


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EIO])
def test_a_file_system_without_locks_is_called_one(tmp_path, monkeypatch, number):
    def without_locks(_descriptor, _operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", without_locks)
    reason = f"{tmp_path}: no locks on this file system ({os.strerror(number).lower()}); "
    with (
        pytest.raises(ScenarioError, match=re.escape(reason)) as caught,
        rundir.lock(tmp_path / "r"),
    ):
        pass
    assert "--out" in str(caught.value)
    assert caught.value.exit_code == 2
    assert names(tmp_path) == []


@pytest.mark.parametrize("number", [errno.EWOULDBLOCK, errno.EACCES])
def test_a_lock_that_another_has_is_busy(tmp_path, monkeypatch, number):
    def held(_descriptor, _operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", held)
    with pytest.raises(RunInProgressError), rundir.lock(tmp_path / "run"):
        pass


def test_shared_lock_delays_a_run_without_failing_it(tmp_path, monkeypatch):
    lock = tmp_path / ".lock-run"
    lock.write_text("99999")
    with lock.open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)  # as `is_held` does for a moment, which ends in a pause
        monkeypatch.setattr(rundir.time, "sleep", lambda _s: asking.close())
        with rundir.lock(tmp_path / "run"):
            assert asking.closed
            assert lock.read_text() == str(os.getpid())
            assert rundir.is_held(tmp_path / "run")
    assert not rundir.is_held(tmp_path / "run")


def test_shared_lock_that_stays_is_given_up(tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr(rundir.time, "sleep", pauses.append)
    with (tmp_path / ".lock-run").open("w") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        with pytest.raises(RunInProgressError), rundir.lock(tmp_path / "run"):
            pass
    assert 0 < len(pauses) <= 1000


def test_path_below_a_file_is_not_locked(tmp_path):
    (tmp_path / "file").write_text("")
    assert not rundir.is_held(tmp_path / "file" / "run")


def test_stale_folders_are_swept_and_live_ones_not(tmp_path):
    stale, live = tmp_path / ".tmp-1-run", tmp_path / ".tmp-2-other"
    stale.mkdir()
    live.mkdir()
    (tmp_path / ".lock-run").write_text("1")  # its holder is dead: nobody has it locked
    with (tmp_path / ".lock-other").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        rundir.sweep_stale(tmp_path)
    assert not stale.exists()
    assert live.exists()


LEAN = """
import json, sys
from support import fake_child
from pocketsim.sim.run import assembly, child

job = json.load(sys.stdin)
child.run(job, fake_child, lambda _share: None)
left = {"pandas", "scipy", "pocketsim.sim.metrics"} & sys.modules.keys()
assert not left, f"to replay a job {left} are loaded"
assembly.measured(assembly.Path(job["out_dir"]), job["resolved"])
assert "pandas" not in sys.modules, "to measure a run pandas is loaded, which takes a second"
"""


def test_children_load_no_more_than_they_need(scenario, tmp_path):
    (task, *_) = runner.tasks_of(load(scenario, ["run.repetitions=1"]), tmp_path)
    job = {
        "resolved": task.rungs[0].resolved,
        "repetition": 0,
        "first_index": None,
        "out_dir": str(tmp_path),
    }
    path = os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", LEAN]
    subprocess.run(command, input=json.dumps(job), text=True, check=True, env=environment)


def test_progress_is_told(scenario, tmp_path):
    told = []
    tasks = runner.tasks_of(load(scenario, ["workload.rate=4/s"]), tmp_path / "runs")
    assert runner.repetition_count(tasks) == 2
    runner.run_tasks(tasks, 1, progress=lambda *step: told.append(step))
    name = tasks[0].rungs[0].name
    assert {(rung, repetition) for rung, repetition, _ in told} == {(name, 0), (name, 1)}
    for repetition in (0, 1):
        shares = [share for _, number, share in told if number == repetition]
        within = shares[:-1]  # all but the end say how much that was
        expected_s = pytest.approx([2.0 * share for share in within])
        assert [share.simulated_s for share in within] == expected_s
        assert all(share.events > 0 for share in within)
        assert shares == sorted(set(shares))
        assert shares[-1] == 1
        assert len(shares) > 3  # it moves inside a repetition: here with each of eight rounds
    assert runner.repetition_count(tasks) == 0


def test_error_of_a_progress_callback_is_raised_after_the_child(scenario, tmp_path, fake_engine):
    told, ended = [], tmp_path / "ended"
    fake_engine.setenv("FAKE_CHATTER", "1")
    fake_engine.setenv("FAKE_LOG", str(ended))
    (task, *_) = runner.tasks_of(load(scenario), tmp_path)
    job = {
        "resolved": task.rungs[0].resolved,
        "repetition": 0,
        "first_index": None,
        "out_dir": str(tmp_path),
    }

    def broken(share):
        told.append(share)
        raise ValueError("not the child's")

    with (
        children.Children(1) as one,
        pytest.raises(ValueError, match="not the child's"),
    ):
        one.run(job, tmp_path, broken)
    assert told == [0.5]
    assert ended.exists()


def test_default_socket_timeout_of_the_user_does_not_apply(scenario, tmp_path, fake_engine):
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(0.001)
    try:
        (directory,) = runner.run(scenario, ["workload.rate=4/s"], tmp_path / "runs")
    finally:
        socket.setdefaulttimeout(before)
    assert rundir.is_complete(directory)


def test_killed_fork_server_is_replaced(scenario, tmp_path, fake_engine):
    tasks = runner.tasks_of(load(scenario), tmp_path)
    jobs = [
        {
            "resolved": tasks[0].rungs[0].resolved,
            "repetition": repetition,
            "first_index": None,
            "out_dir": str(tmp_path),
        }
        for repetition in (0, 1)
    ]
    with children.Children(2) as two:
        for job in jobs:
            two.run(job, tmp_path / "failed")
        two._server.process.kill()
        two._server.process.wait()
        assert two.run(jobs[0], tmp_path / "failed").core_s > 0
    assert not (tmp_path / "failed").exists()


def test_killed_assembly_is_a_failed_outcome(scenario, tmp_path, fake_engine):
    fake_engine.setenv("FAKE_ASSEMBLY", "killed")
    tasks = runner.tasks_of(load(scenario), tmp_path / "runs")
    outcomes = runner.run_tasks(tasks, 2, keep_going=True)
    assert [outcome.status for outcome in outcomes] == ["failed", "failed"]
    assert "what put a run together ended with SIGKILL" in str(outcomes[0].error)


@pytest.mark.parametrize("jobs", [1, 2])
def test_children_never_exceed_jobs(scenario, tmp_path, fake_engine, jobs):
    """Two rungs of four repetitions would be four children at a time, for all that pools bound."""
    live, most = set(), []
    pairs = threading.Barrier(jobs, timeout=60)

    class Counted(children._Slot):
        def do(self, asked, *arguments):
            if b'"job"' not in asked[:8]:
                return super().do(asked, *arguments)
            live.add(self)
            most.append(len(live))
            pairs.wait()  # so many there are at a time: none goes on alone
            found = super().do(asked, *arguments)
            live.remove(self)
            return found

    fake_engine.setattr(children, "_Slot", Counted)
    runner.run(scenario, ["run.repetitions=4"], tmp_path / "runs", jobs=jobs)
    assert len(most) == 8
    assert max(most) == jobs
