"""A host's trades: which processes run where and how long, and what is kept of them."""

import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pocketsim.calibration.host import blocks, computer, design, ends, measuring
from pocketsim.calibration.host.design import QUICK
from pocketsim.calibration.host.measuring import Bench
from pocketsim.calibration.inverse.journal import Journal
from pocketsim.sim.base.errors import EnvironmentMissingError
from support import fake_probe

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two ends take two cores")
PROBE = Path(fake_probe.__file__)
EFFORT = replace(QUICK, points=2, proposed_s=1.0, drained_s=0.5)
POINT = replace(design.design(QUICK)[0], carrier="udp", delay_s=0.005, loss="independent")
DIRECT = replace(POINT, name="p99", delay_s=0.0, loss="none")


@pytest.fixture
def calls(tmp_path, monkeypatch):
    log = tmp_path / "calls"
    monkeypatch.setenv("FAKE_PROBE_LOG", str(log))
    return lambda: log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def cores():
    return computer.cores(os.sched_getaffinity(0))


@pytest.fixture
def bench(tmp_path, cores):
    return Bench(PROBE, cores, EFFORT, Journal(tmp_path / "host.journal", "this"))


def test_each_process_has_its_core_and_the_relay_its_faults(bench, calls, cores):
    before = os.sched_getaffinity(0)
    bench.repetition(POINT, 50.0, 3)
    on = {line.partition("] ")[2].split(" -")[0]: line.partition("]")[0] + "]" for line in calls()}
    dial = f"trade dial {fake_probe.RELAY}"
    assert on["trade listen"] == f"[{cores.listener}]"
    assert (on["link"], on[dial]) == (f"[{cores.relay}]", f"[{cores.dialler}]")
    assert os.sched_getaffinity(0) == before
    (link,) = [line for line in calls() if "] link" in line]
    found = re.search(
        rf"--to {fake_probe.LISTENER} --json --seed (\d+) --delay 5ms --loss 1%", link
    )
    assert found, link


def test_no_two_points_nor_repetitions_have_the_same_losses():
    points = [POINT, replace(POINT, name="p98")]
    told = [ends.losses_of(point, number) for point in points for number in range(5)]
    assert len(set(told)) == 10


def test_without_faults_there_is_no_relay(bench, calls):
    found = bench.repetition(DIRECT, 50.0, 0)
    assert found["relay"] is None
    assert not any("] link" in line for line in calls())


def test_figures_are_read_off_the_log_and_the_relay_told(bench):
    found = bench.repetition(POINT, 50.0, 0)
    assert found["figures"]["sent_count"] == 51  # of 1 s, both ends of it
    # Its log says what it took with the relay's delay, of which two passages are off here.
    assert found["figures"]["rtt_p50_s"] == pytest.approx(fake_probe.RTT_S)
    assert measuring.passage_s(found["relay"], POINT.delay_s) == pytest.approx(fake_probe.PASSAGE_S)
    assert found["relay"]["cpu_ratio"] is None or 0 <= found["relay"]["cpu_ratio"] <= 1
    assert set(found) == {"figures", "relay", "steal_ratio", "frequency_hz", "outcome"}


def test_the_relays_share_is_of_the_time_of_proposing(bench, monkeypatch):
    # Start and end of a relay took 2 s and 1 s of a core; 4 s of proposing took 0.8 s.
    readings = [computer.Spent(2.0, 100.0), computer.Spent(2.8, 104.0)]
    waited_s = []
    monkeypatch.setattr(computer, "spent", lambda _pid: readings.pop(0))

    def wait(process, timeout_s):
        waited_s.append(timeout_s)
        process.wait()

    monkeypatch.setattr(ends, "_wait", wait)
    found = bench.repetition(POINT, 50.0, 0)
    assert found["relay"]["cpu_ratio"] == pytest.approx(0.2)
    assert waited_s == [0.4, 2.0]  # until proposing has begun, then all of it
    assert readings == []


