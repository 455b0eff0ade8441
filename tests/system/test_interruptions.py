"""Runs that are killed, interrupted or aborted, with the real engine.

Where to strike is counted in file operations rather than in seconds, so each case hits the same
place on every machine; the places are drawn once from a named stream.
"""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pocketsim.sim import trace
from pocketsim.sim.base import streams
from pocketsim.sim.base.errors import EngineError
from pocketsim.sim.run import children, rundir, runner
from pocketsim.sim.scenario.load import load

pytestmark = pytest.mark.engine

SWEEP = """
[sweep]
scenario = "small.toml"

[axes]
"run.repetitions" = [1]
"workload.rate" = ["1/s", "2/s", "4/s", "8/s"]
"""
ONE_RUN = ("--set", "workload.rate=4/s", "--set", "run.repetitions=1")


@pytest.fixture
def pocketsim(root, tmp_path):
    """Return a function that runs the command line and signals it at a file operation in runs/."""

    def call(*arguments, at=0, with_signal=signal.SIGKILL):
        count, runs = tmp_path / "count", tmp_path / "runs"
        count.unlink(missing_ok=True)
        driver = [str(root / "tests/support/dying_cli.py"), f"{with_signal:d}", str(at), str(runs)]
        done = subprocess.run(
            [sys.executable, *driver, str(count), *map(str, arguments), "--out", str(runs)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root)},
            check=False,
            timeout=60,
        )
        done.operations = count.stat().st_size if count.exists() else None
        return done

    return call


def complete(folder):
    """The directories in `folder` that look complete; fails if one of them is not."""
    found = sorted(folder.glob("[!.]*"))
    for directory in found:
        assert sorted(path.name for path in directory.iterdir()) == sorted(rundir.FILES)
        sent = json.loads((directory / "metrics.json").read_text())["counts"]["sent"]
        table = trace.read(directory / "events.parquet")
        assert sent == table["kind"].to_pylist().count("send") > 0
        json.loads((directory / "manifest.json").read_text())
        json.loads((directory / "resolved.json").read_text())
    return found


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def leftovers(folder):
    return sorted(path.name for path in folder.glob(".*"))


def places(operations, count, name):
    """Some operations to strike at: the first, the last, and others in between."""
    drawn = streams.stream(20261121, name).integers(2, operations, count - 2)
    return [1, *sorted(drawn.tolist()), operations]


def test_a_run_killed_anywhere_is_complete_or_not_there(pocketsim, scenario, tmp_path):
    whole = pocketsim("run", scenario, *ONE_RUN)
    assert whole.returncode == 0, whole.stderr
    folder = tmp_path / "runs" / "small"
    expected = contents(folder)
    (tmp_path / "runs").rename(tmp_path / "expected")
    struck = 0
    for at in places(whole.operations, 4, "kills"):
        done = pocketsim("run", scenario, *ONE_RUN, at=at)
        struck += done.returncode == -signal.SIGKILL
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        complete(folder)
    assert struck >= 2
    again = pocketsim("run", scenario, *ONE_RUN)
    assert again.returncode == 0, again.stderr
    assert len(complete(folder)) == 1
    assert leftovers(folder) == []
    assert contents(folder) == expected


def test_an_interrupted_run_cleans_up(pocketsim, scenario, tmp_path):
    folder = tmp_path / "runs" / "small"
    for at in (3, 8):
        done = pocketsim("run", scenario, *ONE_RUN, at=at, with_signal=signal.SIGINT)
        assert done.returncode == 130, done.stderr
        assert "Traceback" not in done.stderr
        assert "interrupted; what was complete is kept" in done.stderr
        complete(folder)
        assert leftovers(folder) == []


