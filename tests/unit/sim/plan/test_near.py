"""Partners that are near: who is drawn, of whom, and that nobody is drawn who is not there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.base.streams import Lanes
from pocketsim.sim.plan import near, plan
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

CONTACT = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 20), st.integers(1, 9))


def proximity(contacts):
    rows = sorted((row for row in contacts if row[0] != row[1]), key=lambda row: row[2])
    one, other, begin_s, duration_s = zip(*rows, strict=True) if rows else ((),) * 4
    return {
        "time_s": plan.floats(begin_s),
        "duration_s": plan.floats(duration_s),
        "phone_a": plan.numbers(one),
        "phone_b": plan.numbers(other),
    }


def around(contacts, phone, now_s):
    """Return who is near a phone, by looking at each contact."""
    found = set()
    for one, other, begin_s, duration_s in contacts:
        if one != other and begin_s <= now_s < begin_s + duration_s and phone in (one, other):
            found.add(one + other - phone)
    return found


@given(
    st.lists(CONTACT, max_size=12),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30)), max_size=8),
)
def test_who_is_near_is_whom_a_contact_joins_at_that_moment(contacts, asked):
    phone = np.array([phone for phone, _ in asked], np.int64)
    time_s = np.array([time_s for _, time_s in asked], float)
    row, other = near.pairs(proximity(contacts), phone, time_s)
    for number, (who, now_s) in enumerate(asked):
        assert other[row == number].tolist() == sorted(around(contacts, who, now_s))


def drawn(contacts, able=None):
    """Return whom phone 0 proposes to at 1 s, a thousand times."""
    bits = Lanes(1, "it").bits(0, np.arange(1000))
    zeros = np.zeros(1000, np.int64)
    return near.chosen(proximity(contacts), zeros, zeros + 1.0, bits, able)


def test_each_of_those_near_is_as_likely():
    counts = np.bincount(drawn([(0, 1, 0, 5), (0, 3, 0, 5), (5, 0, 0, 5), (2, 4, 0, 5)]))
    assert counts[[0, 2, 4]].tolist() == [0, 0, 0]
    assert counts[[1, 3, 5]] == pytest.approx([333] * 3, abs=70)


def test_of_whom_nobody_is_near_nobody_is_chosen():
    assert (drawn([(1, 2, 0, 5), (0, 1, 2, 5)]) == -1).all()
    assert (drawn([]) == -1).all()


def test_only_those_are_chosen_who_may_be():
    able = np.array([True, False, True, True, True, True])
    assert set(drawn([(0, 1, 0, 5), (0, 3, 0, 5)], able).tolist()) == {3}
    assert set(drawn([(0, 1, 0, 5)], able).tolist()) == {-1}


@pytest.fixture(scope="module")
def walkers(root):
    return root / "pocketsim/scenarios/scale/walkers.toml"


def planned(path, *overrides):
    return build_plan(resolve(load(path, overrides))[0].resolved, 0)


def test_proposals_go_to_who_is_near_and_are_those_of_others_but_for_who_is_alone(walkers):
    found = planned(walkers)
    work, contacts = found["workload"], found["proximity"]
    row, other = near.pairs(contacts, work["from_phone"].astype(np.int64), work["time_s"])
    chosen = work["to_phone"][row] == other
    assert np.bincount(row[chosen], minlength=work["time_s"].size).tolist() == [1] * len(
        chosen[chosen]
    )
    every = planned(walkers, "workload.partners={generator='random_regular', neighbours=3}")
    asked = set(zip(every["workload"]["time_s"], every["workload"]["from_phone"], strict=True))
    made = set(zip(work["time_s"], work["from_phone"], strict=True))
    assert made < asked
    assert 0.5 < len(made) / len(asked) < 0.9
    alone = [(time_s, phone) for time_s, phone in sorted(asked - made)]
    time_s, phone = (np.array(column) for column in zip(*alone, strict=True))
    assert near.pairs(contacts, phone.astype(np.int64), time_s)[0].size == 0


@pytest.fixture
def town(root):
    return resolve(load(root / "pocketsim/scenarios/tokens/market.toml"))[0].resolved


def test_persons_of_a_town_pay_persons_who_are_near(town):
    walk = {
        "kind": "walk",
        "model": "random_waypoint",
        "width_m": 100.0,
        "height_m": 100.0,
        "range_m": 10.0,
        "slowest_m_per_s": 0.5,
        "fastest_m_per_s": 1.5,
        "pause_s": 0.0,
        "links": town["contacts"]["links"],
    }
    far = build_plan({**town, "contacts": walk}, 0)
    close = build_plan(
        {**town, "contacts": walk, "workload": {**town["workload"], "near": True}}, 0
    )
    role = np.repeat(
        [group["role"] for group in town["devices"]],
        [group["count"] for group in town["devices"]],
    )
    paid, asked = close["workload"], far["workload"]
    to_person = role[paid["to_phone"]] == "person"
    row, other = near.pairs(close["proximity"], paid["from_phone"].astype(np.int64), paid["time_s"])
    met = np.isin(np.flatnonzero(to_person), row[paid["to_phone"][row] == other])
    assert met.size
    assert met.all()
    # Payments to shops are the same, with their amounts.
    to_shop, asked_shop = ~to_person, role[asked["to_phone"]] == "shop"
    for name in ("time_s", "from_phone", "to_phone", "amount_cents"):
        assert (paid[name][to_shop] == asked[name][asked_shop]).all()
