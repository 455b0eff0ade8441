import collections
import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pocketsim.sim.base import files
from pocketsim.sim.base.errors import RunInProgressError, ScenarioError
from pocketsim.sim.run import rundir, runner, sweep

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


AXES = ("transport.mode", "workload.rate")
ZIP = """
[[zip]]
"devices[0].count" = [2, 3, 5]
"network.access.home_wifi.latency" = ["1ms", "2ms", "3ms"]
"""


@pytest.fixture
def small_sweep(sweep_file):
    sweep_file.write_text(SMALL)
    return sweep_file


def test_the_grid_is_the_product(sweep_file, tmp_path):
    points = sweep.load_sweep(sweep_file, tmp_path / "runs").points
    assert len(points) == 12
    assert points[1].overrides == ('transport.mode="udp"', 'workload.rate="1/s"', "run.seed=2")
    assert len(sweep.unique_tasks(points)) == 12


def test_lists_of_a_zip_advance_together(sweep_file, tmp_path):
    sweep_file.write_text(SMALL + ZIP)
    points = sweep.load_sweep(sweep_file, tmp_path / "runs").points
    assert len(points) == 2 * 3 * 3
    together = [tuple(point.values.values())[-2:] for point in points[:4]]
    assert together == [(2, "1ms"), (3, "2ms"), (5, "3ms"), (2, "1ms")]
    first = points[1].tasks[0].rungs[0].resolved
    assert first["devices"][0]["count"] == 3
    assert first["network"]["access"]["home_wifi"]["latency_s"] == 0.002


def test_a_swept_text_stays_what_it_is(small_sweep, tmp_path):
    text = '\U0001f4f1 \u00b5 "\\ \t\n\x7f'
    axis = '\n"title" = ["\\U0001F4F1 \\u00b5 \\"\\\\ \\t\\n\\u007F"]\n'
    small_sweep.write_text(SMALL + axis)
    points = sweep.load_sweep(small_sweep, tmp_path / "runs").points
    assert {point.tasks[0].document.scenario.title for point in points} == {text}


def test_the_shipped_mix_keeps_its_shares(root, tmp_path):
    points = sweep.load_sweep(
        root / "pocketsim/scenarios/sweeps/population.toml", tmp_path / "runs"
    ).points
    groups = [point.tasks[0].rungs[0].resolved["devices"] for point in points]
    assert [sum(group["count"] for group in devices) for devices in groups] == [100, 300, 500] * 2
    shares = {
        tuple(group["count"] / sum(one["count"] for one in devices) for group in devices)
        for devices in groups
    }
    assert shares == {(0.57, 0.38, 0.05)}


def test_two_zips_multiply(sweep_file, tmp_path):
    sweep_file.write_text(
        SMALL.partition("[axes]")[0]
        + ZIP
        + '[[zip]]\n"run.seed" = [1, 2]\n"workload.start" = [0, 0]\n'
    )
    points = sweep.load_sweep(sweep_file, tmp_path / "runs").points
    assert [(point.values["devices[0].count"], point.values["run.seed"]) for point in points] == [
        (count, seed) for count in (2, 3, 5) for seed in (1, 2)
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            '["1ms", "2ms", "3ms"]',
            '["1ms", "2ms"]',
            'zip[0]: "devices[0].count" has 3 values and "network.access.home_wifi.latency" 2; ',
        ),
        (
            '"devices[0].count"',
            '"workload.rate"',
            'zip[0]: "workload.rate" has its values from axes already',
        ),
        ('"1ms"', '"1"', "[axes], [[zip]]: network.access.home_wifi.latency: '1' has no unit"),
        ("[[zip]]", "[[zipp]]", "zipp: unknown key (did you mean zip?)"),
    ],
)
def test_mistakes_in_a_zip_are_found(sweep_file, tmp_path, old, new, expected):
    sweep_file.write_text(SMALL + ZIP.replace(old, new))
    with pytest.raises(ScenarioError) as caught:
        sweep.load_sweep(sweep_file, tmp_path / "runs")
    assert expected in str(caught.value)


def test_a_seed_is_given_once(sweep_file, tmp_path):
    sweep_file.write_text(SWEEP + '"run.seed" = [3]\n')
    with pytest.raises(ScenarioError, match=r'sweep.seed: "run.seed" has its values from axes'):
        sweep.load_sweep(sweep_file, tmp_path / "runs")


