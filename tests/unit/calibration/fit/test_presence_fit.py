"""Presence laws fitted to traces: a law that is known is found again from what it draws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pocketsim.calibration.fit.people import presence_fit, presence_sources
from pocketsim.calibration.fit.people.presence_fit import Settings
from pocketsim.calibration.fit.people.presence_summary import summary
from pocketsim.calibration.fit.people.watched_phones import WatchedPhones
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.streams import Lanes
from pocketsim.sim.plan import presence
from pocketsim.sim.plan.presence import DAY_S
from pocketsim.sim.scenario import presence_law

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario import resolved as given

HOUR_S = 3600.0
SHIPPED = presence_law.SHIPPED / "locked_charging_wifi.toml"


def known() -> given.PresenceLaw:
    """Return a law that no trace gave."""
    night = [0.5 if hour < 7 else 1.2 for hour in range(24)]
    return {
        "title": "known",
        "source": "invented",
        "never_ratio": 0.1,
        "availability": {"p10": 0.05, "p50": 0.15, "p90": 0.4},
        "sessions_per_day": {"p10": 4.0, "p50": 8.0, "p90": 16.0},
        "rank_correlation": 0.4,
        "session_s": {"p1": 30.0, "p50": 900.0, "p99": 20_000.0},
        "session_within": 0.85,
        "gap_s": {"p1": 60.0, "p50": 4000.0, "p99": 70_000.0},
        "gap_within": 0.85,
        "begins": [1.0] * 24,
        "ends": night,
    }


def drawn(law: given.PresenceLaw, phones: int) -> WatchedPhones:
    """Return phones of a law, watched for five days, by other random numbers than a fit's."""
    lane = np.arange(phones, dtype=np.uint64)
    changes = presence.drawn(law, Lanes(9, "a trace"), lane, 5 * DAY_S)
    return WatchedPhones.of_transitions(changes, np.full(phones, 5 * DAY_S))


def test_what_a_fitted_law_draws_has_the_percentiles_of_the_trace() -> None:
    seen = drawn(known(), 2000)
    wanted = summary(seen)
    found = presence_fit.fit(wanted, "again", "", Settings(phones=2000, rounds=30))
    again = summary(drawn(found.law, 2000))
    for name in ("availability", "session_s", "gap_s"):
        for at in ("p25", "p50", "p75", "p90"):
            assert getattr(again, name)[at] == pytest.approx(getattr(wanted, name)[at], rel=0.12)
    assert again.never_ratio == pytest.approx(0.1, abs=0.03)
    assert again.on == pytest.approx(wanted.on, rel=0.1)


def test_intervals_are_cut_to_when_a_phone_was_watched() -> None:
    seen = WatchedPhones.of_intervals(
        np.array([1, 0, 0]),
        np.array([5.0, 50.0, 0.0]),
        np.array([15.0, 90.0, 30.0]),
        np.array([10.0, 0.0]),
        np.array([80.0, 5.0]),
    )
    assert seen.phone.tolist() == [0, 0]
    assert seen.on_s.tolist() == [10, 50]
    assert seen.off_s.tolist() == [30, 80]
    assert seen.gaps_s().tolist() == [20]
    assert seen.came_on().tolist() == [True, False]
    assert seen.availability() == pytest.approx([50 / 70, 0])


def test_days_without_a_session_are_counted() -> None:
    day = np.array([0.0, 0.0])
    seen = WatchedPhones.of_intervals(
        np.array([0, 1]),
        np.array([0.5, 0.2]) * DAY_S,
        np.array([1.5, 0.3]) * DAY_S,
        day,
        np.array([3.0, 2.0]) * DAY_S,
    )
    assert seen.days_without() == pytest.approx(2 / 5)


def test_hours_are_told_by_the_time_on() -> None:
    seen = WatchedPhones.of_intervals(
        np.array([0]),
        np.array([1.5 * HOUR_S]),
        np.array([2.5 * HOUR_S]),
        np.zeros(1),
        np.array([DAY_S]),
    )
    assert seen.on_by_hour()[:4] == pytest.approx([0, 12, 12, 0])
    assert seen.begins_by_hour()[1] == pytest.approx(24)


def test_the_shipped_law_says_what_it_was_fitted_to() -> None:
    source = presence_sources.of_law(SHIPPED)
    assert source.wanted.session_s["p50"] == 181
    law = presence_law.read(SHIPPED)
    assert math.isclose(law.availability["p50"], 0.055, rel_tol=0.5)


def test_a_trace_whose_phone_was_never_watched_is_refused_by_row(tmp_path: Path) -> None:
    trace, watch = tmp_path / "phones.csv", tmp_path / "watched.csv"
    trace.write_text("phone,on_s,off_s\n3,0,10\n4,0,10\n")
    watch.write_text("phone,begin_s,end_s\n3,0,86400\n")
    with pytest.raises(ScenarioError, match=r"row 3: .*4, which .*watched.csv has not"):
        presence_sources.of_trace(trace, watch)


def test_a_trace_in_which_nobody_comes_on_is_refused(tmp_path: Path) -> None:
    trace, watch = tmp_path / "phones.csv", tmp_path / "watched.csv"
    trace.write_text("phone,on_s,off_s\n3,90000,90010\n")
    watch.write_text("phone,begin_s,end_s\n3,0,86400\n")
    with pytest.raises(ScenarioError, match="no phone comes on"):
        presence_sources.of_trace(trace, watch)


def test_a_law_that_was_not_fitted_is_refused(tmp_path: Path) -> None:
    import tomli_w

    path = tmp_path / "mine.toml"
    path.write_text(tomli_w.dumps(known()))
    with pytest.raises(ScenarioError, match="does not say what it was fitted to"):
        presence_sources.of_law(path)
