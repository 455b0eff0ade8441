"""The benchmark: every simulator runs the workload, and what runs another one is refused.

Nothing here looks at a time of the machine.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "bench"))  # scripts, not a package
import check
import cost
import own_protocol
import report as timing
import rivals
import run
import tables
import turns
import workload
from forks import forked

HOSTS, SECONDS = 20, 2.0
MEAN_S = check.mean_latency_s()
SD_S = 7.4e-3


@pytest.fixture(scope="session")
def programs():
    """Build the C++ programs as `make bench` does, with the SimGrid that is there."""
    make = shutil.which("make")
    if make is None or shutil.which("g++") is None:
        pytest.skip("no compiler")
    names = ("bare_loop", "bare_queues", "bare_queues_o2")
    targets = [f"build/bench/{name}" for name in names]
    subprocess.run([make, "-o", "build/simgrid/.complete", *targets], cwd=ROOT, check=True)


def result_of(count, mean_s=MEAN_S, sd_s=SD_S):
    return {"transactions": count, "mean_latency_s": mean_s, "latency_sd_s": sd_s}


@pytest.fixture(scope="session")
def whole(programs, tmp_path_factory):
    """Run all of them for a moment; return what was printed, and the folder of what was written."""
    folder = tmp_path_factory.mktemp("bench")
    command = [sys.executable, ROOT / "bench" / "run.py", "--repetitions", "1"]
    command += ["--hosts", HOSTS, "--seconds", SECONDS, "--memory", 2_000, 12_000]
    command += ["--out", folder / "result.json"]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


@pytest.mark.engine
@pytest.mark.slow
def test_all_simulators_run_the_same_workload(whole):
    printed, folder = whole
    rows = json.loads((folder / "result.json").read_text())["hosts"][str(HOSTS)]
    assert list(rows) == [rival.name for rival in rivals.found()]
    counts = [row["transactions"] for row in rows.values()]
    # The difference of two Poisson counts, at four standard deviations.
    assert max(counts) - min(counts) <= 4 * math.sqrt(2 * HOSTS * SECONDS)
    assert all(name in printed for name in rows)


@pytest.mark.engine
@pytest.mark.slow
def test_all_are_compared_with_the_limit_within_their_turn(whole):
    printed, folder = whole
    rows = json.loads((folder / "result.json").read_text())["hosts"][str(HOSTS)]
    limit_per_s = rows[rivals.LIMIT]["rate_per_s"]["median"]
    for row in rows.values():
        ratio = row["rate_per_s"]["median"] / limit_per_s
        assert row["to_limit"] == pytest.approx(dict.fromkeys(("low", "median", "high"), ratio))
    assert f"which part of the rate of {rivals.LIMIT} each reaches" in printed


@pytest.mark.engine
@pytest.mark.slow
def test_the_memory_of_a_phone_is_measured(whole):
    printed, folder = whole
    memory = json.loads((folder / "result.json").read_text())["memory"]
    assert memory["phones"] == [2_000, 12_000]
    for taken in memory["bytes"].values():
        assert list(taken) == list(tables.TAKERS)
        # A page less than what its state is, since memory of the plan's making is used again.
        assert 100 < taken["idle_phone_bytes"] < 100_000
    kept = memory["bytes"]["trustchain"]  # what it has traded it stores
    assert kept["used_phone_bytes"] > kept["idle_phone_bytes"]
    assert "bar: idle phone below 3,000: " in printed


@pytest.mark.engine
@pytest.mark.slow
def test_the_page_is_complete_in_one_file(whole):
    _, folder = whole
    html = (folder / "cost.html").read_text(encoding="utf-8")
    body = html[html.index('<div class="page">') :]
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", body) == []
    assert "<title>What a simulated transaction costs</title>" in html
    assert 'role="group" aria-label="Wall time of a transaction: ' in body
    assert all(f'"name":"{rival.name}"' in body for rival in rivals.found())


@pytest.mark.engine
@pytest.mark.parametrize("seconds", ["2", "3.5"])
def test_pocketsims_part_runs_alone(seconds):
    done = subprocess.run(
        [*rivals.RIVALS[0].command, "25", seconds], capture_output=True, text=True, check=True
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
    rates = [
        {"heapq": 10.0, "gossip": 1.0},
        {"heapq": 4.0, "gossip": 2.0},
        {"heapq": 5.0, "gossip": 1.0},
    ]
    assert turns.ratios(rates, "gossip", "heapq") == (0.1, 0.2, 0.5)


def result_row(rate_per_s, memory_mb=64.0):
    row = {**dict.fromkeys(run.KEPT, 0.04), "simulated_s": 2.0, "memory_mb": memory_mb}
    return {**row, "rate_per_s": rate_per_s}


@pytest.fixture
def found():
    """What two sizes came to, of which the larger was too much for all but pocketsim."""
    small = [
        {
            "pocketsim": result_row(4e5),
            rivals.LIMIT: result_row(8e5),
            rivals.HEAPQ: result_row(2e5),
        },
        {
            "pocketsim": result_row(1e5),
            rivals.LIMIT: result_row(1e6),
            rivals.HEAPQ: result_row(1e5),
        },
    ]
    hosts = {100: run.summarise(small), 10_000: run.summarise([{"pocketsim": result_row(2e5)}])}
    taken = {"idle_phone_bytes": 527.3, "used_phone_bytes": 12_000.2, "transaction_bytes": 119.0}
    return {
        "machine": run.machine(),
        "repetitions": 2,
        "differs": {"pocketsim": "messages <have> headers"},
        "hosts": hosts,
        "memory": {
            "phones": [20_000, 120_000],
            "bars_bytes": {"idle_phone_bytes": 3_000, "used_phone_bytes": 10_000},
            "bytes": {"pairwise": taken},
        },
    }


def test_simulator_that_was_not_run_has_no_ratio(found):
    assert found["hosts"][100]["pocketsim"]["to_limit"] == {"low": 0.1, "median": 0.3, "high": 0.5}
    assert found["hosts"][10_000]["pocketsim"]["to_limit"] is None


def test_the_tables_say_what_was_not_run_and_which_bar_is_missed(found, capsys):
    tables.print_table(10_000, 1, found["hosts"][10_000])
    tables.print_summary(found)
    tables.print_memory(found["memory"])
    printed = capsys.readouterr().out
    limit = re.escape(rivals.LIMIT)
    assert re.search(rf"^{limit} +0\.3 +not run$", printed, re.MULTILINE)
    assert re.search(r"^pocketsim +2 +200,000 +5 ", printed, re.MULTILINE)
    assert re.search(r"^pairwise +527 +12,000 +119$", printed, re.MULTILINE)
    assert "bar: idle phone below 3,000: met\nbar: phone that traded below 10,000: miss" in printed


def test_the_chart_has_a_line_for_each_with_its_range(found):
    chart = cost.chart(found)
    own, limit, heapq = chart.data
    assert (own.name, limit.name, heapq.name) == ("pocketsim", rivals.LIMIT, rivals.HEAPQ)
    assert (own.x, limit.x) == ((100, 10_000), (100,))
    assert own.y == pytest.approx((4.0, 5.0))  # of 2.5 and 10 us, by the median rate
    assert own.error_y.array == pytest.approx((6.0, 0.0))
    assert own.error_y.arrayminus == pytest.approx((1.5, 0.0))
    assert (chart.layout.xaxis.type, chart.layout.yaxis.type) == ("log", "log")
    assert len({(trace.line.color, trace.line.dash) for trace in chart.data}) == 3


def test_the_page_has_every_figure(found):
    html = cost.page(found).html("plotly.js")
    cells = '</td><td class="n">'.join
    assert cells(["not run", "not run", "64", "6.7"]) in html  # 64 MiB for ten thousand phones
    assert cells(["527", "12,000", "119"]) in html
    assert cells(["below 3,000", "below 10,000", ""]) in html
    assert "messages &lt;have&gt; headers" in html


@pytest.mark.parametrize(
    ("name", "hosts", "expected_s"),
    [
        ("pocketsim", 10_000, 60.0),
        ("pocketsim", 100_000, 20.0),
        (rivals.LIMIT, 100_000, 16.0),
        (rivals.HEAPQ, 100_000, 4.8),
        ("SimPy, as documented", 100_000, 0.0),
    ],
)
def test_slower_simulators_run_shorter_or_not_at_all(name, hosts, expected_s):
    (rival,) = (rival for rival in rivals.RIVALS if rival.name == name)
    assert run.affordable_s(rival, hosts, 60.0) == expected_s


def test_further_rivals_take_part_where_they_are(monkeypatch, tmp_path):
    there, absent = (rivals.Rival(name, (str(tmp_path / name),), 1.0) for name in ("a", "b"))
    (tmp_path / "a").touch()
    monkeypatch.setattr(rivals, "FURTHER", (there, absent))
    assert rivals.found() == [*rivals.RIVALS, there]


def test_two_numbers_of_phones_are_in_order(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["run.py", "--memory", "2000", "2000"])
    with pytest.raises(SystemExit, match="2"):
        run.parse()
    assert "the second number is to be larger" in capsys.readouterr().err


def test_the_peak_of_memory_is_a_programs_own():
    folder = str(ROOT / "bench")
    says = f"import sys; sys.path.append({folder!r}); import report; print(report.peak_memory_mb())"
    # As a process that has had 200 MB.
    starts = "import os, sys; bytearray(200 << 20); os.execv(sys.executable, sys.argv[1:])"
    command = [sys.executable, "-c", starts, sys.executable, "-c", says]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 1 < float(done.stdout) < 100
    assert timing.peak_memory_mb() > float(done.stdout)


def test_a_fork_says_what_it_measured_or_that_it_failed():
    assert forked(lambda: 0.1 + 0.2) == 0.1 + 0.2
    with pytest.raises(ValueError, match="could not convert"):
        forked(lambda: 1 / 0)


def test_a_simulator_that_fails_says_why():
    rival = rivals.Rival("broken", (sys.executable, "-c", "raise SystemExit('out of luck')"), 1.0)
    with pytest.raises(SystemExit, match="broken: exit code 1\nout of luck"):
        run.measure(rival, HOSTS, SECONDS)


def test_the_mean_latency_is_that_of_the_workload():
    assert pytest.approx(0.04259, abs=1e-5) == MEAN_S


def test_deviation_within_chance_passes():
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
