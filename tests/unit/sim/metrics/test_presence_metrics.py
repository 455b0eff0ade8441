"""What people asked for, on or off, beside the square of availability."""

from __future__ import annotations

import math

import pytest

import pocketsim as ps
from pocketsim.sim.metrics import presence

LAW = {"distribution": "weibull", "shape": 1.0, "scale": "60s"}
CHURN = {"session": LAW, "gap": {**LAW, "scale": "140s"}}
CHANGES = {
    "run.duration": "20min",
    "run.repetitions": 8,
    "workload.rate": "0.2/s",
    "devices[0].count": 30,
    "devices[1].count": 30,
    "devices[0].access": "wifi",
    "devices[1].access": "wifi",
    "network.access.wifi.jitter_median": "0s",
    "network.access.wifi.latency": "0s",
    "churn": CHURN,
}


@pytest.fixture
def churning(root):
    return root / "tests/support/1k_churn.toml"


def test_without_anything_else_the_square_of_availability_is_stored(churning, tmp_path):
    (run,) = ps.run(churning, CHANGES, out=tmp_path, progress=False)
    found = {name: run.metrics["metrics"][name] for name in presence.METRICS}
    stored, baseline = (
        found[name]["values"] for name in ("stored_of_asked_ratio", "both_on_baseline_ratio")
    )
    differences = [one - other for one, other in zip(stored, baseline, strict=True)]
    mean = sum(differences) / len(differences)
    error = math.sqrt(sum((one - mean) ** 2 for one in differences) / 7 / 8)
    assert abs(mean) < 2 * error
    assert found["on_ratio"]["value"] == pytest.approx(0.3, abs=0.03)
    assert found["asked_count"]["value"] == pytest.approx(60 * 0.2 * 1200, rel=0.02)


def test_who_opens_the_app_sends_all_that_is_asked_for(churning, tmp_path):
    stay = {"distribution": "lognormal", "median": "40s", "sigma": 1.5}
    changes = {**CHANGES, "run.repetitions": 1, "foreground": {"stay": stay}}
    (run,) = ps.run(churning, changes, out=tmp_path, progress=False)
    metrics = run.metrics["metrics"]
    assert metrics["asked_count"]["value"] == metrics["send_count"]["value"]
    assert metrics["on_ratio"]["value"] > 0.9  # who is asked twelve times a minute is always on


def test_phones_that_are_always_on_have_no_such_metrics(tmp_path):
    (run,) = ps.run("udp_100b", {"run.duration": "2s"}, out=tmp_path, progress=False)[:1]
    assert not set(presence.METRICS) & set(run.metrics["metrics"])
