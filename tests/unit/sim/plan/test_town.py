"""Who pays whom how much in a town, when, and who is near whom: the draws, without the engine."""

import json
import math

import numpy as np
import pytest

from pocketsim.sim.plan import build_plan as building
from pocketsim.sim.plan.town import power_law_quantile
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans as plans


def build_plan(*arguments):
    return plans.lists(building.build_plan(*arguments))


PERSONS, SHOPS = 32, 7  # of the market: persons come first, then shops, then the authority
HOUR_S = 3600


@pytest.fixture
def market(root):
    def resolved(*overrides):
        return resolve(load(root / "pocketsim/scenarios/tokens/market.toml", overrides))[0].resolved

    return resolved


@pytest.fixture
def crowd(market):
    """Return the plan of a market with enough payments for statistics."""

    def plan(*overrides):
        settings = ["devices[0].count=1500", "devices[1].count=500", "workload.payments=20/h"]
        return build_plan(market(*settings, *overrides), 0)

    return plan


def columns(plan):
    return {key: np.array(column) for key, column in plan["workload"].items()}


def test_a_plan_of_a_town_is_plain_and_repeats(market):
    plan = build_plan(market(), 0)
    assert json.loads(json.dumps(plan)) == plan
    assert plan == build_plan(market(), 0)
    assert plan["workload"] != build_plan(market(), 1)["workload"]


def test_roles_are_those_of_the_groups(market):
    role = build_plan(market(), 0)["phones"]["role"]
    assert role == [0] * PERSONS + [1] * SHOPS + [2]


CHURN = [
    'churn.session={distribution="lognormal", median="5min", sigma=0.5}',
    'churn.gap={distribution="lognormal", median="5min", sigma=0.5}',
]


def test_the_authority_is_a_server_that_stays_on(market):
    before = market("devices[0].count=1000", *CHURN)
    churn = build_plan(before, 0)["churn"]
    authority = 1000 + 12 + SHOPS
    assert set(churn["phone"]) == set(range(authority)), "every other phone comes and goes"
    # Where it stands among the phones changes nothing for them.
    first = {**before, "devices": before["devices"][::-1]}
    moved = build_plan(first, 0)["churn"]
    assert 0 not in moved["phone"]
    assert set(moved["phone"]) == set(range(1, authority + 1))
    assert moved["time_s"] == sorted(moved["time_s"])


def test_persons_pay_persons_and_shops_but_never_themselves(crowd):
    plan = crowd()
    work, role = columns(plan), np.array(plan["phones"]["role"])
    assert set(role[work["from_phone"]]) == {0}
    assert (work["from_phone"] != work["to_phone"]).all()
    assert set(role[work["to_phone"]]) == {0, 1}
    to_shop = role[work["to_phone"]] == 1
    assert to_shop.mean() == pytest.approx(0.8, abs=4 * 0.4 / math.sqrt(to_shop.size))


@pytest.mark.parametrize(("ratio", "roles"), [(0.0, {0}), (1.0, {1})])
def test_ratio_to_shops_of_1_or_0_is_all_or_none(crowd, ratio, roles):
    plan = crowd(f"workload.to_shop_ratio={ratio}")
    assert {plan["phones"]["role"][to] for to in plan["workload"]["to_phone"]} == roles


def test_person_pays_the_same_shops_and_acquaintances(crowd):
    plan = crowd("workload.shops_visited=2", "workload.acquaintances=3", "devices[2].count=50")
    work, role = columns(plan), plan["phones"]["role"]
    met = {}
    for one, other in zip(work["from_phone"], work["to_phone"], strict=True):
        met.setdefault((one, role[other]), set()).add(other)
    sizes = {
        kind: [len(others) for (_, known), others in met.items() if known == kind]
        for kind in (0, 1)
    }
    assert max(sizes[1]) == 2
    assert max(sizes[0]) == 3
    # Sets differ from person to person: of the persons, exp(-3) are in nobody's.
    everybody = set().union(*met.values())
    assert len(everybody) == pytest.approx(2000 * (1 - math.exp(-3)) + 50, rel=0.02)