@pytest.mark.usefixtures("scenario")
def test_a_killed_sweep_runs_everything_once(pocketsim, tmp_path):
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(SWEEP)
    folder = tmp_path / "runs" / "small"
    done = pocketsim("sweep", "run", sweep, "--jobs", "1", at=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    kept = {path.name: path.stat().st_ino for path in complete(folder)}
    assert 0 < len(kept) < 4
    done = pocketsim("sweep", "run", sweep, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["runs"]
    reused = {Path(row["directory"]).name for row in rows if row["status"] == "reused"}
    assert reused == set(kept)
    assert [row["status"] for row in rows].count("ran") == 4 - len(kept)
    now = {path.name: path.stat().st_ino for path in complete(folder)}
    assert len(now) == 4
    assert kept.items() <= now.items(), "a complete run was run again"
    assert leftovers(folder) == []


@pytest.mark.usefixtures("scenario")
def test_a_study_that_is_killed_three_times_packs_each_run_once(pocketsim, tmp_path):
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(SWEEP)
    options = ("--keep", "metrics", "--jobs", "1")
    whole = pocketsim("sweep", "run", sweep, *options)
    assert whole.returncode == 0, whole.stderr
    expected = collected(pocketsim, sweep, tmp_path)
    (tmp_path / "runs").rename(tmp_path / "expected")
    quarter = whole.operations // 4
    for at in (quarter, quarter + 7, quarter - 7):  # at different places of a run
        done = pocketsim("sweep", "run", sweep, *options, at=at)
        assert done.returncode == -signal.SIGKILL, done.stderr
    done = pocketsim("sweep", "run", sweep, *options)
    assert done.returncode == 0, done.stderr
    assert collected(pocketsim, sweep, tmp_path) == expected
    assert complete(tmp_path / "runs" / "small") == []
    assert leftovers(tmp_path / "runs" / "small") == []
    (pack,) = (tmp_path / "runs" / "sweep.packs").iterdir()
    assert pack.suffix == ".parquet"
    noted = (tmp_path / "runs" / ".durations.jsonl").read_text().splitlines()
    runs = [json.loads(line)["run"] for line in noted]
    assert len(runs) == len(set(runs)), "no run is made twice that was there"


def collected(pocketsim, sweep, tmp_path):
    table = tmp_path / "table.parquet"
    done = pocketsim("sweep", "collect", sweep, "-o", table)
    assert done.returncode == 0, done.stderr
    return table.read_bytes()


def test_an_abort_of_the_engine_says_why_and_can_be_replayed(scenario, root, tmp_path):
    (task,) = runner.tasks_of(
        load(scenario, ["workload.rate=4/s", "run.fidelity=flow"]), tmp_path / "runs"
    )
    nonsense = json.loads(json.dumps(task.rungs[0].resolved))
    nonsense["profiles"]["moto_g04s"]["device"]["cores"]["value"] = 0
    task = replace(task, rungs=[replace(task.rungs[0], resolved=nonsense)])
    with pytest.raises(EngineError, match="ended with SIGABRT") as caught:
        runner.run_tasks([task], 1)
    assert caught.value.exit_code == 1
    assert "must have at least one core, not 0" in caught.value.stderr_tail
    assert complete(tmp_path / "runs" / "small") == []
    line = str(caught.value).splitlines()[-1]
    assert line.startswith(f"replay: {shlex.join(children.COMMAND)} < ")
    again = replay(line.removeprefix("replay: "), root)
    assert again.returncode in (-signal.SIGABRT, 128 + signal.SIGABRT)
    assert "must have at least one core, not 0" in again.stderr


def test_signal_to_all_processes_of_a_job_is_handled_by_the_parent(scenario, root, tmp_path):
    folder = tmp_path / "runs" / "small"
    for told in (True, False):
        process = started(scenario, root, tmp_path)
        _, *forks = lineage(process)
        # Who took it would look as if it had crashed, until the parent is told.
        for number in forks:
            os.kill(number, signal.SIGTERM)
        if told:
            process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == (130 if told else 0), stderr
        assert len(complete(folder)) == (not told)
        assert leftovers(folder) == []


OWN_METRIC = """
import multiprocessing, subprocess

def ended(events, resolved):
    program = subprocess.Popen(["sleep", "60"])
    program.terminate()
    worker = multiprocessing.get_context("fork").Process(target=multiprocessing.Event().wait)
    worker.start()
    worker.terminate()
    worker.join()
    return program.wait() + worker.exitcode
"""


def test_processes_started_by_custom_code_end_when_told(scenario, tmp_path):
    (tmp_path / "own.py").write_text(OWN_METRIC)
    metrics = "output.metrics=['own.py:ended']"
    (made,) = runner.run(scenario, [*ONE_RUN[1::2], metrics], tmp_path / "runs")
    measured = json.loads((made / "metrics.json").read_text())
    assert measured["metrics"]["ended"]["mean"] == -2 * signal.SIGTERM


def test_killed_child_is_reported_and_its_job_replays(scenario, root, tmp_path):
    process = started(scenario, root, tmp_path)
    os.kill(lineage(process)[-1], signal.SIGABRT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1, stderr
    assert "ended with SIGABRT" in stderr
    assert "Traceback" not in stderr
    folder = tmp_path / "runs" / "small"
    assert complete(folder) == []
    (line,) = [line for line in stderr.splitlines() if line.startswith("replay: ")]
    again = replay(line.removeprefix("replay: "), root, tmp_path)
    assert again.returncode == 0, again.stderr
    (failed,) = folder.iterdir()
    assert trace.read(failed / "repetition-0.parquet").num_rows > 50_000


def started(scenario, root, tmp_path):
    """A process that runs a scenario for long enough that it still does when it is found."""
    settings = ["run.duration=300s", "run.repetitions=1", "workload.rate=100/s"]
    options = [part for setting in settings for part in ("--set", setting)]
    return subprocess.Popen(
        [sys.executable, "-m", "pocketsim.cli", "run", str(scenario), *options],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
    )


def lineage(process):
    """The process, its server, a slot and the first fork that simulates, once there is one."""
    while process.poll() is None:
        found = [process.pid]
        while younger := children_of(found[-1]):
            found.append(younger[0])
        if len(found) == len(("process", "server", "slot", "fork")):
            return found
    raise AssertionError(process.stderr.read())


def children_of(number):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        threads = Path(f"/proc/{number}/task").glob("*/children")
        texts = [thread.read_text() for thread in threads]
        return [int(child) for text in texts for child in text.split()]
    return []


def replay(line, root, folder=None):
    """Run a line as a person would paste it."""
    return subprocess.run(
        ["/bin/sh", "-c", line],
        capture_output=True,
        text=True,
        cwd=folder or root,
        env={**os.environ, "PYTHONPATH": str(root)},
        check=False,
        timeout=60,
    )
