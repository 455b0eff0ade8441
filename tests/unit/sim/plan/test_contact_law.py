"""Contacts drawn from a law: whom an added phone moves, when people meet, what quantiles say."""

import numpy as np
import pytest

from pocketsim.api.documents import catalog
from pocketsim.sim.base.streams import Streams
from pocketsim.sim.plan import contact_law
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

DAY_S = 86_400
LAW = {
    "people": 30,
    "resolution_s": 20.0,
    "there": [0.9, 0.9, 0.9, 0.9, 0.9, 0.0, 0.0],
    "hours": [0.0] * 8 + [1.0] * 10 + [0.0] * 6,
    "leaves_s": {"p1": 50_000.0, "p99": 72_000.0},
    "meets": {
        "probability": 0.1,
        "same_person_correlation": 0.1,
        "same_pair_correlation": 0.6,
    },
    "contacts": {"p40": 1.0, "p90": 8.0, "p99": 20.0},
    "duration_s": {"p60": 20.0, "p90": 80.0, "p99": 300.0},
    "gap_s": {"p10": 20.0, "p50": 80.0, "p90": 900.0},
    "activity_correlation": 0.3,
}
SHIPPED = catalog.PACKAGE / "scenarios/own_data/contacts_file.toml"
SECTION = "contacts={{kind='law', law='office_2015', {}links={{{}}}}}"
ONE_LINK = "ble={share=1.0, rate='59kBps', latency='30ms'}"
TWO_LINKS = (
    "ble={share=0.7, rate='59kBps', latency='30ms'}, nfc={share=0.3, rate='9kBps', latency='9ms'}"
)


def meetings(people, begin_s=0.0, end_s=7.0 * DAY_S, **changes):
    lane = np.arange(people, dtype=np.uint64)
    return contact_law.meetings({**LAW, **changes}, Streams(1, "x"), lane, (begin_s, end_s))


def rows(met, people=None):
    columns = (met.one, met.other, met.begin_s, met.end_s)
    found = set(zip(*(column.tolist() for column in columns), strict=True))
    return {row for row in found if people is None or row[1] < people}


def planned(*overrides, count=40, duration="1d"):
    more = [f"devices[0].count={count}", f"run.duration={duration}", "outages=[]"]
    return build_plan(resolve(load(SHIPPED, [*more, *overrides]))[0].resolved, 0)


@pytest.mark.parametrize("resolution_s", [20.0, 0.1])
@pytest.mark.parametrize("people", [20, 30, 47])
def test_a_phone_added_last_moves_no_other_pair(people, resolution_s):
    before = rows(meetings(people, resolution_s=resolution_s))
    assert before
    after = meetings(people + 1, resolution_s=resolution_s)
    assert rows(after, people) == before
    assert people in (30, *after.other.tolist())  # the first of a place is alone there


