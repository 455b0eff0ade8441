"""The scenario that is the same as a real trade of a host: relay, and who is woken by whom."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest

from pocketsim.calibration.host import design, measuring, prediction, processes
from pocketsim.calibration.host.design import FULL
from pocketsim.sim.devices.profile import DEVICES
from pocketsim.sim.devices.profile import load as load_device
from support.host_documents import documents

MOTO = DEVICES / "moto_g04s.toml"
POINTS = design.design(FULL)


def test_a_relay_on_the_dialler_s_core_is_a_process_there_and_its_lateness_no_jitter():
    point = replace(POINTS[0], carrier="quic_keep", delay_s=0.0, loss="none")
    for work_s, told in ((8e-6, {"latency": "30000ns", "forwarding_cpu": "8000ns"}), (0.0, None)):
        setting = prediction.Setting(100.0, 30e-6, work_s, 2e-3, 60e-6)
        found = prediction.document(point, setting, documents(MOTO), FULL)
        dialler = found["network"]["access"]["dialler"]
        assert ("jitter_median" in dialler) == (told is None)
        assert told is None or told.items() <= dialler.items()
        assert not any("cost_factors" in group for group in found["devices"])
    blocks = replace(point, carrier="tftp")
    setting = prediction.Setting(100.0, 30e-6, 8e-6, 2e-3, 60e-6)
    dialler = prediction.document(blocks, setting, documents(MOTO), FULL)["network"]["access"]
    assert "jitter_median" in dialler["dialler"]
    assert "forwarding_cpu" not in dialler["dialler"]


def test_a_relay_s_work_is_its_core_time_for_each_datagram_that_came():
    relay = {
        "up": {"received_datagrams": 1000},
        "down": {"received_datagrams": 400},
        "cpu_ratio": 0.02,
    }
    repetition = {"relay": relay, "outcome": {"repetitions": [{"duration_s": 7.0}]}}
    assert measuring.forwarding_cpu_s(repetition) == pytest.approx(1e-4)
    nothing = {way: {"received_datagrams": 0} for way in ("up", "down")}
    for unknown in (None, {**relay, **nothing}, {**relay, "cpu_ratio": None}):
        assert measuring.forwarding_cpu_s({**repetition, "relay": unknown}) is None


def test_the_scenario_is_that_of_the_point():
    point = replace(POINTS[0], carrier="udp", payload_bytes=77, delay_s=0.005, loss="bursts")
    setting = prediction.Setting(123.456, 0.0051, 20e-6)
    found = prediction.document(point, setting, documents(MOTO), FULL)
    dialler, listener = (found["network"]["access"][end] for end in ("dialler", "listener"))
    assert (dialler["latency"], listener["latency"]) == ("5100000ns", "0ns")
    assert dialler["bursts"] == {"share": 0.01, "mean_packets": 5.0}
    assert found["workload"]["rate"] == "123.456/s"
    assert found["run"]["duration"] == "7000000000ns"  # warming up, proposing, draining


@pytest.mark.parametrize("delay_s", [0.0, 5e-3])
def test_what_a_relay_is_later_than_it_was_told_is_jitter(delay_s):
    point = replace(POINTS[0], carrier="udp", delay_s=delay_s, loss="independent")
    own_s, late_s = 30e-6, 157e-6
    setting = prediction.Setting(10.0, delay_s + own_s, 0.0, delay_s + late_s)
    made = prediction.document(point, setting, documents(MOTO), FULL)
    dialler, listener = (made["network"]["access"][name] for name in ("dialler", "listener"))
    assert dialler["latency"] == f"{1e9 * delay_s:.0f}ns"
    assert float(dialler["jitter_median"].removesuffix("ns")) == pytest.approx(30e3, rel=1e-3)
    z99 = statistics.NormalDist().inv_cdf(0.99)
    assert own_s * math.exp(dialler["jitter_sigma"] * z99) == pytest.approx(late_s, rel=1e-3)
    assert not any(key.startswith("jitter") for key in listener)
    for never in (0.0, delay_s + own_s):
        calm = prediction.document(
            point, replace(setting, late_passage_s=never), documents(MOTO), FULL
        )
        told = calm["network"]["access"]["dialler"]
        assert told["latency"] == f"{1e9 * (delay_s + 30e-6):.0f}ns"
        assert "jitter_median" not in told


def test_blocks_of_tftp_are_as_late_as_the_relays_mean():
    point = replace(POINTS[0], carrier="tftp", delay_s=5e-3, loss="none")
    own_s, mean_s = 30e-6, 36e-6
    setting = prediction.Setting(10.0, 5e-3 + own_s, 0.0, 5e-3 + 157e-6, 5e-3 + mean_s)
    made = prediction.document(point, setting, documents(MOTO), FULL)
    dialler = made["network"]["access"]["dialler"]
    assert float(dialler["jitter_median"].removesuffix("ns")) == pytest.approx(30e3, rel=1e-3)
    assert own_s * math.exp(dialler["jitter_sigma"] ** 2 / 2) == pytest.approx(mean_s, rel=1e-3)


def test_who_has_the_relay_on_its_core_is_woken_as_without_a_rest(tmp_path):
    ratios = [0.1, 0.4, 1.0]
    rests = "".join(
        f'\n[[scheduler.wake_after]]\nrest = "{10**n}us"\nratio = {ratio}\nstandard_error = 0.1\n'
        'basis = "assumed"\nsource = "made up"\n'
        for n, ratio in enumerate(ratios)
    )
    wake = MOTO.read_text().partition("[operations.udp_receive]")[2].partition("\n[")[0]
    own, beside = tmp_path / "host.toml", tmp_path / "beside.toml"
    own.write_text(f"{MOTO.read_text()}\n[operations.udp_wake]{wake}\n{rests}")
    processes.beside_a_relay(own, beside)
    assert [one.ratio for one in load_device(beside).scheduler.wake_after] == [0.1] * 3
    assert load_device(beside).operations == load_device(own).operations
    both = documents(own, beside)
    for work_s, near in ((1e-5, beside), (0.0, own)):
        setting = prediction.Setting(1.0, 0.0, work_s)
        found = prediction.document(POINTS[0], setting, both, FULL)
        assert [one["profile"] for one in found["devices"]] == [str(near), str(own)]


def test_without_a_relay_the_loopback_itself_takes_no_time(tmp_path):
    point = replace(POINTS[0], delay_s=0.0, loss="none")
    setting = prediction.Setting(1.0, 0.0, 0.0)
    found = prediction.document(point, setting, documents(tmp_path / "host.toml"), FULL)
    latencies = [access["latency"] for access in found["network"]["access"].values()]
    assert latencies == ["0ns", "0ns"]
    assert not point.is_relayed
