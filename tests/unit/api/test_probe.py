"""`ps.find_probe` and `ps.read_trade`: real trades from Python, read as simulated ones are."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import pocketsim as ps
from pocketsim.api.host import probe as module
from pocketsim.calibration.fit import probe_report
from pocketsim.calibration.host import computer
from pocketsim.sim.base.errors import EnvironmentMissingError
from support import fake_probe

PROBE = Path(fake_probe.__file__)
two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two ends take two cores")


@pytest.fixture
def probe(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_PROBE_LOG", str(tmp_path / "calls"))
    return ps.Probe(PROBE)


def calls(folder):
    return (folder / "calls").read_text().splitlines()


def test_built_probe_is_found_and_a_missing_one_is_none(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "__file__", str(tmp_path / "pocketsim/api/host/probe.py"))
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert ps.find_probe() is None
    Path("build/bin").mkdir(parents=True)
    Path("build/bin/probe").symlink_to(PROBE)
    assert ps.find_probe() == ps.Probe(PROBE)


@two_cores
def test_a_report_is_of_what_is_asked_for(probe, tmp_path):
    path = probe.run(tmp_path / "report.json", only=["udp", "ed25519_*"], threads=1)
    assert probe_report.load(path).document.measurements
    (call,) = calls(tmp_path)
    assert f"run --quick --quiet -o {path}" in call
    assert call.endswith("--only udp --only ed25519_* --threads 1")


@two_cores
def test_a_trade_is_its_log_and_each_end_has_its_core(probe, tmp_path):
    options = {"carrier": "quic_keep", "rate_per_s": 50.0, "payload_bytes": 10, "duration_s": 0.5}
    trade = probe.trade(tmp_path / "trade.jsonl", **options, repetitions=2)
    cores = computer.cores(os.sched_getaffinity(0))
    listen, dial = calls(tmp_path)
    assert listen.startswith(f"[{cores.listener}] trade listen --bind 127.0.0.1:0 --store append")
    assert dial.startswith(f"[{cores.dialler}] trade dial {fake_probe.LISTENER}")
    asked = "--carrier quic_keep --rate 50 --payload 10 --duration 0.5s --repetitions 2"
    assert asked in dial
    assert "--store append" in dial
    assert trade.path == tmp_path / "trade.jsonl"
    assert trade.values("rtt_ms_p50") == pytest.approx([1000 * fake_probe.RTT_S])
    assert repr(trade) == "<trade trade.jsonl: 26 of 26 stored, 1 repetitions>"


@two_cores
@pytest.mark.parametrize("program", ["exit 1", "echo listening on 127.0.0.1:1; echo no"])
def test_a_probe_that_fails_is_said(tmp_path, program):
    path = tmp_path / "probe"
    path.write_text(f"#!/bin/sh\n{program}\n")
    path.chmod(0o755)
    for call in (ps.Probe(path).run, ps.Probe(path).trade):
        with pytest.raises(EnvironmentMissingError, match="failed"):
            call(tmp_path / "made.jsonl")


def test_a_log_must_be_one_of_json_lines(probe, tmp_path):
    with pytest.raises(ps.UserError, match=r"ends in \.jsonl"):
        probe.trade(tmp_path / "trade.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def recorded(root):
    return root / "pocketsim/notebooks/loopback_trade.jsonl"


def test_a_log_has_the_figures_that_the_command_shows(cli, recorded):
    trade = ps.read_trade(recorded)
    done = cli("metrics", recorded, "--json")
    assert done.returncode == 0, done.stderr
    assert trade.metrics == json.loads(done.stdout)
    times_s = trade.events.pivot_table(
        index=["repetition", "message_id"], columns="kind", values="time_s"
    )
    round_trips_ms = 1000 * (times_s["store"] - times_s["send"])
    medians = round_trips_ms.groupby("repetition").median()
    np.testing.assert_allclose(medians, trade.values("rtt_ms_p50"))
    with pytest.raises(ps.UserError, match="did you mean rtt_ms_p"):
        trade.values("rtt_ms_p5")


def test_recordings_of_the_notebook_are_complete_and_small(root, recorded):
    """Both are of one machine and one time; `python -m tools.record_loop` writes them."""
    report = root / "pocketsim/notebooks/loopback_report.json"
    assert {"sleep_overshoot", "udp_wake_up"} <= {
        case.kernel for case in probe_report.load(report).document.measurements
    }
    assert ps.read_trade(recorded).metrics["counts"]["stored"] > 0
    assert report.stat().st_size + recorded.stat().st_size < 600_000
