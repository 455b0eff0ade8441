"""Networks whose numbers have errors are drawn where all else is; others stand as they are."""

import math

import numpy as np
import pytest

from pocketsim.sim.base import streams
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan import networks
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

DRAWS = 2000


@pytest.fixture
def network():
    return {
        "up_bytes_per_s": 1e6,
        "down_bytes_per_s": 2e6,
        "up_queue_bytes": None,
        "down_queue_bytes": None,
        "when_full": "drop",
        "latency_s": 0.02,
        "jitter_median_s": 0.001,
        "jitter_sigma": 0.5,
        "loss_ratio": 0.01,
        "bursts": None,
        "reorders": False,
        "forwarding_cpu_s": 0.0,
        "site_capacity_bytes_per_s": None,
        "phones_per_site": None,
    }


ERRORS = {
    "up_bytes_per_s": 2e5,
    "down_bytes_per_s": 1e5,
    "latency_s": 0.004,
    "jitter_median_s": 0.0005,
    "jitter_sigma": 0.1,
    "loss_ratio": 0.005,
}


def test_numbers_with_an_error_keep_their_means_and_deviations(network):
    network["standard_error"] = ERRORS
    found = [networks.drawn(network, 1, f"repetition/{n}") for n in range(DRAWS)]
    for key, error in ERRORS.items():
        values = np.array([each[key] for each in found])
        assert values.mean() == pytest.approx(network[key], abs=4 * error / math.sqrt(DRAWS))
        assert values.std() == pytest.approx(error, rel=0.15)
        assert values.min() >= 0
    assert max(each["loss_ratio"] for each in found) < 1
    # Each has a stream of its own.
    pairs = np.corrcoef([[each[key] for each in found] for key in ERRORS])
    assert np.abs(pairs - np.eye(len(ERRORS))).max() < 5 / math.sqrt(DRAWS)


def test_numbers_without_one_stand_as_they_are(network):
    assert networks.drawn(network, 1, "repetition/0") == network
    network["standard_error"] = {"latency_s": 0.004}
    found = networks.drawn(network, 1, "repetition/0")
    latency_s = streams.positive(1, "repetition/0/latency", 0.02, 0.004)
    assert found == {**network, "latency_s": latency_s}


def resolved(root, *overrides):
    path = root / "tests/support/1k_churn.toml"
    settings = ["devices[0].count=6", "devices[1].count=4", *overrides]
    return resolve(load(path, settings))[0].resolved


STATED = "network.access.wifi.standard_error.latency=1ms"


def test_a_run_draws_its_networks_once_for_each_repetition_where_it_is_told_to(root):
    plain = resolved(root, "run.draw=posterior")
    mean, stated = resolved(root, STATED), resolved(root, STATED, "run.draw=posterior")
    name = sorted(plain["network"]["access"]).index("wifi")

    def latencies(found):
        plans = [build_plan(found, repetition)["access"] for repetition in range(2)]
        return [access[name]["latency_s"] for access in plans]

    assert "standard_error" not in plain["network"]["access"]["wifi"]
    as_it_stands = plain["network"]["access"]["wifi"]["latency_s"]
    assert latencies(plain) == latencies(mean) == [as_it_stands] * 2
    one, other = latencies(stated)
    assert len({one, other, as_it_stands}) == 3
    others = [build_plan(found, 0) for found in (plain, stated)]
    assert others[0]["profiles"][0]["cpu_s"].tolist() == others[1]["profiles"][0]["cpu_s"].tolist()


def test_a_ratio_cannot_err_by_more_than_any_law_has(root):
    overrides = ["network.access.wifi.loss_ratio=0.01"]
    error = "network.access.wifi.standard_error.loss_ratio"
    resolved(root, *overrides, f"{error}=0.09")
    with pytest.raises(ScenarioError, match=r"that of a probability of 0\.01 is below 0\.0995"):
        resolved(root, *overrides, f"{error}=0.1")
    with pytest.raises(ScenarioError, match=r"unknown key .*latency"):
        resolved(root, "network.access.wifi.standard_error.latancy=1ms")
