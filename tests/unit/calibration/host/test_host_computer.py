"""The computer that trades with itself: who gets which core, and what took time from whom."""

import os
from types import SimpleNamespace

import pytest

from pocketsim.calibration.host import computer
from pocketsim.calibration.host.discrepancy import NOTHING_KNOWN, Discrepancy
from pocketsim.calibration.host.judging import RTT_P50, RTT_P95, Judgement
from pocketsim.cli.validate import host as command
from pocketsim.sim.base.errors import EnvironmentMissingError

OFF_BY = {RTT_P50: Discrepancy(0.12, 5), RTT_P95: NOTHING_KNOWN}


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [((0, 1), (0, 1, 0)), ((5, 3, 4), (3, 4, 5)), (range(8), (0, 1, 2))],
)
def test_the_relay_has_a_core_of_its_own_where_there_are_three(tmp_path, allowed, expected):
    cores = computer.cores(allowed, tmp_path)  # as in many virtual machines, nothing of siblings
    assert (cores.dialler, cores.listener, cores.relay) == expected
    assert cores.relay_shares is (expected[0] == expected[2])
    assert not cores.ends_share


@pytest.mark.parametrize(
    ("siblings", "expected"),
    [
        (("0-1", "0-1", "2-3", "2-3", "4-5", "4-5"), (0, 2, 4)),
        (("0,3", "1,4", "2,5", "0,3", "1,4", "2,5"), (0, 1, 2)),
        (("0-1", "0-1", "2-3", "2-3"), (0, 2, 0)),  # no third: the dialler's, as is simulated
        (("0,2", "1,3", "0,2", "1,3"), (0, 1, 0)),
        (("0,2-3", "1", "0,2-3", "0,2-3"), (0, 1, 0)),
        (("0-1", "0-1"), (0, 1, 0)),
        (("0-3",) * 4, (0, 1, 0)),
    ],
)
def test_threads_of_one_core_are_no_two_cores(tmp_path, siblings, expected):
    for number, text in enumerate(siblings):
        file = tmp_path / f"cpu{number}/topology/thread_siblings_list"
        file.parent.mkdir(parents=True)
        file.write_text(f"{text}\n")
    cores = computer.cores(range(len(siblings)), tmp_path)
    assert (cores.dialler, cores.listener, cores.relay) == expected
    assert cores.ends_share is (len(set(siblings)) == 1)
    said = computer.said(cores)
    assert said["ends_share_core"] is cores.ends_share
    assert said["cores_of"] == dict(zip(("dialler", "listener", "relay"), expected, strict=True))
    whole = SimpleNamespace(
        data={"host": said, "reports": []},
        comparison=SimpleNamespace(judgement=Judgement((), (), OFF_BY)),
        verdict="met",
        cores_apart=[],
        other=None,
    )
    told = command._sentences(whole)
    assert any("threads of one core" in text for text in told) is cores.ends_share
    off_by = "what the model is off by at points of nulls: 0.12 (p50)"
    assert f"Intervals have {off_by}. Each has its point's floor, too." in told


def test_one_core_is_refused():
    with pytest.raises(EnvironmentMissingError, match="need one each"):
        computer.cores([7])


def test_steal_is_of_the_cores_that_trade():
    before = "cpu  9 9 9 9 9 9 9 99 9 9\ncpu0 10 0 5 80 0 0 0 5 3 0\ncpu1 1 0 0 1 0 0 0 70 0 0\n"
    after = "cpu  9 9 9 9 9 9 9 99 9 9\ncpu0 20 0 5 120 0 0 0 55 9 0\ncpu1 1 0 0 1 0 0 0 99 0 0\n"
    found = [computer.ticks(text, {0}) for text in (before, after)]
    assert computer.steal_ratio(*found) == pytest.approx(50 / 100)
    assert computer.steal_ratio(found[0], found[0]) is None


def test_frequencies_are_none_where_the_system_tells_none(tmp_path):
    (tmp_path / "cpu1/cpufreq").mkdir(parents=True)
    (tmp_path / "cpu1/cpufreq/scaling_cur_freq").write_text("2400000\n")
    assert computer.frequencies_hz({1, 0}, tmp_path) == [None, 2_400_000_000]


def test_core_time_is_of_all_threads_and_of_ticks_where_the_kernel_counts_no_more(tmp_path):
    (tmp_path / "uptime").write_text("12.34 20.00\n")
    (tmp_path / "7/task").mkdir(parents=True)
    fields = " ".join(map(str, [*range(10), 2, 3, 5]))  # after its state: utime and stime last
    (tmp_path / "7/stat").write_text(f"7 (a) b) S {fields}\n")
    ticks = (2 + 3) / os.sysconf("SC_CLK_TCK")
    assert computer.spent(7, tmp_path) == computer.Spent(ticks, 12.34)
    for thread, ran_ns in ((7, 1_500_000), (8, 500_000)):
        (tmp_path / f"7/task/{thread}").mkdir()
        (tmp_path / f"7/task/{thread}/schedstat").write_text(f"{ran_ns} 11 3\n")
    assert computer.spent(7, tmp_path) == computer.Spent(0.002, 12.34)


@pytest.mark.parametrize(
    ("cpu_s", "at_s", "expected"),
    [(1.5, 15.0, 0.1), (1.0, 15.0, 0.0), (1.0, 10.0, None), (1.02, 10.01, 1.0)],
)
def test_a_share_of_a_core_is_between_nothing_and_all(cpu_s, at_s, expected):
    found = computer.core_ratio(computer.Spent(1.0, 10.0), computer.Spent(cpu_s, at_s))
    assert found == (None if expected is None else pytest.approx(expected))
