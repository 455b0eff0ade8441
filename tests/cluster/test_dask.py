"""A sweep on a dask scheduler with workers: one that is killed, one that is another build."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from pocketsim.sim.base.errors import EnvironmentMissingError, UserError
from pocketsim.sim.run import dask_backend
from support.patience import PATIENCE_S, end, patiently
from support.skipping import skip

pytestmark = [pytest.mark.interop, pytest.mark.slow]
WORKER = ROOT / "tests" / "support" / "dask_worker.py"
RUNS = 12


class Pool:
    """A scheduler on loopback and its workers, each a process of its own, ended with the block."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.file = folder / "scheduler.json"
        self._folder = folder
        self._variables = variables
        self._ending = contextlib.ExitStack()

    @contextlib.contextmanager
    def running(self):
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        command = ["-m", "dask", "scheduler", *options, "--scheduler-file", str(self.file)]
        with self._ending:
            self._start(command, self._variables)
            patiently(self.file.exists, "the scheduler")
            yield self

    def worker(self, *options, **variables):
        """Start a worker with one thread; return its process."""
        command = [str(WORKER), "--scheduler-file", str(self.file), "--nthreads", "1"]
        command += ["--no-dashboard", "--local-directory", str(self._folder), *options]
        return self._start(command, variables)

    def address(self):
        return json.loads(self.file.read_text())["address"]

    def _start(self, command, variables):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        with (self._folder / "said.txt").open("ab") as said:
            process = subprocess.Popen(
                [sys.executable, *command], env=environment, stdout=said, stderr=said
            )
        self._ending.callback(end, process)
        return process


@pytest.fixture
def pool(request, tmp_path):
    """A pool; a parameter has variables of its scheduler."""
    if importlib.util.find_spec("distributed") is None:
        skip("no dask.distributed, which is in the extra `dask`")
    folder = tmp_path / "dask"
    folder.mkdir()
    with Pool(folder, **getattr(request, "param", {})).running() as running:
        yield running


def dask(pool):
    return ("--executor", "dask", "--scheduler", pool.file)