def test_only_people_of_one_place_meet():
    met = meetings(75)
    assert set(met.one // 30) == {0, 1, 2}
    assert (met.one // 30 == met.other // 30).all()
    assert (met.one < met.other).all()


def test_nobody_meets_at_night_or_on_weekends():
    met = meetings(30, end_s=21.0 * DAY_S)
    day, second = np.divmod(met.begin_s, DAY_S)
    assert set(day.astype(int) % 7) == {0, 1, 2, 3, 4}
    assert second.min() >= 8 * 3600
    # After the last of them has left at 20:00 no contact begins.
    assert second.max() < 20 * 3600
    assert (met.end_s <= (day + 1) * DAY_S).all()


def test_times_are_multiples_of_the_resolution():
    met = meetings(30)
    assert not (met.begin_s % 20).any()
    assert not (met.end_s % 20).any()
    assert (met.end_s > met.begin_s).all()


def test_contacts_of_a_pair_do_not_touch():
    met = meetings(30, end_s=35.0 * DAY_S)
    order = np.lexsort((met.begin_s, met.other, met.one))
    same = (np.diff(met.one[order]) == 0) & (np.diff(met.other[order]) == 0)
    assert same.any()
    assert ((met.begin_s[order][1:] - met.end_s[order][:-1])[same] >= 20).all()


def test_durations_have_the_quantiles_of_the_law():
    met = meetings(30, end_s=700.0 * DAY_S)
    duration_s = met.end_s - met.begin_s
    for share, until_s in ((0.6, 20), (0.9, 80)):
        assert (duration_s <= until_s).mean() == pytest.approx(share, abs=0.02)
    assert duration_s.max() == 300


def test_gaps_and_numbers_have_the_quantiles_of_a_law_whose_day_does_not_end():
    free = {"leaves_s": {"p1": 86_400.0, "p99": 86_400.0}, "activity_correlation": 0.0}
    free["hours"] = [1.0] + [0.0] * 23
    met = meetings(30, end_s=700.0 * DAY_S, **free)
    pair_day, number = np.unique(met.pair_day, return_counts=True)
    assert pair_day.size > 5000
    assert (number == 1).mean() == pytest.approx(0.4, abs=0.02)
    assert (number <= 8).mean() == pytest.approx(0.9, abs=0.02)
    gap_s = (met.begin_s[1:] - met.end_s[:-1])[met.number[1:] > 0]
    for share, until_s in ((0.1, 20), (0.5, 80)):
        assert (gap_s <= until_s).mean() == pytest.approx(share, abs=0.02)


def test_pairs_meet_as_often_as_the_law_says():
    met = meetings(30, end_s=700.0 * DAY_S, there=[1.0] * 7)
    # Of 435 pairs on 700 days; who is sociable is drawn for 30 people, so the mean itself varies.
    expected = 435 * 700 * 0.1
    assert np.unique(met.pair_day).size == pytest.approx(expected, rel=0.25)
    days_of_pairs = np.unique(
        np.unique(np.stack([met.one, met.other, met.begin_s // DAY_S]), axis=1)[:2],
        axis=1,
        return_counts=True,
    )[1]
    # Some pairs meet on most days, where independent ones would on a tenth.
    assert days_of_pairs.max() > 350


def test_who_has_more_contacts_has_shorter_gaps():
    def median_s(correlation):
        met = meetings(30, end_s=700.0 * DAY_S, activity_correlation=correlation)
        _, place, number = np.unique(met.pair_day, return_inverse=True, return_counts=True)
        gap_s, later = met.begin_s[1:] - met.end_s[:-1], met.number[1:] > 0
        many = number[place][1:] >= 8
        return np.median(gap_s[later & many]), np.median(gap_s[later & ~many])

    often_s, seldom_s = median_s(0.8)
    assert often_s < 0.5 * seldom_s
    often_s, seldom_s = median_s(0.0)
    assert often_s == pytest.approx(seldom_s, rel=0.3)


def test_a_run_that_begins_later_sees_the_same_contacts():
    whole = planned(SECTION.format("", ONE_LINK), duration="3d")["proximity"]
    later = planned(SECTION.format("origin='25h', ", ONE_LINK), duration="1d")["proximity"]
    inside = (whole["time_s"] >= 25 * 3600) & (whole["time_s"] < 49 * 3600)
    assert inside.sum() > 50
    for key in ("phone_a", "phone_b", "duration_s"):
        assert later[key].tolist() == whole[key][inside].tolist()
    assert later["time_s"].tolist() == (whole["time_s"][inside] - 25 * 3600).tolist()


def test_the_plan_has_contacts_in_order_with_links_by_share():
    near = planned(SECTION.format("", TWO_LINKS), count=208, duration="5d")["proximity"]
    assert (np.diff(near["time_s"]) >= 0).all()
    assert [link["latency_s"] for link in near["links"]] == [0.03, 0.009]
    assert (near["link"] == 0).mean() == pytest.approx(0.7, abs=0.02)
    assert near["phone_b"].max() < 208


def test_the_tokens_authority_meets_nobody():
    path = catalog.PACKAGE / "scenarios/tokens/market.toml"
    section = SECTION.format("origin='9h', ", ONE_LINK)
    energy = "energy.contacts={ble={basis='assumed', source='x', active='1W'}}"
    resolved = resolve(load(path, [section, energy]))[0].resolved
    plan = build_plan(resolved, 0)
    authority = np.flatnonzero(plan["phones"]["role"] == 2)
    near = plan["proximity"]
    met = {*near["phone_a"].tolist(), *near["phone_b"].tolist()}
    assert met
    assert not met & set(authority.tolist())
