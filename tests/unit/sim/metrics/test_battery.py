"""What batteries came to, by what the engine tells."""

from __future__ import annotations

import math

import pytest

from pocketsim.sim.base.engine_output import NOTHING
from pocketsim.sim.metrics import battery

FOUND = {
    "phones": 4,
    "deaths": 3,
    "dead_s": 80.0,
    "app_j": 10.0,
    "other_j": 30.0,
    "level_end_ratio_sum": 2.0,
}


def resolved(**changes):
    found = {"devices": [{}], "energy": {}, "run": {"duration_s": 100.0}}
    return found | {"battery": {"kind": "battery"}} | changes


def test_a_run_without_batteries_has_no_such_metrics() -> None:
    found = resolved()
    del found["battery"]
    assert battery.names(found) == ()
    assert battery.measure(found, NOTHING) == {}
    mains = resolved(devices=[{"battery": {"kind": "none"}}])
    assert battery.names(mains) == ()


def test_batteries_are_counted_over_the_phones_that_have_one() -> None:
    row = battery.measure(resolved(), {**NOTHING, "battery": FOUND})
    assert row == {
        "battery_death_count": 3.0,
        "battery_dead_ratio": pytest.approx(0.2),
        "battery_level_end_ratio": 0.5,
        "battery_app_ratio": 0.25,
        "battery_phones": 4.0,
    }
    assert set(battery.names(resolved())) < set(row)


def test_without_prices_nobody_knows_the_share_of_the_app() -> None:
    assert "battery_app_ratio" not in battery.names(resolved(energy=None))


def test_what_the_engine_did_not_tell_is_undefined() -> None:
    assert all(map(math.isnan, battery.measure(resolved(), NOTHING).values()))