def test_a_shard_resolves_its_own_points_only(sweep_file, tmp_path, monkeypatch):
    resolved = []
    tasks_of = sweep.tasks_of

    def counted(document, *rest):
        resolved.append(document.overrides)
        return tasks_of(document, *rest)

    monkeypatch.setattr(sweep, "tasks_of", counted)
    points = sweep.load_sweep(sweep_file, tmp_path / "runs", 2, 5).points
    assert resolved == [point.overrides for point in points]
    assert len(points) == 3


def test_a_sweep_reads_its_scenario_and_a_profile_once(sweep_file, tmp_path, monkeypatch):
    opened = collections.Counter()
    read_text = files._read_text

    def counted(path):
        opened[path.name] += 1
        return read_text(path)

    monkeypatch.setattr(files, "_read_text", counted)
    assert len(sweep.load_sweep(sweep_file, tmp_path / "runs").points) == 12
    assert opened == {
        "sweep.toml": 1,
        "small.toml": 1,
        "moto_g04s.toml": 1,
        "every_transport.toml": 1,
    }


def test_shard_checks_its_own_points_and_check_all_points(cli, sweep_file, tmp_path):
    sweep_file.write_text(SWEEP.replace('"4/s"', '"4000/s"'))
    with pytest.raises(ScenarioError, match="floors to a sleep of 0 ms"):
        sweep.load_sweep(sweep_file, tmp_path / "runs", 5, 12)
    assert len(sweep.load_sweep(sweep_file, tmp_path / "runs", 1, 12).points) == 1
    done = cli("check", sweep_file)
    assert (done.returncode, done.stdout) == (2, "")
    assert "floors to a sleep of 0 ms" in done.stderr


def test_shards_are_a_partition(sweep_file, tmp_path):
    points = sweep.load_sweep(sweep_file, tmp_path / "runs").points
    shards = [
        sweep.load_sweep(sweep_file, tmp_path / "runs", number, 5).points for number in range(1, 6)
    ]
    names = [point.overrides for shard in shards for point in shard]
    assert sorted(names) == sorted(point.overrides for point in points)


def test_a_scenario_of_the_package_needs_no_path(sweep_file, tmp_path):
    sweep_file.write_text(SWEEP.replace('"small.toml"', '"udp_100b"'))
    (one, *_) = sweep.load_sweep(sweep_file, tmp_path / "runs").points
    assert one.tasks[0].document.path.name == "udp_100b.toml"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"workload.rate"', '"workload.raet"', "sweep.toml [axes]: workload.raet: unknown key"),
        ('"4/s"', '"4"', "sweep.toml [axes]: workload.rate: '4' has no unit"),
        ('"small.toml"', '"smal.toml"', "sweep.toml: sweep.scenario: no such file"),
        (
            '"small.toml"',
            '"comute"',
            "comute'; a file's name ends in .toml (did you mean commute",
        ),
        ('"small.toml"', '"small"', "ends in .toml (did you mean small.toml"),
        ("[sweep]", "[swep]", "sweep.toml: swep: unknown key (did you mean sweep?)"),
        ('["udp", "quic_keep"]', "[]", "sweep.toml: axes.transport.mode: "),
        ('["udp", "quic_keep"]', '"udp"', "sweep.toml: axes.transport.mode: must be a list"),
        ('["udp", "quic_keep"]', "[2025-01-01]", "sweep.toml [axes]: transport.mode: "),
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
    assert [row["status"] for row in json.loads(done.stdout)["runs"]] == ["ran"] * 3
    done = cli("sweep", "run", small_sweep, "--json")
    rows = json.loads(done.stdout)["runs"]
    assert collections.Counter(row["status"] for row in rows) == {"ran": 3, "reused": 3}
    assert all((tmp_path / row["directory"]).is_dir() for row in rows)


def test_failed_runs_are_exit_4_and_can_be_retried(fake_cli, small_sweep):
    shard = ("--shard", "1/3")
    done = fake_cli("sweep", "run", small_sweep, "--json", *shard, FAKE_ABORT="0")
    assert done.returncode == 4
    assert {row["status"] for row in json.loads(done.stdout)["runs"]} == {"failed"}
    assert "Traceback" not in done.stderr
    assert fake_cli("sweep", "run", small_sweep, *shard).returncode == 0


