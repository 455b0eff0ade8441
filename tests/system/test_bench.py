"""The benchmark: every simulator runs the workload, and what runs another one is refused.

Nothing here looks at a time of the machine.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "bench"))  # scripts, not a package
import check
import own_protocol
import run
import workload

HOSTS, SECONDS = 20, 2.0
MEAN_S = check.mean_latency_s()
SD_S = 7.4e-3


@pytest.fixture(scope="session")
def programs():
    """Build the C++ programs as `make bench` does, with the SimGrid that is there."""
    make = shutil.which("make")
    if make is None or shutil.which("g++") is None:
        pytest.skip("no compiler")
    targets = ["build/bench/bare_loop", "build/bench/bare_queues"]
    subprocess.run([make, "-o", "build/simgrid/.complete", *targets], cwd=ROOT, check=True)


def result_of(count, mean_s=MEAN_S, sd_s=SD_S):
    return {"transactions": count, "mean_latency_s": mean_s, "latency_sd_s": sd_s}


@pytest.mark.engine
@pytest.mark.slow
def test_all_simulators_run_the_same_workload(programs, tmp_path):
    out = tmp_path / "result.json"
    command = [sys.executable, ROOT / "bench" / "run.py", "--repetitions", "1"]
    command += ["--hosts", HOSTS, "--seconds", SECONDS, "--out", out]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())["hosts"][str(HOSTS)]
    assert list(rows) == [rival.name for rival in run.RIVALS]
    counts = [row["transactions"] for row in rows.values()]
    # The difference of two Poisson counts, at four standard deviations.
    assert max(counts) - min(counts) <= 4 * math.sqrt(2 * HOSTS * SECONDS)
    assert all(name in done.stdout for name in rows)


@pytest.mark.engine
@pytest.mark.parametrize("seconds", ["2", "3.5"])
def test_pocketsims_part_runs_alone(seconds):
    done = subprocess.run(
        [*run.RIVALS[0].command, "25", seconds], capture_output=True, text=True, check=True
    )
    result = json.loads(done.stdout)
    assert result["run_s"] > 0
    assert not check.mistakes(result, 25, float(seconds))


@pytest.mark.engine
@pytest.mark.parametrize("arrivals", [0, 1_000])
def test_a_plan_is_handed_over_and_nothing_happens_in_it(arrivals):
    script = ROOT / "bench" / "hand_over.py"
    done = subprocess.run(
        [sys.executable, script, str(arrivals)], capture_output=True, text=True, check=True
    )
    result = json.loads(done.stdout)
    assert list(result) == ["arrivals", "hand_over_s", "memory_beyond_arrays_mb"]
    assert result["arrivals"] == arrivals
    assert result["hand_over_s"] > 0
    assert result["memory_beyond_arrays_mb"] >= 0


@pytest.mark.engine
def test_protocols_in_python_take_turns_with_heapq():
    script = ROOT / "bench" / "own_protocol.py"
    command = [sys.executable, script, "100", "5", "--repetitions", "1", "--no-bar"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split()
    assert all(name in lines for name in own_protocol.NAMES)


@pytest.mark.engine
def test_gossip_makes_the_work_that_it_is_counted_for():
    script = ROOT / "bench" / "own_protocol.py"
    command = [sys.executable, script, "--only", "gossip", "200", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["transactions"]
    # Rumours are told by nearly all; so many arrive by chance, at four standard deviations.
    per_rumour = 200 * own_protocol.FANOUT / 2
    expected = 200 * 20
    assert abs(found - expected) < 4 * per_rumour * math.sqrt(expected / per_rumour)


def test_ratios_are_taken_within_a_turn():
    turns = [
        {"heapq": 10.0, "gossip": 1.0},
        {"heapq": 4.0, "gossip": 2.0},
        {"heapq": 5.0, "gossip": 1.0},
    ]
    assert own_protocol.ratios(turns, "gossip") == (0.1, 0.2, 0.5)


def test_a_simulator_that_fails_says_why():
    rival = run.Rival("broken", (sys.executable, "-c", "raise SystemExit('out of luck')"), 1.0)
    with pytest.raises(SystemExit, match="broken: exit code 1\nout of luck"):
        run.measure(rival, HOSTS, SECONDS)


def test_the_mean_latency_is_that_of_the_workload():
    assert pytest.approx(0.04259, abs=1e-5) == MEAN_S


def test_what_chance_explains_passes():
    # Two other implementations of the workload at their own seeds, 1000 hosts for 60 s.
    assert not check.mistakes(result_of(59_797, 0.043148, 7.77e-3), 1_000, 60)
    assert not check.mistakes(result_of(60_110, 0.041781, 7.33e-3), 1_000, 60)


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (result_of(599_575, mean_s=MEAN_S + 2 * workload.TRANSMISSION_S), "mean latency"),
        (result_of(599_575, mean_s=0.0413), "mean latency"),  # every latency its median
        (result_of(599_575, sd_s=0.1e-3), "standard deviation"),
        (result_of(599_575, sd_s=15e-3), "standard deviation"),
        (result_of(590_000), "transactions"),
        (result_of(610_000), "transactions"),
    ],
)
def test_another_workload_is_refused(result, reason):
    (found,) = check.mistakes(result, 10_000, 60)
    assert reason in found


def test_a_model_that_says_what_it_adds_is_held_to_that():
    further_s = 2 * workload.TRANSMISSION_S
    result = result_of(599_575, MEAN_S + further_s)
    assert not check.mistakes(result, 10_000, 60, further_s)
    assert check.mistakes(result_of(599_575), 10_000, 60, further_s)


def test_the_tolerance_shrinks_with_the_hosts():
    # Sixteen times the hosts, a quarter of what chance does; what models differ by stays.
    wide_s, narrow_s = (check.latency_tolerance_s(hosts, 60) for hosts in (100, 1_600))
    assert (wide_s - 0.1e-3) == pytest.approx(4 * (narrow_s - 0.1e-3))


@pytest.mark.parametrize(
    ("factor", "options", "code"), [(1.04, [], 0), (1.2, [], 3), (1.2, ["--no-bar"], 0)]
)
def test_repeated_reports_are_judged_unless_told_otherwise(tmp_path, factor, options, code):
    report = json.loads((ROOT / "tests" / "reports" / "linux_vm.json").read_text())
    report["spoiled"] = []
    (tmp_path / "1.json").write_text(json.dumps(report))
    for measurement in report["measurements"]:
        if measurement["group"] == "crypto" and measurement["status"] == "measured":
            (wall,) = (each for each in measurement["quantities"] if each["name"] == "wall_s")
            wall["samples"]["median"] *= factor
    (tmp_path / "2.json").write_text(json.dumps(report))
    command = [sys.executable, ROOT / "bench" / "repeat.py", "1.json", "2.json", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
