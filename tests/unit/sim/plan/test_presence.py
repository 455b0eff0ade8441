"""Phones drawn from a presence law: stationary, each with its availability, by hours of the day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pocketsim.calibration.fit.people.watched_phones import WatchedPhones
from pocketsim.sim.base.streams import Lanes
from pocketsim.sim.plan import presence
from pocketsim.sim.plan.presence import DAY_S, DayClock

if TYPE_CHECKING:
    from pocketsim.sim.scenario import resolved as given

EVEN = [1.0] * 24


def law(**changes: object) -> given.PresenceLaw:
    """Return a law of phones that are on 20 % of the time, ten times a day, with changes."""
    plain = {
        "title": "",
        "source": "",
        "never_ratio": 0.0,
        "availability": {"p50": 0.2, "p60": 0.2},
        "sessions_per_day": {"p50": 10.0, "p60": 10.0},
        "rank_correlation": 0.0,
        "session_s": {"p1": 100.0, "p50": 1000.0, "p99": 10_000.0},
        "session_within": 0.9,
        "gap_s": {"p1": 50.0, "p50": 4000.0, "p99": 60_000.0},
        "gap_within": 0.9,
        "begins": EVEN,
        "ends": EVEN,
    }
    return {**plain, **changes}  # type: ignore[typeddict-item]


def watched(given_law: given.PresenceLaw, phones: int, days: float = 3.0) -> WatchedPhones:
    """Return so many phones of a law, watched for some days."""
    lane = np.arange(phones, dtype=np.uint64)
    changes = presence.drawn(given_law, Lanes(1, "test"), lane, days * DAY_S)
    return WatchedPhones.of_transitions(changes, np.full(phones, days * DAY_S))


def test_a_clock_of_hours_goes_and_comes_back() -> None:
    clock = DayClock((2.0, *[1.0] * 22, 0.0))
    second_s = np.array([-DAY_S, 0.0, 1800.0, 5400.0, DAY_S, 3 * DAY_S + 60])
    assert clock.reads(second_s)[:4] == pytest.approx([-DAY_S, 0.0, 3600.0, 9000.0])
    assert clock.second(clock.reads(second_s)) == pytest.approx(second_s)


def test_phones_are_on_for_their_share_from_the_first_second_on() -> None:
    seen = watched(law(), 4000)
    assert seen.availability().mean() == pytest.approx(0.2, rel=0.03)
    assert seen.sessions_per_day().mean() == pytest.approx(10, rel=0.05)
    for at_s in (1.0, DAY_S, 2.9 * DAY_S):
        on = np.count_nonzero((seen.on_s <= at_s) & (seen.off_s > at_s))
        assert on / 4000 == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 4000))


def test_availabilities_are_those_of_the_table() -> None:
    table = {"p10": 0.01, "p50": 0.06, "p90": 0.3}
    drawn = presence.rhythms(
        law(availability=table), Lanes(1, "test"), np.arange(20_000, dtype=np.uint64)
    )
    found = np.quantile(drawn.availability, [0.1, 0.5, 0.9])
    assert found == pytest.approx(list(table.values()), rel=0.05)


def test_some_phones_never_come_on() -> None:
    seen = watched(law(never_ratio=0.3), 4000)
    assert 1 - seen.came_on().mean() == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / 4000))


def test_hours_say_when_phones_are_on() -> None:
    night = [2.0 if hour < 6 else 2 / 3 for hour in range(24)]
    seen = watched(law(ends=[1 / speed for speed in night]), 4000)
    on = seen.on_by_hour()
    assert on[1:6].mean() > 1.5 * on[8:24].mean()
    assert on.mean() == pytest.approx(1)


def test_a_run_may_begin_at_any_hour() -> None:
    lane = np.arange(4000, dtype=np.uint64)
    night = law(ends=[0.3 if hour < 6 else 1.5 for hour in range(24)])
    on = []
    for hour in (4, 14):
        changes = presence.drawn(night, Lanes(1, "test"), lane, 60.0, hour * 3600.0)
        on.append(lane.size - np.count_nonzero(changes.time_s == 0))
    assert on[0] > 1.3 * on[1]


def test_a_phone_added_leaves_the_others_as_they_were() -> None:
    few, more = watched(law(), 50), watched(law(), 51)
    kept = more.phone < 50
    assert (few.on_s == more.on_s[kept]).all()
    assert (few.off_s == more.off_s[kept]).all()