@contextlib.contextmanager
def sweeping(place, pool, *options):
    """Run the sweep on the pool beside the block; with the block it ends, whatever it is at."""
    command = [*place.cli.command, "sweep", "run", "sweep.toml", *options, *map(str, dask(pool))]
    process = subprocess.Popen(
        command, cwd=place.folder, env=place.cli.environment, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_a_worker_that_is_killed_changes_nothing(place, pool, alone):
    from distributed import Client

    doomed = pool.worker("--no-nanny", "--name", "doomed")
    with Client(scheduler_file=str(pool.file), set_as_default=False) as client:
        client.wait_for_workers(1, timeout=PATIENCE_S)
    noted = place.folder / "runs" / ".durations.jsonl"
    with sweeping(place, pool, "--keep", "metrics") as started:
        patiently(noted.exists, "a run")
        doomed.kill()
        doomed.wait()
        made = len(noted.read_text().splitlines())
        assert 1 <= made < RUNS, "it is killed half way"
        assert started.poll() is None
        pool.worker("--nanny", "--name", "next")
        said = started.communicate(timeout=PATIENCE_S)[1]
    assert started.returncode == 0, said
    assert f"{RUNS} ran" in said
    assert not list((place.folder / "runs" / "small").iterdir())
    assert place.collected() == alone


def test_run_directories_are_as_if_made_here(place, pool):
    pool.worker()
    place("sweep", "run", "sweep.toml", "--shard", "1/6", "--out", "pool", *dask(pool))
    place("sweep", "run", "sweep.toml", "--shard", "1/6", "--out", "here")
    found = {
        name: {
            path.relative_to(place.folder / name): path.read_bytes()
            for path in (place.folder / name).glob("*/*/*")
        }
        for name in ("pool", "here")
    }
    assert len(found["here"]) == 12
    assert found["pool"] == found["here"]


def test_files_of_data_travel_with_the_runs(place, pool):
    small = (place.folder / "small.toml").read_text()
    (place.folder / "trades.csv").write_text(
        "time_s,from,to,payload_bytes\n0.5,0,1,100\n1.5,1,0,200\n"
    )
    begin, end = small.index("[workload]"), small.index("[transport]")
    own = '[workload]\nkind = "trace"\nfile = "trades.csv"\n\n'
    (place.folder / "small.toml").write_text(small[:begin] + own + small[end:])
    (place.folder / "sweep.toml").write_text('[sweep]\nscenario = "small.toml"\nseed = [1, 2]\n')
    pool.worker()
    place("sweep", "run", "sweep.toml", *dask(pool))
    theirs = place.collected()
    place("sweep", "run", "sweep.toml", "--out", "here")
    (place.folder / "runs").rename(place.folder / "theirs")
    (place.folder / "here").rename(place.folder / "runs")
    assert place.collected() == theirs


def test_a_run_that_fails_is_named_with_the_line_that_replays_it(place, pool):
    pool.worker("--no-nanny", FAKE_ENGINE="1", FAKE_ABORT="1")
    done = place("sweep", "run", "sweep.toml", "--shard", "1/6", *dask(pool), code=4)
    assert "repetition 1 of" in done.stderr
    assert "SIGABRT" in done.stderr
    assert "the engine says why" in done.stderr
    assert "2 failed" in done.stderr
    assert "Traceback" not in done.stderr
    replays = [line for line in done.stderr.splitlines() if line.startswith("replay: ")]
    assert len(replays) == 2
    job = Path(replays[0].rpartition(" < ")[2])
    assert job.parent.parent == place.folder / "runs" / "small"
    # Here the engine is the real one, which does not fail.
    command = replays[0].removeprefix("replay: ")
    environment = place.cli.environment
    done = subprocess.run(command, shell=True, env=environment, check=True, capture_output=True)  # noqa: S602
    assert (job.parent / "repetition-1.parquet").exists()


@pytest.mark.parametrize(
    "pool", [{"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}], indirect=True, ids=["once"]
)
def test_a_run_at_which_workers_die_is_one_that_fails(place, pool, tmp_path):
    held = tmp_path / "held"
    doomed = pool.worker("--no-nanny", FAKE_ENGINE="1", FAKE_HOLD=str(held))
    with sweeping(place, pool, "--shard", "1/12") as started:
        patiently(lambda: held.exists() and held.read_text().endswith("\n"), "a repetition")
        doomed.kill()
        said = started.communicate(timeout=PATIENCE_S)[1]
    assert started.returncode == 4
    assert "workers died at it, the last at tcp://127.0.0.1:" in said
    assert "replay: " in said
    assert "Traceback" not in said
    fork = Path("/proc") / held.read_text().strip()
    patiently(lambda: not fork.exists(), "the end of what the worker had begun")


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"FAKE_BUILD": "another"}, "would not do the same: build is another, here "),
        ({"NO_POCKETSIM": "1"}, " has no pocketsim, or an older one"),
    ],
)
def test_a_worker_that_is_not_as_we_are_is_refused(place, pool, variables, reason):
    from distributed import Client

    pool.worker("--no-nanny", **variables)
    with Client(scheduler_file=str(pool.file), set_as_default=False) as client:
        client.wait_for_workers(1, timeout=PATIENCE_S)
    done = place("sweep", "run", "sweep.toml", *dask(pool), code=5)
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((place.folder / "runs").glob("small/*"))


def test_an_interrupt_ends_it_and_the_same_goes_on(place, pool):
    locks = place.folder / "runs" / "small"
    with sweeping(place, pool) as started:
        # Nobody makes them: there is no worker yet.
        patiently(lambda: len(list(locks.glob(".lock-*"))) == RUNS, "runs that are handed over")
        started.terminate()
        said = started.communicate(timeout=PATIENCE_S)[1]
    assert started.returncode == 130, said
    assert "interrupted" in said
    assert not list(locks.iterdir())
    pool.worker()
    # An address does, too, and what dask itself is told.
    address = pool.address()
    place("sweep", "run", "sweep.toml", "--executor", "dask", DASK_SCHEDULER_ADDRESS=address)


@pytest.mark.parametrize(
    ("scheduler", "error", "reason"),
    [
        ("tcp://127.0.0.1:9", EnvironmentMissingError, "no dask scheduler at tcp://127.0.0.1:9 ("),
        ("nowhere", EnvironmentMissingError, "no dask scheduler at nowhere ("),
        (None, UserError, "--scheduler: name one, such as"),
    ],
)
def test_a_scheduler_that_is_not_there_is_said(monkeypatch, scheduler, error, reason):
    if importlib.util.find_spec("distributed") is None:
        skip("no dask.distributed, which is in the extra `dask`")
    monkeypatch.setattr(dask_backend, "_PATIENCE_S", 0.2)
    with pytest.raises(error, match=re.escape(reason)), dask_backend.connected(scheduler):
        pass