def test_a_ramp_ends_where_no_more_is_stored(bench, calls):
    assert bench.capacity_per_s(replace(DIRECT, carrier="tftp")) == pytest.approx(
        fake_probe.CAPACITY_PER_S, rel=0.02
    )
    rates = [float(rate) for line in calls() for rate in re.findall("--rate ([0-9.]+)", line)]
    assert rates == [8.0, 24.0, 72.0, 216.0, 648.0]  # of the last 0.31 was stored
    assert all("--loss" not in line for line in calls())


def ramp(monkeypatch, carrier, loss, stored):
    """What a ramp finds where `stored` says what each rate stores, try by try; rates and losses."""
    asked = []

    def traded(_bench, wanted, *_):
        rate_per_s = round(wanted.rate_per_s)
        asked.append((rate_per_s, wanted.losses))
        tries = stored.get(rate_per_s, [rate_per_s])
        number = sum(rate == rate_per_s for rate, _ in asked) - 1
        return None, SimpleNamespace(store_rate_per_s=float(tries[number]))

    monkeypatch.setattr(Bench, "_traded", traded)
    bench = Bench(None, None, QUICK, measuring.Kept)
    return bench._ramp(replace(DIRECT, carrier=carrier, loss=loss)), asked


def test_a_spell_does_not_end_a_ramp_through_bursts(monkeypatch):
    spells = {1500: [0, 1480], 4500: [3, 70, 4400], 13_500: [7900, 200, 8000]}
    found, asked = ramp(monkeypatch, "quic_keep", "bursts", spells)
    rates = [1500] * 2 + [4500] * 3 + [13_500] * 3
    assert ([rate for rate, _ in asked], found) == (rates, 8000.0)
    # Each try meets losses of its own.
    assert len({losses for rate, losses in asked if rate == 13_500}) == 3


def test_other_ramps_end_with_the_first_rate_that_is_too_high(monkeypatch):
    found, asked = ramp(monkeypatch, "quic_keep", "independent", {4500: [2600, 4500]})
    assert ([rate for rate, _ in asked], found) == ([1500, 4500], 2600.0)


def test_a_ramp_goes_over_the_link_of_its_point(bench, calls, monkeypatch):
    asked_s = []
    monkeypatch.setattr(ends, "_wait", lambda process, at_s: asked_s.append(at_s) or process.wait())
    bench.capacity_per_s(POINT)
    assert set(asked_s) == {0.4, 1.0}
    bench.capacity_per_s(replace(POINT, carrier="tftp"))
    # One lost block stops TFTP for 5 s.
    assert max(asked_s) == 20.0
    del asked_s[:]
    bench.capacity_per_s(replace(POINT, carrier="quic_keep", loss="bursts"))
    assert max(asked_s) == 5.0
    relays = [line for line in calls() if " link " in line]
    assert relays
    assert all("--delay 5ms" in line for line in relays)
    assert {"--loss 1%" in line for line in relays} == {True, False}
    assert all(("--loss 1%" in line) != ("--bursts-share 1%" in line) for line in relays)


def test_a_dialler_that_began_late_is_asked_again(bench, calls, monkeypatch):
    monkeypatch.setenv("FAKE_PROBE_SHORT", "2")
    bench.repetition(DIRECT, 50.0, 0)
    asked_s = [float(at) for line in calls() for at in re.findall("--duration ([0-9.]+)s", line)]
    assert len(asked_s) == 3
    assert asked_s == sorted(set(asked_s))


def test_who_asks_again_has_other_losses(bench, calls, monkeypatch):
    # A lost question of control would be lost again, and no attempt begin in time.
    monkeypatch.setenv("FAKE_PROBE_SHORT", "2")
    bench.repetition(POINT, 50.0, 0)
    seeds = [seed for line in calls() for seed in re.findall("--seed ([0-9]+)", line)]
    assert len(set(seeds)) == len(seeds) == 3