def test_payments_are_poisson_per_person(crowd):
    work = columns(crowd())
    counts = np.bincount(work["from_phone"], minlength=2000)[:2000]
    assert counts.mean() == pytest.approx(40, abs=4 * math.sqrt(40 / 2000))
    assert counts.var() == pytest.approx(40, rel=0.15)
    assert (np.diff(work["time_s"]) >= 0).all()


def test_payments_follow_the_hours_of_the_day(crowd):
    hours = [0.0] * 6 + [1.0] * 6 + [2.5] * 6 + [0.5] * 6
    plan = crowd("run.duration=30h", f"workload.hours={hours}", "workload.payments=1/h")
    time_s = columns(plan)["time_s"]
    found = np.histogram(time_s, bins=np.arange(31) * HOUR_S)[0]
    expected = 2000 * np.array(hours + hours[:6])
    assert found[expected == 0].sum() == 0
    some = expected > 0
    assert np.abs(found[some] - expected[some]).max() < 4.5 * math.sqrt(expected.max())
    # Inside an hour the rate is constant.
    within = time_s[(time_s >= 12 * HOUR_S) & (time_s < 13 * HOUR_S)] / HOUR_S - 12
    assert within.mean() == pytest.approx(0.5, abs=4 / math.sqrt(12 * within.size))


def test_nothing_is_paid_before_the_start(crowd):
    time_s = columns(crowd("workload.start=90min"))["time_s"]
    assert time_s.min() >= 5400
    assert time_s.size == pytest.approx(2000 * 10, abs=4 * math.sqrt(20_000))


def test_amounts_are_a_truncated_lognormal_in_steps(crowd):
    amount = columns(crowd())["amount_cents"]
    assert set(amount % 5) == {0}
    assert amount.min() >= 5
    assert amount.max() <= 8300
    # Of a lognormal of mean 24.70 EUR and sigma 1.1, 4.9 % lie above 83 EUR; the rest has this
    # median, and the mean of half a table of the normal distribution.
    assert np.median(amount) == pytest.approx(1260, rel=0.03)
    assert amount.mean() == pytest.approx(1841, rel=0.02)


@pytest.mark.parametrize(
    ("amount", "least", "most"),
    [
        ('{mean="1ct", sigma=0.1, largest="3EUR", rounding="5ct"}', 5, 5),
        ('{mean="2EUR", sigma=0.01, largest="3EUR", rounding="2EUR"}', 200, 200),
        # 2.03 EUR would be rounded up to 2.04.
        ('{mean="2.03EUR", sigma=0.001, largest="2.03EUR", rounding="4ct"}', 200, 200),
    ],
)
def test_an_amount_is_at_least_a_step_and_at_most_the_largest(crowd, amount, least, most):
    amounts = crowd(f"workload.amount={amount}")["workload"]["amount_cents"]
    assert (min(amounts), max(amounts)) == (least, most)


def test_some_persons_cheat_in_some_payments(crowd):
    work = columns(crowd())
    of_person = [work["conduct"][work["from_phone"] == person] for person in range(2000)]
    cheats = [conduct for conduct in of_person if conduct.any()]
    assert len(cheats) / 2000 == pytest.approx(0.1, abs=4 * math.sqrt(0.09 / 2000))
    shares = np.bincount(np.concatenate(cheats), minlength=3) / sum(map(len, cheats))
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.03)


def test_nobody_cheats_when_nobody_is_a_cheat(crowd):
    assert not any(crowd("workload.cheat_ratio=0.0")["workload"]["conduct"])


def test_every_payment_has_a_contact_that_opens_before_it(crowd):
    plan = crowd()
    work, near = columns(plan), plan["proximity"]
    assert near["phone_a"] == plan["workload"]["from_phone"]
    assert near["phone_b"] == plan["workload"]["to_phone"]
    assert near["time_s"] == sorted(near["time_s"])
    ahead_s = work["time_s"] - np.array(near["time_s"])
    late = work["time_s"] >= 5
    assert ahead_s[late] == pytest.approx(5)
    assert (np.array(near["time_s"])[~late] == 0).all()
    assert min(near["duration_s"]) >= 20
    assert max(near["duration_s"]) <= 440
    shares = np.bincount(near["link"]) / len(near["link"])
    assert shares == pytest.approx([0.6, 0.3, 0.1], abs=0.01)  # ble, nfc, wifi_direct: sorted
    assert [link["rate_bytes_per_s"] for link in near["links"]] == [59e3, 10e3, 5e6]


