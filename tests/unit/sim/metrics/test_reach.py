"""What the engine tells of reach comes to shares, counts and milliseconds."""

import math

import pytest

from pocketsim.sim.metrics import reach
from pocketsim.testing import resolved

NATS = {"hole_punching": {}, "access": {}}
RELAY = {"relay": {}, "access": {}}
TOLD = {
    "delivered": {"all": 200, "relayed": 50},
    "stored": {"all": 40, "relayed": 10},
    "punching": {
        "opened": 30,
        "failed": 10,
        "pending": 5,
        "reopened": 2,
        "setup_p50_s": 6.0,
        "setup_p90_s": None,
    },
    "relay": {"passed": 60, "refused": 30, "held_s": 1.2},
    "pairs": [0.1, 0.4, 0.5, 0.0],
}


def test_counts_come_to_shares():
    found = reach.measure(resolved(network={**NATS, **RELAY}), TOLD)
    assert found["relayed_datagram_ratio"] == 0.25
    assert found["relayed_transaction_ratio"] == 0.25
    assert [found[name] for name in reach.PAIRS] == TOLD["pairs"]
    assert found["punching_success_ratio"] == 0.75
    assert found["punching_count"] == 40, "those that came to an end"
    assert found["punching_ms_p50"] == 6000
    assert math.isnan(found["punching_ms_p90"]), "nobody tells"
    assert found["relay_drop_ratio"] == pytest.approx(1 / 3)
    assert found["relay_delay_ms_mean"] == pytest.approx(20)


@pytest.mark.parametrize(
    ("network", "names"),
    [
        ({"access": {}}, set()),
        (NATS, {*reach.PATHS, *reach.PAIRS, *reach.PUNCHING}),
        (RELAY, {*reach.PATHS, *reach.RELAY}),
    ],
)
def test_a_run_has_the_metrics_of_what_its_network_limits(network, names):
    assert set(reach.names(resolved(network=network))) == names


def test_nothing_told_is_nothing_known():
    found = reach.measure(resolved(network=NATS), None)
    assert all(map(math.isnan, found.values()))
