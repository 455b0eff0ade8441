"""Days of persons: nobody is in two places, who pays is in the shop, and days are those put in."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.plan import days, placement
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.plan.days import Errand, Stay
from pocketsim.sim.plan.stays import KINDS
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

HOME, WORK, SHOP, OTHER_SHOP = range(4)
HOUR_S, DAY_S = 3600.0, 86_400.0


def way(start, end):
    """Every two places are ten minutes apart."""
    return 0.0 if start == end else 600.0


def test_a_day_without_errands_is_at_home():
    assert days.day([], HOME, way, DAY_S) == [Stay(HOME, 0.0, DAY_S)]


def test_a_person_leaves_home_to_be_in_the_shop_in_time_and_goes_back():
    wanted = [Stay(SHOP, 9 * HOUR_S, 10 * HOUR_S)]
    assert days.day(wanted, HOME, way, DAY_S) == [
        Stay(HOME, 0.0, 9 * HOUR_S - 600),
        Stay(SHOP, 9 * HOUR_S, 10 * HOUR_S),
        Stay(HOME, 10 * HOUR_S + 600, DAY_S),
    ]


@pytest.mark.parametrize(("pause_s", "goes_home"), [(600 + 899, False), (2 * 600 + 900, True)])
def test_a_person_goes_home_between_errands_where_it_is_worth_it(pause_s, goes_home):
    begin_s = 10 * HOUR_S + pause_s
    wanted = [Stay(SHOP, 9 * HOUR_S, 10 * HOUR_S), Stay(OTHER_SHOP, begin_s, begin_s + 60)]
    stays = days.day(wanted, HOME, way, DAY_S)
    assert [stay.place for stay in stays] == [HOME, SHOP, *[HOME] * goes_home, OTHER_SHOP, HOME]
    if not goes_home:  # but waits in the first
        assert stays[1].end_s == begin_s - 600


def test_who_has_to_be_out_when_the_run_begins_is_there_from_the_beginning():
    stays = days.day([Stay(SHOP, 60.0, 120.0)], HOME, way, DAY_S)
    assert stays == [Stay(SHOP, 0.0, 120.0), Stay(HOME, 720.0, DAY_S)]


def test_shops_are_visited_out_of_working_hours_and_work_goes_on_after():
    hours = [(8 * HOUR_S, 16 * HOUR_S)]
    visits = [Stay(SHOP, 12 * HOUR_S, 12.5 * HOUR_S)]
    assert days.at_work(WORK, hours, visits, way) == [
        Stay(WORK, 8 * HOUR_S, 12 * HOUR_S - 600),
        Stay(WORK, 12.5 * HOUR_S + 600, 16 * HOUR_S),
    ]


def test_a_visit_that_leaves_too_little_of_work_ends_it():
    hours, visits = [(8 * HOUR_S, 16 * HOUR_S)], [Stay(SHOP, 15 * HOUR_S, 15.6 * HOUR_S)]
    (stay,) = days.at_work(WORK, hours, visits, way)
    assert stay == Stay(WORK, 8 * HOUR_S, 15 * HOUR_S - 600)


def test_who_cannot_be_in_another_shop_in_time_pays_in_the_same_one():
    errands = [Errand(1000.0, 500.0, SHOP, 7), Errand(1500.0, 500.0, OTHER_SHOP, 8)]
    visits, rows = days.visited(errands, way)
    assert visits == [Stay(SHOP, 500.0, 1500.0 + days.AFTER_PAYING_S)]
    assert rows == [(7, SHOP), (8, SHOP)]


@given(
    st.lists(
        st.tuples(st.floats(0, 2 * DAY_S), st.floats(0, 7200), st.sampled_from([SHOP, OTHER_SHOP])),
        max_size=8,
    ),
    st.lists(st.booleans(), min_size=2, max_size=2),
)
def test_nobody_is_in_two_places_and_ways_take_their_time(asked, goes):
    errands = [Errand(*errand, row) for row, errand in enumerate(sorted(asked))]
    visits, rows = days.visited(errands, way)
    hours = [(day * DAY_S + 8 * HOUR_S, day * DAY_S + 16 * HOUR_S) for day in range(2) if goes[day]]
    wanted = sorted(visits + days.at_work(WORK, hours, visits, way), key=lambda stay: stay.begin_s)
    stays = days.day(wanted, HOME, way, 2 * DAY_S)
    assert stays[0].begin_s == 0
    assert all(stay.end_s >= stay.begin_s for stay in stays)
    for before, after in itertools.pairwise(stays):
        assert after.begin_s - before.end_s >= way(before.place, after.place) - 1e-6
    at = dict(rows)
    for errand in errands:
        here = [stay for stay in stays if stay.begin_s - 1e-6 <= errand.paid_s <= stay.end_s]
        assert at[errand.row] in {stay.place for stay in here}


@pytest.fixture(scope="module")
def town_day(root):
    return root / "pocketsim/scenarios/scale/town_day.toml"


def resolved(path, *overrides):
    return resolve(load(path, overrides))[0].resolved


def placed(path, *overrides):
    return placement.placed(resolved(path, *overrides), "repetition/0", {})


@pytest.fixture(scope="module")
def week(town_day):
    return placed(town_day, "run.duration=7d")


def spent_s(made, kind, until_s):
    stays = made.lived.stays
    persons = made.lived.addresses.home[stays.phone] >= 0
    rows = persons & (stays.places.kind[stays.place] == KINDS.index(kind))
    ends_s = np.minimum(stays.end_s[rows], until_s)
    return stays.phone[rows], stays.begin_s[rows], ends_s


def test_commuters_of_an_average_day_are_those_put_in(week):
    phone, begin_s, _ = spent_s(week, "work", 7 * DAY_S)
    day = begin_s // DAY_S
    assert day.max() == 4  # the run begins on a Monday
    commutes = len(set(zip(phone.tolist(), day.tolist(), strict=True)))
    # share 0.5 times attendance 0.59 on five days of seven; persons are 2 000.
    expected, persons = 0.5 * 0.59 * 5, 2000
    own = 25 * 0.59**2 * 0.25 + 5 * 0.59 * 0.41 * 0.5  # variance between persons, and of days
    assert commutes / persons == pytest.approx(expected, abs=4 * math.sqrt(own / persons))


def test_working_hours_are_those_put_in(week):
    phone, begin_s, end_s = spent_s(week, "work", 7 * DAY_S)
    first_s = {}
    for who, since_s in zip(phone.tolist(), begin_s.tolist(), strict=True):
        first_s.setdefault((who, since_s // DAY_S), since_s % DAY_S)
    # Errands before work make a few late.
    assert np.median(list(first_s.values())) == pytest.approx(8.5 * HOUR_S, abs=300)
    assert (end_s - begin_s).max() < 12 * HOUR_S


def test_who_pays_a_shop_is_there(week):
    paid, stays, shop = week.paid, week.lived.stays, week.lived.addresses.shop
    rows = np.flatnonzero(shop[paid.to_phone] >= 0)
    assert rows.size > 10_000
    key = {}
    for place, begin_s, end_s, phone in zip(
        stays.place, stays.begin_s, stays.end_s, stays.phone, strict=True
    ):
        key.setdefault((phone, place), []).append((begin_s, end_s))
    for row in rows:
        spans = key[paid.from_phone[row], shop[paid.to_phone[row]]]
        assert any(begin_s <= paid.time_s[row] <= end_s for begin_s, end_s in spans)


def test_few_payments_change_the_shop(town_day, week):
    asked = placed(town_day, "run.duration=7d", "mobility.speed=100m/s").paid
    assert (asked.time_s == week.paid.time_s).all()
    assert 0 < np.mean(asked.to_phone != week.paid.to_phone) < 0.05


def test_phones_of_a_home_share_its_access_point_and_no_other_does(week):
    people, home = week.people, week.lived.addresses.home
    persons = np.flatnonzero((home >= 0) & (people.access == people.access[0]))
    of_site = {}
    for phone in persons:
        of_site.setdefault(people.site[phone], set()).add(home[phone])
    assert {len(homes) for homes in of_site.values()} == {1}
    assert len(of_site) == len({home[phone] for phone in persons})
    assert len(of_site) < persons.size


def test_phones_are_on_the_network_of_the_place(town_day, week):
    networks = sorted(resolved(town_day)["network"]["access"])
    moves, people = week.itinerary, week.people
    at_work = moves.access == networks.index("work")
    phone, begin_s, _ = spent_s(week, "work", 7 * DAY_S)
    arrivals = set(zip(phone.tolist(), begin_s.tolist(), strict=True))
    told = set(zip(moves.phone[at_work].tolist(), moves.time_s[at_work].tolist(), strict=True))
    assert told
    assert told < arrivals  # about half of those at work stay on LTE
    assert moves.phone.max() < 2000  # shops and the authority stay
    home = moves.access == networks.index("home")
    assert (people.access[moves.phone[home]] == networks.index("home")).all()


def test_another_phone_moves_nobodys_day(town_day):
    few, more = placed(town_day), placed(town_day, "devices[0].count=1201")
    last, groups = few.people.group < 1, more.people.group < 1
    assert few.people.lane[last].tolist() == more.people.lane[groups][:-1].tolist()

    def times(made, phones):
        stays = made.lived.stays
        of_group = np.isin(stays.phone, phones)
        return stays.begin_s[of_group], made.lived.stays.places.x_m[stays.place[of_group]]

    for before, after in zip(times(few, range(1200)), times(more, range(1200)), strict=True):
        assert (before == after).all()


def test_payments_between_persons_go_to_somebody_at_the_same_place(town_day):
    found = build_plan(resolved(town_day), 0)
    made = placed(town_day)
    shop, workload = made.lived.addresses.shop, found["workload"]
    to = np.asarray(workload["to_phone"], dtype=np.int64)
    rows = np.flatnonzero(shop[to] < 0)
    assert rows.size > 100
    stays = made.lived.stays
    for row in rows:
        time_s = workload["time_s"][row]
        here = (stays.begin_s <= time_s) & (time_s < stays.end_s)
        at = dict(zip(stays.phone[here].tolist(), stays.place[here].tolist(), strict=True))
        assert at[int(workload["from_phone"][row])] == at[int(to[row])]
