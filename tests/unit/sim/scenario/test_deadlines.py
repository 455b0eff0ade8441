"""Deadlines of a scenario, beside those of every run."""

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.metrics import names
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve


@pytest.fixture
def two_phones(root):
    path = root / "pocketsim/scenarios/throughput/udp_100b.toml"
    return lambda *overrides: load(path, overrides)


def test_a_scenario_without_them_resolves_as_before(two_phones):
    assert "metrics" not in resolve(two_phones())[0].resolved


def test_deadlines_are_metrics_of_the_run(two_phones):
    document = two_phones('metrics.deadlines=["24h", "1s", "250ms"]')
    resolved = resolve(document)[0].resolved
    assert resolved["metrics"] == {"deadlines_s": [86400.0, 1.0, 0.25]}
    found = [name for name in names(resolved) if name.startswith("done_within_")]
    deadlines = ("1s", "10s", "60s", "600s", "86400s", "250ms")
    assert found == [f"done_within_{deadline}_ratio" for deadline in deadlines]


@pytest.mark.parametrize(
    ("deadlines", "reason"),
    [
        ("[]", "must not be empty"),
        ('["0s"]', "more than zero"),
        ('["1500us"]', r"1\.5 ms is no whole number of milliseconds"),
        ('["10"]', "has no unit"),
    ],
)
def test_mistakes_are_named_with_their_place(two_phones, deadlines, reason):
    with pytest.raises(ScenarioError, match=reason) as caught:
        two_phones(f"metrics.deadlines={deadlines}")
    assert caught.value.key_path.startswith("metrics.deadlines")
