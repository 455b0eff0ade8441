"""Proposals that follow the hours of the day: how many come when, and whose draws they are."""

import math

import numpy as np
import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.arrivals import HoursClock
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

PEAK = [0.0] * 12 + [12.0, 12.0] + [0.0] * 10
TWO_LEVELS = [0.5] * 12 + [1.5] * 12


@pytest.fixture(scope="module")
def path(root):
    return root / "pocketsim/scenarios/scale/1k.toml"


def times_s(path, *overrides):
    found = build_plan(resolve(load(path, overrides))[0].resolved, 0)["workload"]
    return np.asarray(found["time_s"]), np.asarray(found["from_phone"])


def test_nothing_comes_in_hours_without_weight(path):
    time_s, _ = times_s(path, f"workload.hours={PEAK}")
    assert time_s.min() >= 12 * 3600
    assert time_s.max() < 14 * 3600
    # 1 000 phones that are asked 0.0458 times an hour.
    assert time_s.size == pytest.approx(1000 * 0.0458 * 24, abs=4 * math.sqrt(1100))


def test_each_hour_has_its_share(path):
    time_s, _ = times_s(path, f"workload.hours={TWO_LEVELS}", "workload.rate=1/h")
    counts = np.histogram(time_s, 24, (0, 86_400))[0]
    expected = 1000 * np.array(TWO_LEVELS)
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_the_time_of_day_turns_the_hours(path):
    hours = f"workload.hours={PEAK}"
    time_s, _ = times_s(path, hours, "run.duration=1h", "workload.time_of_day=12h")
    assert time_s.size > 0
    none, _ = times_s(path, hours, "run.duration=1h", "workload.time_of_day=2h")
    assert none.size == 0


def test_even_hours_change_nothing_but_rounding(path):
    without, phones = times_s(path, "workload.rate=1/h")
    even, same = times_s(path, "workload.rate=1/h", f"workload.hours={[1.0] * 24}")
    assert even == pytest.approx(without, rel=1e-12)
    assert (phones == same).all()


def test_a_clock_counts_from_the_start_of_asking():
    clock = HoursClock.of_run(TWO_LEVELS, 1800.0, 7200.0, time_of_day_s=11 * 3600.0)
    assert clock.second_s.tolist() == [1800.0, 3600.0, 7200.0]
    assert clock.clock_s.tolist() == [0.0, 900.0, 900.0 + 5400.0]


def test_a_time_of_day_without_hours_is_refused(path):
    with pytest.raises(ScenarioError) as caught:
        load(path, ["workload.time_of_day=12h"])
    assert caught.value.key_path == "workload"
    assert "time_of_day is of hours" in caught.value.reason


def test_what_is_asked_for_at_most_counts_the_hours(path):
    much = ["workload.rate=1e7/h", "run.duration=1h", "workload.time_of_day=2h"]
    load(path, [*much, f"workload.hours={PEAK}"])  # nothing is asked for then
    with pytest.raises(ScenarioError):
        load(path, [*much, f"workload.hours={TWO_LEVELS}"])