@pytest.mark.slow
def test_one_run_of_a_hundred_that_aborts_is_one_named_failure(fake_cli, scenario, tmp_path):
    sweep_file = tmp_path / "hundred.toml"
    axes = f'"workload.rate" = ["4/s"]\n"run.seed" = {list(range(100))}\n'
    table = '[sweep]\nscenario = "small.toml"\nrepetitions = 1\n'
    sweep_file.write_text(f"{table}[axes]\n{axes}")
    done = fake_cli("sweep", "run", sweep_file, FAKE_ABORT_SEED="42")
    assert done.returncode == 4
    assert len(done.stdout.splitlines()) == 99
    (failure,) = [line for line in done.stderr.splitlines() if "ended with SIGABRT" in line]
    assert "udp-100B-4ps-" in failure
    (replay,) = [line for line in done.stderr.splitlines() if line.startswith("replay: ")]
    job = json.loads(Path(replay.rpartition(" < ")[2]).read_text())
    assert job["resolved"]["run"]["seed"] == 42


def test_a_full_disk_ends_a_sweep_with_one_line(cli, small_sweep, tmp_path, limited):
    with limited(500):
        done = cli("sweep", "run", small_sweep)
    assert (done.returncode, done.stdout) == (5, ""), done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{tmp_path}/runs/small/.tmp-")
    assert line.endswith("/repetition-0.parquet: file too large")
    assert list((tmp_path / "runs" / "small").iterdir()) == []


@pytest.mark.parametrize("shard", ["0/2", "3/2", "x", "1", "1/" + "9" * 5000])
def test_a_bad_shard_is_usage(cli, sweep_file, shard):
    done = cli("sweep", "run", sweep_file, "--shard", shard)
    assert done.returncode == 2
    assert "--shard" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 2000


@pytest.mark.slow
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
    statuses = collections.Counter(row["status"] for row in json.loads(done.stdout)["runs"])
    assert statuses == {"ran": 6 - len(complete), "reused": len(complete)}
    for path, time_ns in finished_ns.items():
        assert (path / "manifest.json").stat().st_mtime_ns == time_ns
    left = [path.name for path in (tmp_path / "runs" / "small").glob(".*")]
    assert left == []
    # Six repetitions; beyond them only those of runs that one of two kills cut short.
    assert 6 <= len(log.read_text().splitlines()) <= 6 + 2 * 2


@pytest.mark.slow
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
    # 4: the other was still at some run when this one had nothing else to do.
    assert {process.wait(timeout=60) for process in processes} <= {0, 4}
    assert len(log.read_text().splitlines()) == 6
    assert len(list((tmp_path / "runs" / "small").iterdir())) == 6


def busy_and_there(small_sweep, out):
    """Make the first run, and hold the lock of the second, as a process would that is at it."""
    points = sweep.load_sweep(small_sweep, out).points
    there, busy = points[0].tasks, points[1].tasks
    runner.run_tasks(there, 1)
    (folder,) = {task.folder for task in busy}
    return folder / busy[0].rungs[0].name


def test_run_held_by_another_process_is_exit_4(fake_cli, fake_engine, small_sweep, tmp_path):
    held = busy_and_there(small_sweep, tmp_path / "runs")
    with rundir.lock(held):
        done = fake_cli("sweep", "run", small_sweep)
    assert done.returncode == 4
    directories = [tmp_path / line for line in done.stdout.splitlines()]
    assert len(directories) == 5
    assert all(directory.is_dir() for directory in directories)
    assert f"{held.relative_to(tmp_path)}: {held.name} is being run by process" in done.stderr
    done = fake_cli("sweep", "run", small_sweep)
    assert done.returncode == 0
    assert str(held.relative_to(tmp_path)) in done.stdout.splitlines()


def test_a_run_that_another_process_ended_meanwhile_is_there(
    fake_engine, small_sweep, tmp_path, monkeypatch
):
    (task, *_) = sweep.load_sweep(small_sweep, tmp_path / "runs").points[0].tasks
    runner.run_tasks([task], 1)

    def held(_target):
        raise RunInProgressError("somebody is at it")

    monkeypatch.setattr(rundir, "lock", held)
    (outcome,) = runner.run_tasks([task], 1, keep_going=True)
    assert (outcome.status, outcome.error) == ("reused", None)


