"""Stays at places: who is at one place at one time is in contact, and ways are between."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.base.streams import Streams
from pocketsim.sim.plan import contacts
from pocketsim.sim.plan.stays import Places, Stays

LINKS = {
    "ble": {
        "share": 1.0,
        "rate_bytes_per_s": 59e3,
        "latency_s": 0.03,
        "setup_s": 1.0,
        "loss_ratio": 0.0,
    }
}


class People:
    lane = np.arange(10, dtype=np.uint64)


def stays(rows):
    phone, place, begin_s, end_s = (
        np.array(column, dtype=kind)
        for column, kind in zip(
            zip(*rows, strict=True), (np.int64, np.int64, float, float), strict=True
        )
    )
    places = Places(np.zeros(5, dtype=np.int64), np.arange(5) * 100.0, np.zeros(5))
    return Stays(phone, place, begin_s, end_s, places)


def near(rows, duration_s=100.0):
    found = stays(rows).contacts(LINKS, Streams(1, "x"), People, duration_s)
    columns = (found["phone_a"], found["phone_b"], found["time_s"], found["duration_s"])
    return [tuple(float(value) for value in row) for row in zip(*columns, strict=True)]


def test_two_at_one_place_are_in_contact_while_both_are_there():
    assert near([(1, 0, 0, 50), (0, 0, 20, 80)]) == [(0, 1, 20, 30)]


def test_places_and_times_apart_make_no_contact():
    assert near([(0, 0, 0, 50), (1, 1, 0, 50), (2, 0, 50, 80)]) == []


def test_what_begins_after_the_run_is_none_of_it():
    assert near([(0, 0, 0, 300), (1, 0, 100, 300), (2, 0, 99, 300)]) == [(0, 2, 99, 201)]


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 20), st.integers(1, 9)),
        min_size=1,
        max_size=12,
    )
)
def test_contacts_are_those_of_every_two_stays_compared(drawn):
    rows = [(phone, place, begin, begin + length) for phone, place, begin, length in drawn]
    expected = []
    for number, (one, place, begin, end) in enumerate(rows):
        for other, there, since, until in rows[number + 1 :]:
            both = max(begin, since), min(end, until)
            if one != other and place == there and both[0] < both[1]:
                pair = min(one, other), max(one, other)
                expected.append((*pair, both[0], both[1] - both[0]))
    assert sorted(near(rows)) == sorted(expected)


def test_a_way_goes_from_the_end_of_a_stay_to_the_begin_of_the_next():
    way = stays([(0, 0, 0, 10), (0, 2, 30, 100)]).waypoints()
    assert way.time_s.tolist() == [0, 10, 30, 100]
    assert way.x_m.tolist() == [0, 0, 200, 200]
    assert way.phone.tolist() == [0] * 4


def test_contacts_of_a_pair_are_numbered_by_their_begin():
    low, high = np.array([0, 1, 0, 0, 1]), np.array([1, 2, 1, 2, 2])
    assert contacts._numbers(low, high).tolist() == [0, 0, 1, 0, 1]
    assert contacts._numbers(low[:0], high[:0]).tolist() == []


def test_a_second_contact_of_a_pair_has_a_link_of_its_own():
    links = {"a": {**LINKS["ble"], "share": 0.5}, "b": {**LINKS["ble"], "share": 0.5}}
    rows = [(0, 0, 0, 1000), *((1, 0, 10 * k, 10 * k + 5) for k in range(40))]
    found = stays(rows).contacts(links, Streams(1, "x"), People, 1000.0)
    assert sum(found["link"]) == pytest.approx(20, abs=13)
