import collections
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sim import sweep
from sim.errors import ScenarioError

SWEEP = """
[sweep]
scenario = "small.toml"
seed = [1, 2]

[axes]
"transport.mode" = ["udp", "quic_keep"]
"workload.rate" = ["1/s", "2/s", "4/s"]
"""


@pytest.fixture
def sweep_file(scenario, tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


# Few enough to run: children take half a second each.
SMALL = """
[sweep]
scenario = "small.toml"

[axes]
"run.repetitions" = [1]
"transport.mode" = ["udp", "quic_keep"]
"workload.rate" = ["1/s", "2/s", "4/s"]
"""


@pytest.fixture
def small_sweep(sweep_file):
    sweep_file.write_text(SMALL)
    return sweep_file


def test_the_grid_is_the_product(sweep_file, tmp_path):
    points = sweep.load_sweep(sweep_file, tmp_path / "runs")
    assert len(points) == 12
    assert points[1].overrides == ('transport.mode="udp"', 'workload.rate="1/s"', "run.seed=2")
    assert len(sweep.unique_tasks(points)) == 12


def test_shards_are_a_partition(sweep_file, tmp_path):
    points = sweep.load_sweep(sweep_file, tmp_path / "runs")
    shards = [sweep.shard(points, number, 5) for number in range(1, 6)]
    names = [point.overrides for shard in shards for point in shard]
    assert sorted(names) == sorted(point.overrides for point in points)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"workload.rate"', '"workload.raet"', "sweep.toml [axes]: workload.raet: unknown key"),
        ('"4/s"', '"4"', "sweep.toml [axes]: workload.rate: '4' has no unit"),
        ('"small.toml"', '"smal.toml"', "smal.toml: no such file"),
        ("[sweep]", "[swep]", "sweep.toml: swep: unknown key (did you mean sweep?)"),
        ('["udp", "quic_keep"]', "[]", "sweep.toml: axes.transport.mode: "),
        ('["udp", "quic_keep"]', '"udp"', "sweep.toml: axes.transport.mode: must be a list"),
        ('["udp", "quic_keep"]', "[2025-01-01]", 'axes."transport.mode": '),
    ],
)
def test_mistakes_are_found_before_anything_runs(sweep_file, tmp_path, old, new, expected):
    sweep_file.write_text(SWEEP.replace(old, new))
    with pytest.raises(ScenarioError) as caught:
        sweep.load_sweep(sweep_file, tmp_path / "runs")
    assert expected in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_a_sweep_runs_and_goes_on(cli, small_sweep, tmp_path):
    done = cli("sweep", "run", small_sweep, "--shard", "1/2", "--json")
    assert done.returncode == 0, done.stderr
    assert [of["status"] for of in json.loads(done.stdout)["runs"]] == ["ran"] * 3
    done = cli("sweep", "run", small_sweep, "--json")
    rows = json.loads(done.stdout)["runs"]
    assert collections.Counter(of["status"] for of in rows) == {"ran": 3, "reused": 3}
    assert all((tmp_path / of["directory"]).is_dir() for of in rows)


def test_failed_runs_are_exit_4_and_can_be_retried(fake_cli, small_sweep):
    shard = ("--shard", "1/3")
    done = fake_cli("sweep", "run", small_sweep, "--json", *shard, FAKE_ABORT="0")
    assert done.returncode == 4
    assert {of["status"] for of in json.loads(done.stdout)["runs"]} == {"failed"}
    assert "Traceback" not in done.stderr
    assert fake_cli("sweep", "run", small_sweep, *shard).returncode == 0


@pytest.mark.parametrize("shard", ["0/2", "3/2", "x", "1"])
def test_a_bad_shard_is_usage(cli, sweep_file, shard):
    done = cli("sweep", "run", sweep_file, "--shard", shard)
    assert done.returncode == 2
    assert "--shard" in done.stderr


def test_a_killed_sweep_goes_on_without_running_anything_twice(fake_cli, small_sweep, tmp_path):
    log = tmp_path / "log"
    variables = {"FAKE_LOG": str(log), "FAKE_SLEEP_S": "0.1"}
    command = [*fake_cli.command, "sweep", "run", str(small_sweep), "--jobs", "2"]
    for done_before_kill in (1, 3):
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env={**fake_cli.environment, **variables},
            stderr=subprocess.DEVNULL,
        )
        wait_for_runs(tmp_path / "runs" / "small", done_before_kill)
        process.send_signal(signal.SIGKILL)
        process.wait()
    complete = list((tmp_path / "runs" / "small").glob("[!.]*"))
    finished_ns = {path: (path / "manifest.json").stat().st_mtime_ns for path in complete}
    assert 3 <= len(complete) < 6
    done = fake_cli("sweep", "run", small_sweep, "--json", **variables)
    statuses = collections.Counter(of["status"] for of in json.loads(done.stdout)["runs"])
    assert statuses == {"ran": 6 - len(complete), "reused": len(complete)}
    for path, time_ns in finished_ns.items():
        assert (path / "manifest.json").stat().st_mtime_ns == time_ns
    left = [path.name for path in (tmp_path / "runs" / "small").glob(".*")]
    assert left == []
    # Six repetitions; beyond them only those of runs that one of two kills cut short.
    assert 6 <= len(log.read_text().splitlines()) <= 6 + 2 * 2


def test_two_sweeps_at_once_share_the_work(fake_cli, small_sweep, tmp_path):
    log = tmp_path / "log"
    variables = {"FAKE_LOG": str(log), "FAKE_SLEEP_S": "0.05"}
    command = [*fake_cli.command, "sweep", "run", str(small_sweep), "--jobs", "1"]
    processes = [
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env={**fake_cli.environment, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    assert len(log.read_text().splitlines()) == 6
    assert len(list((tmp_path / "runs" / "small").iterdir())) == 6


def wait_for_runs(folder, count):
    for _ in range(2000):
        if len(list(Path(folder).glob("[!.]*"))) >= count:
            return
        time.sleep(0.02)
    raise AssertionError(f"{count} runs did not end; {list(Path(folder).iterdir())}")