def test_without_contacts_payments_go_over_the_network(market):
    resolved = market()
    with_contacts = build_plan(resolved, 0)
    resolved["contacts"] = None
    without = build_plan(resolved, 0)
    assert without["workload"] == with_contacts["workload"]
    assert not any(without["proximity"].values())


def test_an_outage_without_a_name_is_one_of_every_network(market):
    every = build_plan(market(), 0)["outages"]
    assert every == [{"access": number, "start_s": 1800.0, "end_s": 5400.0} for number in range(3)]
    (one,) = build_plan(market("outages[0].access=office"), 0)["outages"]
    assert one["access"] == 1  # lte, office, wifi: sorted


def test_the_power_law_against_numerical_integration():
    law = {"alpha": 1.87, "shortest_s": 20.0, "longest_s": 440.0}
    length_s = np.linspace(20, 440, 200_001)
    density = length_s**-1.87
    share = np.concatenate(([0], np.cumsum((density[1:] + density[:-1]) / 2)))
    share /= share[-1]
    assert power_law_quantile(law, share) == pytest.approx(length_s, rel=1e-6)


def rows(plan):
    """Return what each person does, without whom they pay."""
    kept = zip(
        *(plan["workload"][key] for key in ("time_s", "amount_cents", "conduct")),
        *(plan["proximity"][key] for key in ("time_s", "duration_s", "link")),
        strict=True,
    )
    found = {}
    for phone, to, row in zip(
        plan["workload"]["from_phone"], plan["workload"]["to_phone"], kept, strict=True
    ):
        found.setdefault(phone, []).append((row, to))
    return found


def test_added_person_leaves_payments_of_others(market):
    few, more = (build_plan(market(f"devices[1].count={count}"), 0) for count in (12, 13))
    before, after = rows(few), rows(more)
    assert PERSONS in after
    moved = 0
    for person, was in before.items():
        now = after[person]
        assert [row for row, _ in now] == [row for row, _ in was]
        for (_, old), (_, new) in zip(was, now, strict=True):
            # Shops stand one further on; an acquaintance is the same or the new person.
            moved += new != (old if old < PERSONS else old + 1)
            assert new in {old if old < PERSONS else old + 1, PERSONS}
    assert moved < 0.1 * sum(map(len, before.values()))


def test_added_shop_changes_only_who_pays_it(market):
    few, more = (build_plan(market(f"devices[2].count={count}"), 0) for count in (7, 8))
    before, after = rows(few), rows(more)
    for person, was in before.items():
        assert [row for row, _ in after[person]] == [row for row, _ in was]
        for (_, old), (_, new) in zip(was, after[person], strict=True):
            assert new in {old, PERSONS + SHOPS}


def test_another_rate_of_cheats_changes_conduct_alone(market):
    one, other = (build_plan(market(f"workload.cheat_ratio={ratio}"), 0) for ratio in (0.1, 0.5))
    assert one["proximity"] == other["proximity"]
    changed = {key for key, column in one["workload"].items() if column != other["workload"][key]}
    assert changed == {"conduct"}
    # Who cheats at the lower rate also cheats at the higher.
    pairs = zip(one["workload"]["conduct"], other["workload"]["conduct"], strict=True)
    assert all(new == old for old, new in pairs if old)


def test_who_pays_does_not_hang_on_who_is_on(market):
    resolved = market("workload.payments=60/h")
    law = {"distribution": "weibull", "shape": 1.0, "scale_s": 600.0, "longest_s": None}
    with_churn = {**resolved, "churn": {"kind": "drawn", "session": law, "gap": law}}
    one, other = (build_plan(each, 0)["workload"] for each in (resolved, with_churn))
    assert one["time_s"] == other["time_s"]
    assert one["to_phone"] == other["to_phone"]