@pytest.mark.usefixtures("calls")
def test_a_dialler_that_always_begins_late_is_an_error(bench, monkeypatch):
    monkeypatch.setenv("FAKE_PROBE_SHORT", "99")
    with pytest.raises(EnvironmentMissingError, match=r"less than 2 s, 3 times"):
        bench.repetition(DIRECT, 50.0, 1)


def test_what_is_in_the_journal_is_not_measured_again(bench, calls, tmp_path):
    first = blocks.measure(bench, [POINT, DIRECT], lambda _name: None, lambda _text: None)
    told = len(calls())
    again = Bench(PROBE, bench.cores, EFFORT, Journal(tmp_path / "host.journal", "this"))
    assert blocks.measure(again, [POINT, DIRECT], lambda _name: None, lambda _text: None) == first
    assert len(calls()) == told
    other = Bench(PROBE, bench.cores, EFFORT, Journal(tmp_path / "host.journal", "another"))
    other.repetition(POINT, 50.0, 0)
    assert len(calls()) > told


def test_a_report_that_is_gone_is_made_again(bench, calls, tmp_path):
    file = tmp_path / "report_before.json"
    for _ in range(2):
        bench.report("before", file)
    assert sum("] run " in line for line in calls()) == 1
    file.unlink()
    bench.report("before", file)
    assert sum("] run " in line for line in calls()) == 2
    assert file.is_file()


def test_points_are_interleaved_and_reports_are_between(bench):
    seen = []
    points = design.design(replace(QUICK, points=4))
    blocks.measure(
        bench,
        [replace(point, carrier="udp", delay_s=0.0, loss="none") for point in points],
        seen.append,
        lambda text: seen.append(text.split(":")[0]),
    )
    turns = [text for text in seen if text.startswith(("turn", "before"))]
    assert turns[0] == "before"
    assert [text for text in turns if "_" in text] == ["turn_1", "turn_2"]
    first = {text[-3:] for text in turns[1:5]}
    assert first == {point.name for point in points}
    assert turns[5] == "turn_1"


def test_reports_are_after_the_first_turn_and_every_second_from_there(bench):
    reports = []
    effort = replace(EFFORT, points=1, repetitions=4, proposed_s=0.5)
    often = Bench(PROBE, bench.cores, effort, bench.kept)
    blocks.measure(often, [DIRECT], reports.append, lambda _text: None)
    assert reports == ["before", "turn_1", "turn_3", "turn_4"]


def test_points_that_disagree_are_measured_as_often_as_others(bench, calls):
    found = blocks.measure(bench, [POINT, DIRECT], lambda _name: None, lambda _text: None)
    assert [len(one.figures()) for one in found] == [EFFORT.repetitions] * 2
    # Each repetition has a number of its own, of which its losses are, and one is the ramp's.
    seeds = {seed for line in calls() for seed in re.findall(r"--seed (\d+)", line)}
    assert len(seeds) == EFFORT.repetitions + 1


def test_only_own_processes_end_and_all_of_them(bench, tmp_path):
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    before = children.read_text()
    asked = ends.Asked("udp", 8.0, 100, 0.5, ("--delay", "5ms"))
    ends.trade(PROBE, bench.cores, asked, tmp_path)
    assert children.read_text() == before


def test_a_probe_that_fails_says_why_in_one_line(bench, tmp_path):
    broken = tmp_path / "broken"
    broken.write_text(f"#!{sys.executable}\nimport sys; sys.exit('no such option')\n")
    broken.chmod(0o755)
    failing = Bench(broken, bench.cores, EFFORT, bench.kept)
    with pytest.raises(EnvironmentMissingError, match="listener failed: no such option"):
        failing.repetition(POINT, 1.0, 0)
    with pytest.raises(EnvironmentMissingError, match="`probe run` failed: no such option"):
        failing.report("before", tmp_path / "report.json")