def test_a_plan_tells_what_is_there(cli, fake_engine, small_sweep, tmp_path):
    held = busy_and_there(small_sweep, tmp_path / "runs")
    with rundir.lock(held):
        said = cli("sweep", "plan", small_sweep).stdout
        found = json.loads(cli("sweep", "plan", small_sweep, "--json").stdout)
    assert said.splitlines()[:3] == [
        "points: 6",
        "runs: 6 (1 there, 4 missing, 1 being run)",
        "repetitions: 6 (1 there, 4 missing, 1 being run)",
    ]
    expected, _, title, head, first, second, *_ = said.splitlines()[3:]
    assert re.fullmatch(r"expected: .* s for what is missing", expected)
    assert found["expected_s"] > 0
    assert (title, head.split()[:3]) == ("points", ["run.repetitions", *AXES])
    assert first.split() == ["1", "udp", "1/s", found["rows"][0]["directory"], "there"]
    assert second.split() == ["1", "udp", "2/s", found["rows"][1]["directory"], "being", "run"]
    assert [row["status"] for row in found["rows"]] == ["there", "busy", *["missing"] * 4]
    assert found["runs"] == {"all": 6, "there": 1, "missing": 4, "busy": 1}
    assert found["rows"][1]["point"]["workload.rate"] == {"value": 2.0, "unit": "/s"}
    assert list((tmp_path / "runs" / "small").glob(".*")) == []


def test_a_plan_of_a_shard_counts_its_own(cli, small_sweep, tmp_path):
    found = json.loads(cli("sweep", "plan", small_sweep, "--shard", "2/4", "--json").stdout)
    assert found["points"] == 2
    assert not (tmp_path / "runs").exists()


def test_a_shard_without_points_says_so(cli, small_sweep):
    done = cli("sweep", "run", small_sweep, "--shard", "7/7")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "nothing to run\n")


def test_sweep_plan_does_not_check_the_target(cli, small_sweep, tmp_path):
    (tmp_path / "file").write_text("")
    done = cli("sweep", "plan", small_sweep, "--out", "file")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1] == "runs: 6 (6 missing)"


def test_a_directory_of_several_points_is_printed_once(fake_cli, small_sweep):
    text = SMALL.replace('["udp", "quic_keep"]', '["udp"]')
    small_sweep.write_text(text.replace('["1/s", "2/s", "4/s"]', '["4/s", "4.0/s"]'))
    assert json.loads(fake_cli("sweep", "plan", small_sweep, "--json").stdout)["points"] == 2
    done = fake_cli("sweep", "run", small_sweep)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_suggested_command_repeats_the_given_options(cli, small_sweep):
    done = cli("sweep", "collect", small_sweep, "-o", "a.csv", "--out", "my runs", "--shard", "1/6")
    assert done.returncode == 4
    line = f"pocketsim sweep run {small_sweep} --out 'my runs' --shard 1/6"
    assert done.stderr == f"1 of 1 runs are missing; `{line}` makes them\n"


CHAINS = """
[sweep]
scenario = "small.toml"

[axes]
"run.app" = ["continued"]
"run.repetitions" = [1]
"""


def test_a_chain_and_a_longer_one_run_each_rung_once(fake_cli, scenario, tmp_path):
    log, file = tmp_path / "log", tmp_path / "chains.toml"
    file.write_text(CHAINS + '"workload.rate" = [["4/s"], ["4/s", "8/s"]]\n')
    done = fake_cli("sweep", "run", file, "--json", "--jobs", "2", FAKE_LOG=str(log))
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["runs"]
    assert [row["status"] for row in rows] == ["ran"] * 3
    assert rows[0]["directory"] == rows[1]["directory"]
    assert log.read_text().splitlines() == ["4 0", "8 0"]


def test_chains_that_part_wait_for_what_they_share(fake_cli, scenario, tmp_path):
    log, file = tmp_path / "log", tmp_path / "chains.toml"
    file.write_text(CHAINS + '"workload.rate" = [["4/s", "8/s"], ["4/s", "16/s"]]\n')
    done = fake_cli("sweep", "run", file, "--json", "--jobs", "2", FAKE_LOG=str(log))
    assert done.returncode == 0, done.stderr
    assert [row["status"] for row in json.loads(done.stdout)["runs"]] == ["ran"] * 4
    assert sorted(log.read_text().splitlines()) == ["16 0", "4 0", "8 0"]


def wait_for_runs(folder, count):
    for _ in range(2000):
        if len(list(Path(folder).glob("[!.]*"))) >= count:
            return
        time.sleep(0.02)
    raise AssertionError(f"{count} runs did not end; {list(Path(folder).iterdir())}")
