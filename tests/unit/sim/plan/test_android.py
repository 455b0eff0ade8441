"""Phones that are on when Android lets an app use the network: buckets, episodes, and the plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.base import si
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.streams import Streams
from pocketsim.sim.plan import android, charging, episodes, standby
from pocketsim.sim.plan.android import Asked, Moments
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.plan.intervals import Intervals, both, everyone, stacked, union
from pocketsim.sim.scenario.android import AndroidChurn
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support.who_is_on import is_on

DAY_S = 86_400.0
NOBODY = Moments(np.empty(0, np.int64), np.empty(0))
NOTHING = Asked(NOBODY, NOBODY)
STREAMS = Streams(1, "test/churn")


def law(**changes: object) -> dict:
    """Return the law as a scenario says it, with changes."""
    return si.section(AndroidChurn.model_validate({"kind": "android", **changes}))


def lanes(phones: int) -> np.ndarray:
    return np.arange(phones, dtype=np.uint64)


def jobs(*rows: tuple[float, float], bucket: str = "working_set") -> list[tuple[float, float]]:
    """Return when jobs of one phone run that may in these intervals."""
    table = np.array(rows, dtype=float)
    allowed = Intervals(np.zeros(len(rows), np.int64), table[:, 0], table[:, 1])
    found = standby.in_jobs(allowed, {bucket: everyone(1, -1e9, 1e9)})
    return list(zip(found.begin_s.tolist(), found.end_s.tolist(), strict=True))


@pytest.mark.parametrize(
    ("bucket", "window_s"), [("working_set", 7200), ("frequent", 28_800), ("restricted", 86_400)]
)
def test_jobs_run_for_ten_minutes_in_each_window(bucket: str, window_s: float) -> None:
    found = jobs((0, 2.5 * window_s), bucket=bucket)
    # Half a minute is waited for, and what is used then comes free half a minute later.
    assert found[0] == (0, 600)
    assert found[1][0] == window_s + 30
    assert sum(end - begin for begin, end in found) == pytest.approx(1800)


def test_the_active_bucket_has_no_limit() -> None:
    assert jobs((0, 50_000), bucket="active") == [(0, 50_000)]


spans = st.lists(st.tuples(st.integers(1, 2000), st.integers(1, 900)), min_size=1, max_size=40)


@given(spans)
def test_no_window_ever_holds_more_than_the_quota(gaps: list[tuple[int, int]]) -> None:
    edges = np.cumsum([length for pair in gaps for length in pair]).reshape(-1, 2)
    found = jobs(*edges.tolist())
    begin, end = np.array(found).T
    for at in (*begin, *end):
        inside = np.clip(np.minimum(end, at) - np.maximum(begin, at - 7200), 0, None)
        assert inside.sum() <= 600 + 1e-6
    # Nobody waits who has half a minute left, and nothing runs that may not.
    assert begin[0] == edges[0, 0]
    for first, last in found:
        assert ((edges[:, 0] <= first) & (last <= edges[:, 1])).any()


def test_buckets_go_by_the_time_since_the_last_use() -> None:
    hours = np.array([0.0, 20.0, 100.0])
    found = standby.by_use(np.array([3, 3, 3]), hours * 3600)
    told = {
        name: list(zip(part.begin_s / 3600, part.end_s / 3600, strict=True))
        for name, part in found.items()
    }
    assert told == {
        "active": [(0, 12), (20, 32), (100, 112)],
        "working_set": [(12, 20), (32, 44), (112, 124)],
        "frequent": [(44, 68), (124, 148)],
        "rare": [(68, 100), (148, 292)],
        "restricted": [(292, np.inf)],
    }


@pytest.mark.parametrize("key", ["screen", "charging", "motion"])
def test_episodes_come_as_often_and_last_as_long_as_the_law_says(key: str) -> None:
    # A little less: of long ones in busy hours some leave no time for others.
    told = law()[key]
    middle, sigma = told["length"]["median_s"], told["length"]["sigma"]
    share = told["per_day"] * middle * np.exp(sigma**2 / 2) / DAY_S
    found = episodes.drawn(told, STREAMS.of(key), lanes(2000), -DAY_S, 2 * DAY_S)
    begun = found.among((found.begin_s >= 0) & (found.begin_s < 2 * DAY_S))
    assert begun.phone.size / 4000 == pytest.approx(told["per_day"], rel=0.1)
    there = both(found, everyone(2000, 0, 2 * DAY_S)).total_s(2000).mean() / (2 * DAY_S)
    assert there == pytest.approx(share, rel=0.1)


def test_two_of_five_plug_in_between_18_and_20_h() -> None:
    found = charging.drawn(law()["charging"], STREAMS, lanes(4000), -DAY_S, DAY_S)
    hour = (found.begin_s[found.begin_s > 0] // 3600).astype(int)
    assert np.isin(hour, (18, 19)).mean() == pytest.approx(0.4, abs=0.02)
    assert np.isin(hour, range(1, 8)).mean() == pytest.approx(0.3, abs=0.02)


def test_the_app_is_on_while_a_phone_charges_and_for_less_the_rarer_its_bucket() -> None:
    shares, buckets = {}, ("active", "working_set", "frequent", "rare")
    plugged = charging.drawn(law()["charging"], STREAMS, lanes(400), -DAY_S, DAY_S)
    day = everyone(400, 0, DAY_S)
    for bucket in buckets:
        found = android.background(law(bucket=bucket), STREAMS, lanes(400), DAY_S, NOBODY)
        shares[bucket] = both(found, day).total_s(400)
        charged = both(both(found, day), plugged).total_s(400)
        assert charged == pytest.approx(both(plugged, day).total_s(400))
        if bucket != "active":
            window_s = standby.BUCKETS[bucket].window_s
            assert (shares[bucket] - charged).max() <= 600 * (DAY_S / window_s + 1)
    means = [shares[bucket].mean() for bucket in buckets]
    assert means == sorted(means, reverse=True)
    assert means[-1] < 0.6 * means[0]


def test_an_app_that_is_used_has_a_better_bucket() -> None:
    used = Moments(np.zeros(1, np.int64), np.array([3600.0]))
    seldom = law(bucket="by_use", used_before="3000h")
    day = everyone(2, 0, DAY_S)
    alone, asked = (
        both(android.background(seldom, STREAMS, lanes(2), DAY_S, who), day).total_s(2)
        for who in (NOBODY, used)
    )
    assert asked[0] > 1.5 * alone[0]
    assert asked[1] == alone[1]


def test_a_push_opens_the_app_of_whom_it_is_sent_to() -> None:
    times_s = np.arange(1000.0, DAY_S, 5000.0)
    sent = Moments(np.full(times_s.size, 1), times_s)
    rare = law(bucket="rare", push="5min")
    found = android.drawn(rare, STREAMS, lanes(2), DAY_S, Asked(NOBODY, sent))
    for phone, always in ((0, False), (1, True)):
        whose = np.full(times_s.size, phone)
        on = is_on(found, whose, times_s) & is_on(found, whose, times_s + 299.0)
        assert on.all() == always


def test_an_exempt_app_is_always_on() -> None:
    assert not android.drawn(law(exempt=True), STREAMS, lanes(9), DAY_S, NOTHING).time_s.size


def test_a_phone_added_leaves_the_others_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(android, "_AT_ONCE", 7)
    few, more = (
        android.drawn(law(), STREAMS, lanes(phones), DAY_S, NOTHING) for phones in (20, 21)
    )
    kept = more.phone < 20
    assert (few.time_s == more.time_s[kept]).all()
    assert (few.phone == more.phone[kept]).all()


def test_phones_come_and_go_between_on_and_off() -> None:
    found = android.drawn(law(time_of_day="8h"), STREAMS, lanes(50), DAY_S, NOTHING)
    assert found.time_s.min() >= 0
    assert found.time_s.max() < DAY_S
    for phone in range(50):
        mine = found.on[found.phone == phone]
        assert (mine[1:] != mine[:-1]).all()
    background = android.background(law(time_of_day="8h"), STREAMS, lanes(50), DAY_S, NOBODY)
    at_s = np.linspace(1, DAY_S - 1, 400)
    expected = [
        ((background.begin_s <= at + 28_800) & (at + 28_800 < background.end_s)).sum() / 50
        for at in at_s
    ]
    seen = [is_on(found, np.arange(50), np.full(50, at)).mean() for at in at_s]
    assert seen == expected


def test_a_scenario_has_it_of_all_or_of_a_group() -> None:
    settings = ["churn={kind='android', time_of_day='12h'}", "devices[0].churn={kind='none'}"]
    document = load("tests/support/1k_churn.toml", settings)
    (rung,) = resolve(document)
    assert rung.resolved["churn"]["screen"]["length"]["median_s"] == 40
    found = build_plan(rung.resolved, 0)["churn"]
    first = rung.resolved["devices"][0]["count"]
    assert len(found["phone"])
    assert min(found["phone"]) >= first


def refused(*settings: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        load("tests/support/1k_churn.toml", settings)
    return f"{caught.value.key_path}: {caught.value.reason}"


def test_mistakes_are_named() -> None:
    assert refused("churn={kind='android', bucket='by_use'}") == (
        'churn.bucket: "by_use" takes [foreground], which says who uses the app'
    )
    assert refused("churn={kind='android', charging={per_day=20}}") == (
        "churn.charging.per_day: 20 a day take 2.3 days together"
    )
    assert refused("devices[1].churn={kind='android', push='6min'}").startswith(
        "devices[1].churn.push: should be less than or equal to 300"
    )
    assert refused(
        "churn={kind='android', screen={per_day=9000, length={distribution='weibull', "
        "shape=1, scale='1s'}}}",
        "run.duration=10000h",
    ).startswith("churn.screen.per_day: asks for about")


def test_nobody_uses_nothing() -> None:
    assert not union(stacked(())).phone.size
