"""The whereabouts of a repetition: the ways that its contacts are made of, and where they end."""

import numpy as np
import pytest

from pocketsim.sim.plan import whereabouts
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.plan.walks import Waypoints
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

RANGE_M = 10.0


def resolved(root, *overrides):
    path = root / "pocketsim/scenarios/scale/walkers.toml"
    return resolve(load(path, overrides))[0].resolved


def drawn(root, *overrides, repetition=0):
    found = resolved(root, *overrides)
    plan = build_plan(found, repetition)
    return plan, whereabouts.drawn(found, plan, repetition, {})


def distance_m(way, one, other, now_s):
    places = []
    for phone in (one, other):
        rows = way.phone == phone
        places.append([np.interp(now_s, way.time_s[rows], m[rows]) for m in (way.x_m, way.y_m)])
    return np.hypot(*np.subtract(*places))


@pytest.mark.parametrize("repetition", [0, 2])
def test_two_in_contact_are_in_range_on_the_map_and_others_are_not(root, repetition):
    plan, found = drawn(root, "run.duration=3min", repetition=repetition)
    near, duration_s = plan["proximity"], plan["duration_s"]
    names = ("time_s", "duration_s", "phone_a", "phone_b")
    rows = zip(*(near[name][:300] for name in names), strict=True)
    for begin_s, lasts_s, one, other in rows:
        for share in (0.0, 0.5, 1.0):
            at_m = distance_m(found.waypoints, one, other, begin_s + share * lasts_s)
            assert at_m <= RANGE_M + 1e-6
        if begin_s > 0:
            assert distance_m(found.waypoints, one, other, begin_s) == pytest.approx(RANGE_M)
        if begin_s + lasts_s < duration_s:
            after_s = begin_s + lasts_s
            assert distance_m(found.waypoints, one, other, after_s) == pytest.approx(RANGE_M)


def test_stalls_are_places_and_stand_there(root):
    _, found = drawn(root, "run.duration=1min")
    assert found.places.kind == ("stand",) * 20
    standing = found.waypoints.phone >= 180
    assert found.waypoints.x_m[standing].tolist() == found.places.x_m.tolist()
    assert (found.width_m, found.height_m) == (300.0, 200.0)


def test_ways_end_with_the_run(root):
    plan, found = drawn(root, "run.duration=1min")
    way = found.waypoints
    assert way.time_s.max() == plan["duration_s"]
    walks = np.unique(way.phone)[:180]
    last_s = [way.time_s[way.phone == phone][-1] for phone in walks]
    assert set(last_s) == {60.0}


def test_who_is_under_way_at_the_end_is_where_it_is():
    way = Waypoints(
        phone=np.array([0, 0, 0, 1, 2, 2]),
        time_s=np.array([0.0, 10.0, 20.0, 0.0, 0.0, 5.0]),
        x_m=np.array([0.0, 10.0, 30.0, 7.0, 1.0, 2.0]),
        y_m=np.array([0.0, 0.0, 8.0, 7.0, 1.0, 2.0]),
    )
    found = whereabouts.until(way, 15.0)
    assert found.phone.tolist() == [0, 0, 0, 1, 2, 2]
    assert found.time_s.tolist() == [0.0, 10.0, 15.0, 0.0, 0.0, 5.0]
    assert found.x_m.tolist() == [0.0, 10.0, 20.0, 7.0, 1.0, 2.0]
    assert found.y_m.tolist() == [0.0, 0.0, 4.0, 7.0, 1.0, 2.0]
    assert whereabouts.until(way, 10.0).phone.tolist() == [0, 0, 1, 2, 2]


def test_phones_without_places_are_on_no_map(root):
    found = resolved(root)
    found["contacts"] = None
    with pytest.raises(ValueError, match="no map"):
        whereabouts.drawn(found, {}, 0, {})
