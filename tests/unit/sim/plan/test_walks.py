"""Phones that walk: the laws of their ways from the first moment on, and the contacts they make."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.base import walk_laws
from pocketsim.sim.base.streams import Streams
from pocketsim.sim.plan import plan, walks
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import typed_sections

PLACE = {"kind": "walk", "width_m": 400.0, "height_m": 300.0, "range_m": 10.0, "links": {}}
WAYPOINT = {
    **PLACE,
    "model": "random_waypoint",
    "slowest_m_per_s": 0.5,
    "fastest_m_per_s": 1.5,
    "pause_s": 0.0,
}
LEVY = {
    **PLACE,
    "model": "levy_walk",
    "alpha": 0.66,
    "shortest_leg_m": 8.0,
    "longest_leg_m": 1000.0,
    "beta": 0.99,
    "shortest_pause_s": 1.0,
    "longest_pause_s": 430.0,
    "time_factor": 18.72,
    "rho": 0.79,
    "fastest_m_per_s": 1.5,
}
LAWS = {"waypoint": WAYPOINT, "waypoint with pauses": {**WAYPOINT, "pause_s": 300.0}, "levy": LEVY}
PHONES = 20_000
DURATION_S = 900.0


def way_of(law, phones=PHONES, seed=1, standing=()):
    walking = ~np.isin(np.arange(phones), standing)
    lane = np.arange(phones, dtype=np.uint64)
    return walks.waypoints(law, Streams(seed, "repetition/0"), lane, walking, DURATION_S)


@pytest.fixture(scope="module", params=LAWS)
def walked(request):
    return LAWS[request.param], way_of(LAWS[request.param])


def at(way, now_s):
    """Return place and speed of each phone at a moment."""
    phones = way.phone[-1] + 1
    # No phone's time is beyond a million seconds.
    key = way.phone * 1e6 + np.minimum(way.time_s, 9e5)
    row = np.searchsorted(key, np.arange(phones) * 1e6 + now_s, side="right") - 1
    after = np.minimum(row + 1, way.phone.size - 1)
    goes = way.phone[after] == way.phone[row]
    takes_s = np.where(goes, way.time_s[after] - way.time_s[row], 1.0)
    places, speeds = [], []
    for column in (way.x_m, way.y_m):
        speed = np.where(goes, column[after] - column[row], 0.0) / takes_s
        speeds.append(speed)
        places.append(column[row] + speed * (now_s - way.time_s[row]))
    return (*places, np.hypot(*speeds))


def share_near(true):
    """Return what the share of so many phones is but for five standard errors."""
    return pytest.approx(true, abs=5 * math.sqrt(true * (1 - true) / PHONES))


def leg_and_pause_s(law):
    if law["model"] == "levy_walk":
        times, pauses = walks._levy_laws(law)
        return times.mean_s(), pauses.mean()
    inverse = walk_laws.mean_inverse_speed(law["slowest_m_per_s"], law["fastest_m_per_s"])
    return walk_laws.mean_leg_m(law["width_m"], law["height_m"]) * inverse, law["pause_s"] / 2


@pytest.mark.parametrize("now_s", [0.0, 300.0, DURATION_S])
def test_as_many_walk_as_in_the_long_run_from_the_beginning(walked, now_s):
    law, way = walked
    leg_s, pause_s = leg_and_pause_s(law)
    *_, speed = at(way, now_s)
    assert (speed > 0).mean() == share_near(leg_s / (leg_s + pause_s) - 1e-9)


@pytest.mark.parametrize("now_s", [0.0, 300.0, DURATION_S])
def test_who_walks_has_the_mean_speed_of_the_long_run(walked, now_s):
    law, way = walked
    *_, speed = at(way, now_s)
    speed = speed[speed > 0]
    if law["model"] == "levy_walk":
        times, _ = walks._levy_laws(law)
        expected = times.lengths.mean() / times.mean_s()
    else:
        expected = (1.5 - 0.5) / math.log(1.5 / 0.5)
    assert speed.mean() == pytest.approx(expected, abs=5 * speed.std() / math.sqrt(speed.size))


def test_speeds_of_random_waypoint_have_a_density_of_one_over_the_speed():
    *_, speed = at(way_of(WAYPOINT), 0.0)
    expected = 0.5 * 3 ** np.array([0.25, 0.5, 0.75])
    assert np.quantile(speed, [0.25, 0.5, 0.75]) == pytest.approx(expected, abs=0.015)


def test_places_have_the_same_law_all_along(walked):
    _, way = walked
    middle = []
    for now_s in (0.0, DURATION_S):
        x_m, y_m, _ = at(way, now_s)
        assert ((x_m >= 0) & (x_m <= 400) & (y_m >= 0) & (y_m <= 300)).all()
        middle.append(((abs(x_m - 200) < 100) & (abs(y_m - 150) < 75)).mean())
    assert middle[1] == pytest.approx(middle[0], abs=5 * math.sqrt(0.5 / PHONES))


def test_places_of_a_levy_walk_are_uniform():
    for now_s in (0.0, DURATION_S):
        x_m, y_m, _ = at(way_of(LEVY), now_s)
        cells = np.histogram2d(x_m, y_m, bins=8, range=[[0, 400], [0, 300]])[0]
        assert ((cells - PHONES / 64) ** 2).sum() / (PHONES / 64) < 110  # p = 1e-4 of chi-square


def test_random_waypoint_gathers_people_in_the_middle():
    law = {**WAYPOINT, "width_m": 400.0, "height_m": 400.0}
    x_m, y_m, _ = at(way_of(law, 200_000), 0.0)
    cells = np.histogram2d(x_m, y_m, bins=20, range=[[0, 400], [0, 400]])[0]
    together = (cells * (cells - 1)).sum() / (200_000 * 199_999) * 400
    assert together == pytest.approx(walk_laws.WAYPOINT_DENSITY, rel=0.01)


def test_pairs_meet_as_often_as_groenevelt_et_al_say():
    law = {**WAYPOINT, "width_m": 2000.0, "height_m": 2000.0}
    law |= {"slowest_m_per_s": 0.91, "fastest_m_per_s": 0.91}
    _, _, begin_s, _ = walks.met(way_of(law, 4000), 10.0, DURATION_S)
    expected = walk_laws.meetings_per_s(10.0, 0.91, 4e6) * 4000 * 3999 / 2
    assert (begin_s > 0).sum() / DURATION_S == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_another_phone_moves_no_other(law):
    few, many = way_of(law, 20), way_of(law, 21)
    same = many.phone < 20
    for name in ("phone", "time_s", "x_m", "y_m"):
        assert (getattr(few, name) == getattr(many, name)[same]).all()


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_who_stands_stays_at_one_place_and_moves_no_walker(law):
    mixed, walking = way_of(law, 30, standing=[3, 4]), way_of(law, 30)
    stands = np.isin(mixed.phone, [3, 4])
    assert mixed.phone[stands].tolist() == [3, 4]
    assert (mixed.x_m[~stands] == walking.x_m[~np.isin(walking.phone, [3, 4])]).all()


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_another_seed_is_another_walk(law):
    assert way_of(law, 5).x_m[0] != way_of(law, 5, seed=2).x_m[0]


def test_a_leg_is_reflected_wherever_it_meets_the_border():
    one = np.zeros(1)
    sides_m = np.array([[10.0], [100.0]])
    place_m, way_m = np.array([[5.0], [50.0]]), np.array([[-32.0], [0.0]])
    rows = walks._reflected(np.zeros(1, np.int64), one, place_m, way_m, one + 32, sides_m)
    _, time_s, x_m, _ = rows[0]
    assert list(zip(time_s.tolist(), x_m.tolist(), strict=True)) == [
        (5.0, 0.0),
        (15.0, 10.0),
        (25.0, 0.0),
    ]
    assert walks._folded(place_m + way_m, sides_m).ravel().tolist() == [7.0, 50.0]


@given(
    st.sampled_from(sorted(LAWS)),
    st.integers(0, 2**32),
    st.floats(5, 80),
    st.lists(st.floats(0, DURATION_S), min_size=20, max_size=20),
)
def test_two_are_in_contact_while_they_are_in_range(name, seed, range_m, moments_s):
    way = way_of(LAWS[name], 12, seed, standing=[0, 1])
    one, other, begin_s, end_s = walks.met(way, range_m, DURATION_S)
    assert (np.diff(begin_s) >= 0).all()
    for now_s in moments_s:
        x_m, y_m, _ = at(way, now_s)
        away_m = np.hypot(x_m[:, None] - x_m, y_m[:, None] - y_m)
        near = np.zeros((12, 12), bool)
        open_now = (begin_s <= now_s) & (now_s <= end_s)
        near[one[open_now], other[open_now]] = True
        is_sure = np.triu(abs(away_m - range_m) > 1e-6, 1)
        assert (near == (away_m <= range_m))[is_sure].all()


@pytest.fixture(scope="module")
def walkers(root):
    return root / "pocketsim/scenarios/scale/walkers.toml"


def planned(path, *overrides, repetition=0):
    return build_plan(resolve(load(path, overrides))[0].resolved, repetition)


def test_a_plan_has_contacts_and_two_are_alike(walkers):
    first, again = planned(walkers), planned(walkers)
    typed_sections.check(first, plan.Plan, typed_sections.PLAN, "it")
    near = first["proximity"]
    assert near["time_s"].size > 1000
    assert (near["phone_a"] < near["phone_b"]).all()
    for name in ("time_s", "duration_s", "phone_a", "phone_b", "link"):
        assert (near[name] == again["proximity"][name]).all()
    assert (near["time_s"] != planned(walkers, repetition=1)["proximity"]["time_s"][0]).any()


def test_who_stands_is_never_near_who_stands_but_for_the_whole_run(walkers):
    near = planned(walkers)["proximity"]
    both = (near["phone_a"] >= 180) & (near["phone_b"] >= 180)
    assert (near["duration_s"][both] == 600).all()
    assert ((near["phone_b"] >= 180) & ~both).any()


def test_a_contact_keeps_its_link_when_a_phone_is_added(walkers):
    links = ["contacts.links.nfc={share=0.5, rate='10kBps', latency='1ms'}"]
    links += ["contacts.links.ble.share=0.5", "devices[1].count=1"]
    few = planned(walkers, *links)["proximity"]
    many = planned(walkers, *links, "devices[1].count=2")["proximity"]
    kept = many["phone_b"] < 181
    assert (many["link"][kept] == few["link"]).all()
    assert set(few["link"].tolist()) == {0, 1}


@pytest.fixture
def town(root):
    return resolve(load(root / "pocketsim/scenarios/tokens/market.toml"))[0].resolved


def test_the_authority_is_near_nobody_and_shops_stand(town):
    walk = {**WAYPOINT, "width_m": 60.0, "height_m": 60.0}
    walk["links"] = town["contacts"]["links"]
    resolved = {**town, "contacts": walk}
    roles = np.repeat(
        [one["role"] for one in resolved["devices"]], [one["count"] for one in resolved["devices"]]
    )
    near = build_plan(resolved, 0)["proximity"]
    met = set(roles[near["phone_a"]]) | set(roles[near["phone_b"]])
    assert met == {"person", "shop"}
    shops = (roles[near["phone_a"]] == "shop") & (roles[near["phone_b"]] == "shop")
    assert (near["duration_s"][shops] == resolved["run"]["duration_s"]).all()
