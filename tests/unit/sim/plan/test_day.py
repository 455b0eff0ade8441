"""The day of a plan in bins: hand-made phones, and shipped ones against their share of time on."""

import numpy as np
import pytest

from pocketsim.sim.base import engine_output
from pocketsim.sim.plan import day
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.plan.churn import on_ratio
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import typed_sections

RESOLVED = {"network": {"access": {"lte": {}, "wifi": {}}}}
LTE, WIFI = 0, 1


def made(**changes):
    """Return a plan of ten minutes: two persons on Wi-Fi, and the authority on LTE."""
    plan = {
        "duration_s": 600.0,
        "phones": {"access": [WIFI, WIFI, LTE], "role": [0, 0, 2]},
        "churn": {"time_s": [], "phone": [], "on": []},
        "moves": None,
        "outages": [],
        "workload": {"time_s": [1.0, 2.0, 400.0], "loops": []},
    }
    return plan | changes


def of(**changes):
    return day.day(RESOLVED, made(**changes))


def test_who_is_always_on_is_reachable_and_the_authority_does_not_count():
    found = of()
    assert found["bin_s"] == 300.0
    assert found["on_share"] == found["reachable_share"] == [1.0, 1.0]
    assert found["reachable_share_by_access"] == {"lte": [0.0, 0.0], "wifi": [1.0, 1.0]}
    assert found["asked_count"] == [2, 1]


def test_a_phone_that_is_off_for_a_part_of_a_bin():
    churn = {"time_s": [150.0, 450.0], "phone": [0, 0], "on": [False, True]}
    found = of(churn=churn)
    assert found["on_share"] == [pytest.approx(0.75), pytest.approx(0.75)]


def test_a_phone_that_begins_off():
    found = of(churn={"time_s": [0.0, 300.0], "phone": [1, 1], "on": [False, True]})
    assert found["on_share"] == [pytest.approx(0.5), pytest.approx(1.0)]


def test_outages_that_overlap_count_once_and_leave_phones_on():
    outages = [
        {"access": WIFI, "start_s": 60.0, "end_s": 180.0},
        {"access": WIFI, "start_s": 120.0, "end_s": 240.0},
        {"access": LTE, "start_s": 0.0, "end_s": 600.0},
    ]
    found = of(outages=outages)
    assert found["on_share"] == [1.0, 1.0]
    assert found["reachable_share"] == [pytest.approx(0.4), pytest.approx(1.0)]


def test_a_phone_that_moves_and_comes_back_while_it_is_off():
    # Phone 0 goes to LTE (its further attachment, the fourth of all) and back to its first.
    moves = {"phone": [0], "access": [LTE], "time_s": [100.0, 500.0], "attachment": [3, 0]}
    churn = {"time_s": [450.0], "phone": [0], "on": [False]}
    found = of(moves=moves, churn=churn)
    by_access = found["reachable_share_by_access"]
    assert by_access["lte"] == [pytest.approx(200 / 600), pytest.approx(150 / 600)]
    assert by_access["wifi"] == [pytest.approx(400 / 600), pytest.approx(300 / 600)]


def test_nobody_asks_where_a_program_sends():
    assert of(workload={"time_s": [], "loops": [{}]})["asked_count"] is None


@pytest.mark.parametrize(
    ("scenario", "overrides"),
    [
        ("pocketsim/scenarios/scale/1k.toml", ["run.duration=190min"]),
        ("tests/support/1k_churn.toml", []),
        ("pocketsim/scenarios/scale/commute.toml", ["transport.mode=udp"]),
    ],
)
def test_bins_come_to_the_share_of_time_that_phones_are_on(root, scenario, overrides):
    resolved = resolve(load(root / scenario, overrides))[0].resolved
    assert day.has_day(resolved)
    plan = build_plan(resolved, 0)
    found = day.day(resolved, plan)
    typed_sections.check(found, engine_output.Day, vars(engine_output), "day")
    widths_s = np.diff(day.edges_s(plan["duration_s"]))
    mean = np.average(found["on_share"], weights=widths_s)
    assert mean == pytest.approx(on_ratio(plan))
    by_access = found["reachable_share_by_access"].values()
    assert np.sum(list(by_access), axis=0) == pytest.approx(found["reachable_share"])
    assert np.all(np.array(found["reachable_share"]) <= np.array(found["on_share"]) + 1e-12)


def test_the_last_bin_ends_with_the_run():
    assert day.edges_s(700.0).tolist() == [0.0, 300.0, 600.0, 700.0]
    assert day.edges_s(10_800.0).tolist()[:2] == [0.0, 1800.0]


def test_phones_that_are_always_on_and_stay_have_no_day(root):
    path = root / "pocketsim/scenarios/scale/walkers.toml"
    resolved = resolve(load(path, ["output.map=false"]))[0].resolved
    assert not day.has_day(resolved)
    assert "map" not in resolved["output"]
