"""Phones that are on because their owners have the app open."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.base.streams import Streams
from pocketsim.sim.plan import arrivals, foreground
from pocketsim.sim.plan.churn import Transitions, in_order
from support.who_is_on import is_on

STAY = {"distribution": "lognormal", "median_s": 40.0, "sigma": 1.5, "longest_s": None}


def transitions(rows: list[tuple[float, int, bool]]) -> Transitions:
    """Return transitions of rows of time, phone and whether it comes on."""
    time_s, phone, on = zip(*rows, strict=True) if rows else ((), (), ())
    return in_order(
        np.array(time_s, dtype=float), np.array(phone, dtype=np.int64), np.array(on, dtype=bool)
    )


def joined(changes: Transitions, more: list[tuple[int, float, float]]) -> list[tuple]:
    phone, begin_s, end_s = zip(*more, strict=True) if more else ((), (), ())
    found = foreground.joined(
        changes,
        (np.array(phone, dtype=np.int64), np.array(begin_s, float), np.array(end_s, float)),
        100.0,
    )
    return list(zip(found.time_s.tolist(), found.phone.tolist(), found.on.tolist(), strict=True))


def test_a_phone_that_is_off_is_on_while_its_app_is_open() -> None:
    assert joined(transitions([(0, 3, False)]), [(3, 20.0, 30.0)]) == [
        (0.0, 3, False),
        (20.0, 3, True),
        (30.0, 3, False),
    ]


def test_intervals_that_touch_or_overlap_are_one() -> None:
    off = transitions([(0, 3, False), (50, 3, True), (60, 3, False)])
    more = [(3, 20.0, 30.0), (3, 25.0, 40.0), (3, 40.0, 50.0), (3, 55.0, 70.0)]
    assert joined(off, more) == [(0.0, 3, False), (20.0, 3, True), (70.0, 3, False)]


def test_an_app_open_when_the_run_begins_and_one_that_stays_open() -> None:
    both = [(3, 0.0, 10.0), (4, 90.0, 200.0)]
    assert joined(transitions([(0, 3, False), (0, 4, False)]), both) == [
        (0.0, 4, False),
        (10.0, 3, False),
        (90.0, 4, True),
    ]


row = st.tuples(st.integers(0, 3), st.integers(0, 99), st.integers(1, 30))


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 3)), max_size=12, unique=True),
    st.lists(row, max_size=8),
)
def test_a_phone_is_on_when_it_was_or_its_app_is_open(
    flips: list[tuple[int, int]], more: list[tuple[int, int, int]]
) -> None:
    state = dict.fromkeys(range(4), True)
    rows = []
    for time_s, phone in sorted(flips):
        state[phone] = not state[phone]
        rows.append((float(time_s), phone, state[phone]))
    changes = transitions(rows)
    known = {phone for _, phone in flips}
    intervals = [(phone, float(at), float(at + long)) for phone, at, long in more if phone in known]
    found = transitions(joined(changes, intervals))
    for phone in known:
        at_s = np.arange(0, 100) + 0.5
        plain = is_on(changes, np.full(100, phone), at_s)
        opened = np.zeros(100, dtype=bool)
        for whose, begin_s, end_s in intervals:
            opened |= (whose == phone) & (begin_s <= at_s) & (at_s < end_s)
        assert (is_on(found, np.full(100, phone), at_s) == (plain | opened)).all()


@pytest.mark.parametrize("whose", ["asker", "both"])
def test_who_asks_is_on_when_it_does(whose: str) -> None:
    changes = transitions([(0, phone, False) for phone in range(3)])
    asked = arrivals.Arrivals(
        np.array([10.0, 30.0, 60.0]), np.array([0, 1, 0]), np.array([1, 3, 2])
    )
    law = {"lead_s": 5.0, "stay": STAY, "whose": whose}
    lane = np.arange(4, dtype=np.uint64)
    workload = arrivals.proposals(asked, 100)
    found = foreground.opened(law, changes, workload, Streams(1, "x"), lane, 100.0)
    for time_s, phone, peer in zip(asked.time_s, asked.from_phone, asked.to_phone, strict=True):
        at = np.array([time_s - 5.0, time_s])
        assert is_on(found, np.full(2, phone), at).all()
        assert is_on(found, np.full(2, peer), at).all() == (whose == "both" or peer == 3)
    assert 3 not in found.phone  # it is always on


def test_another_asker_leaves_how_long_an_app_stays_open() -> None:
    changes = transitions([(0, phone, False) for phone in range(3)])
    lane, law = np.arange(3, dtype=np.uint64), {"lead_s": 5.0, "stay": STAY, "whose": "asker"}

    def of_phone_0(who: list[int]) -> list[float]:
        time_s = np.arange(len(who)) * 1000.0 + 50
        asked = arrivals.Arrivals(time_s, np.array(who), np.full(len(who), 2))
        work = arrivals.proposals(asked, 100)
        found = foreground.opened(law, changes, work, Streams(1, "x"), lane, 1e6)
        mine = (found.phone == 0) & ~found.on & (found.time_s > 0)
        return (found.time_s[mine] % 1000).tolist()

    assert of_phone_0([0, 1, 0])[0] == pytest.approx(of_phone_0([0, 0])[0])
