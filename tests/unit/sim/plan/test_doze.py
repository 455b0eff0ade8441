"""When Android lets apps use the network while nobody uses the phone, by AOSP's times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.plan import doze
from pocketsim.sim.plan.intervals import Intervals, both, everyone, stacked, union, without

MINUTE_S, HOUR_S = 60.0, 3600.0
NEVER = stacked(())


def of_phone(*rows: tuple[float, float], phone: int = 0) -> Intervals:
    """Return intervals of one phone, in minutes."""
    table = np.array(rows, dtype=float).reshape(-1, 2) * MINUTE_S
    return Intervals(np.full(len(rows), phone, dtype=np.int64), table[:, 0], table[:, 1])


def windows(
    minutes: float,
    *,
    screen: Intervals = NEVER,
    charging: Intervals = NEVER,
    motion: Intervals = NEVER,
    steps: doze.Timetable | None = None,
) -> list[tuple[float, float]]:
    """Return when one phone is let use the network in so many minutes, in minutes."""
    whole = everyone(1, 0.0, minutes * MINUTE_S)
    found = doze.windows(screen, charging, motion, steps or doze.timetable(60.0), whole)
    return [
        (round(begin / MINUTE_S, 6), round(end / MINUTE_S, 6))
        for begin, end in zip(found.begin_s, found.end_s, strict=True)
    ]


MOVES = of_phone((0, 600))


def test_eight_hours_still_have_two_deep_windows() -> None:
    long = doze.timetable(HOUR_S)
    # Deep from 64.5 min on: 30 inactive, 30 pending, 4 sensing, 0.5 locating.
    assert windows(480, steps=long)[-2:] == [(124.5, 129.5), (249.5, 259.5)]
    assert len([begin for begin, _ in windows(480, steps=long) if begin > 64.5]) == 2
    assert windows(480)[-2:] == [(124.5, 125.5), (245.5, 246.5)]


def test_light_doze_idles_for_5_10_and_then_15_minutes() -> None:
    assert windows(64) == [(0, 4), (9, 10), (20, 21), (36, 37), (52, 53)]
    assert windows(64, steps=doze.timetable(60.0, 0.0))[0] == (0, 1)


@pytest.mark.parametrize(
    ("asked_s", "light_s", "deep_s"), [(0, 5, 30), (45, 45, 45), (900, 60, 300)]
)
def test_windows_last_as_long_as_jobs_do_within_limits(
    asked_s: float, light_s: float, deep_s: float
) -> None:
    found = windows(140, steps=doze.timetable(asked_s))
    lengths_s = [60 * (end - begin) for begin, end in found]
    assert lengths_s[1] == pytest.approx(light_s, abs=1e-3)
    assert lengths_s[-1] == pytest.approx(deep_s, abs=1e-3)


def test_idle_grows_to_six_hours() -> None:
    begins = [begin for begin, _ in windows(32 * 60, steps=doze.timetable(30.0)) if begin > 64.5]
    assert np.diff(begins) == pytest.approx([120.5, 240.5, *[360.5] * 3])


def test_small_batteries_lie_still_for_half_as_long() -> None:
    found = windows(120, steps=doze.timetable(60.0, small_battery=True))
    assert found[-1] == (94.5, 95.5)
    assert not [begin for begin, _ in found if 34.5 < begin < 94.5]


def test_a_phone_that_moves_dozes_lightly_alone() -> None:
    found = windows(400, motion=MOVES)
    assert found[2:] == [(float(at), float(at + 1)) for at in range(20, 400, 16)]


def test_motion_ends_deep_idle_and_begins_with_a_shorter_wait() -> None:
    found = windows(300, motion=of_phone((100, 101)))
    # Light Doze from 100 on as after the screen; deep from 100 + 10 + 30 + 4 + 0.5 on.
    after = [row for row in found if row[0] >= 100]
    assert after[:4] == [(100, 104), (109, 110), (120, 121), (136, 137)]
    assert after[4] == (204.5, 205.5)


def test_motion_before_deep_idle_leaves_light_doze_alone() -> None:
    found = windows(120, motion=of_phone((50, 51)))
    # Pending again from 60 on, so that deep idle begins at 94.5.
    assert found == [(0, 4), (9, 10), (20, 21), (36, 37), (52, 53), (68, 69), (84, 85)]


def test_motion_in_the_first_half_hour_is_not_looked_for() -> None:
    assert windows(480, motion=of_phone((0, 29.9))) == windows(480)


@pytest.mark.parametrize("what", ["screen", "charging"])
def test_the_screen_and_a_charger_end_doze(what: str) -> None:
    found = windows(200, **{what: of_phone((100, 110))})
    assert (100.0, 114.0) in found  # and another minute, and three
    assert (124.5, 125.5) not in found
    assert found[-1] == (162.0, 163.0)
    assert windows(60, **{what: of_phone((0, 60))}) == [(0, 60)]


def test_phones_do_not_disturb_each_other() -> None:
    motion = stacked([of_phone((70, 75), phone=1), of_phone((10, 300), phone=2)])
    screen = of_phone((200, 201), phone=0)
    whole = everyone(3, 0.0, 400 * MINUTE_S)
    found = doze.windows(screen, NEVER, motion, doze.timetable(60.0), whole)
    for phone, alone in enumerate(
        [
            windows(400, screen=of_phone((200, 201))),
            windows(400, motion=of_phone((70, 75))),
            windows(400, motion=of_phone((10, 300))),
        ]
    ):
        mine = found.among(found.phone == phone)
        rows = np.stack((mine.begin_s, mine.end_s), axis=1) / MINUTE_S
        assert rows == pytest.approx(np.array(alone))


row = st.tuples(st.integers(0, 1), st.integers(0, 20), st.integers(1, 9))


def intervals(rows: list[tuple[int, int, int]]) -> Intervals:
    table = np.array(rows, dtype=float).reshape(-1, 3)
    return Intervals(table[:, 0].astype(np.int64), table[:, 1], table[:, 1] + table[:, 2])


def holds(found: Intervals) -> np.ndarray:
    """Tell for two phones in which of 30 seconds an interval holds."""
    at_s = np.arange(30) + 0.5
    return np.array(
        [
            [
                ((found.phone == phone) & (found.begin_s <= at) & (at < found.end_s)).any()
                for at in at_s
            ]
            for phone in range(2)
        ]
    )


@given(st.lists(row, max_size=8), st.lists(row, max_size=8))
def test_intervals_are_joined_met_and_taken_away(
    first: list[tuple[int, int, int]], second: list[tuple[int, int, int]]
) -> None:
    one, other = union(intervals(first)), union(intervals(second))
    for found, expected in (
        (union(one, other), holds(one) | holds(other)),
        (both(one, other), holds(one) & holds(other)),
        (without(one, other), holds(one) & ~holds(other)),
    ):
        assert (holds(found) == expected).all()
        same = found.phone[1:] == found.phone[:-1]
        assert (found.begin_s[1:] > found.end_s[:-1])[same].all()
