"""Groups of phones with a rate or a churn of their own: what is refused, and what is drawn."""

import numpy as np
import pytest

from pocketsim.api.documents import catalog
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.plan.churn import Transitions, on_share
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from pocketsim.sim.scenario.resolved import comes_and_goes
from support import engine_plans, mistakes
from support.who_is_on import is_on

GROUPS = catalog.PACKAGE / "scenarios/own_data/rates_by_group.toml"
MARKET = catalog.PACKAGE / "scenarios/tokens/market.toml"
LAW = "{session={distribution='weibull', shape=0.5, scale='20s'}, gap=%s}"
SHORT = LAW % "{distribution='lognormal', median='5s', sigma=1.0}"


def resolved(path, *overrides):
    (rung,) = resolve(load(path, overrides))
    return rung.resolved


def plan(path, *overrides):
    return engine_plans.lists(build_plan(resolved(path, *overrides), 0))


# What is replaced, by what, then key path, reason, suggestion.
MISTAKES = [
    ('rate = "2/s"', "rate = 2", "devices[1].rate", "has no unit", None),
    ('rate = "2/s"', 'rate = "-2/s"', "devices[1].rate", "is negative", None),
    ('rate = "2/s"', 'raet = "2/s"', "devices[1].raet", "unknown key", "rate"),
    (
        'rate = "2/s"',
        'rate = "100000/s"',
        "workload.rate",
        "about 1.2e+08 proposals in each repetition",
        None,
    ),
    (
        'kind = "none"',
        'kind = "non"',
        "devices[1].churn.kind",
        "one of drawn, file, law, android, none",
        "none",
    ),
    ('{ kind = "none" }', '{ file = "c.csv" }', "devices[1].churn.file", "no such file", None),
    ('{ kind = "none" }', "{ file = 3 }", "devices[1].churn.file", "must be text", None),
    ('median = "30s"', 'median = "30"', "devices[2].churn.session.median", "no unit", None),
    ('median = "30s"', 'medain = "30s"', "devices[2].churn.session.medain", "unknown", "median"),
    (
        'median = "30s"',
        'median = "0.1ns"',
        "devices[2].churn.session.median",
        "is less than a nanosecond",
        None,
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(tmp_path, mistake):
    mistakes.check(tmp_path, GROUPS.read_text(), mistake)


@pytest.mark.parametrize(
    ("path", "override", "expected"),
    [
        (
            "throughput/udp_100b",
            "devices[0].rate=2/s",
            'devices[0].rate: workload "paced" has no rate of each phone, as "poisson" or "town"',
        ),
        (
            "tokens/data_size",
            "devices[0].rate=2/s",
            'devices[0].rate: workload "compute" has no rate of each phone',
        ),
        (
            "tokens/market",
            "devices[2].rate=2/h",
            "devices[2].rate: persons pay; of role shop none does",
        ),
        (
            "tokens/market",
            f"devices[3].churn={SHORT}",
            "devices[3].churn: the tokens' authority is a server and always on",
        ),
        (
            "tokens/market",
            "devices[3].churn={file='churn.csv'}",
            "devices[3].churn: the tokens' authority is a server and always on",
        ),
    ],
)
def test_group_settings_without_use_are_refused(path, override, expected):
    with pytest.raises(ScenarioError) as caught:
        load(catalog.PACKAGE / f"scenarios/{path}.toml", [override])
    assert str(caught.value).startswith(f"--set: {expected}")


def test_a_list_of_rates_that_nobody_has_is_refused():
    groups = [f"devices[{number}].rate=1/s" for number in range(3)]
    lists = 'workload.rate=["1/s", "2/s"]'
    assert len(resolve(load(GROUPS, [*groups[1:], lists]))) == 2
    with pytest.raises(ScenarioError, match=r"workload\.rate: is a list, and every group that is"):
        load(GROUPS, [*groups, lists])


def asked(found):
    """Return the number of proposals of each of the sixteen phones."""
    return np.bincount(found["workload"]["from_phone"], minlength=16)


def test_each_group_is_asked_at_its_rate():
    own = resolved(GROUPS)
    still = {**own, "churn": None, "devices": [without(group, "churn") for group in own["devices"]]}
    counts = asked(build_plan(still, 0))
    assert counts[:10].mean() == pytest.approx(120, abs=4 * (120 / 10) ** 0.5)
    assert counts[10:12].mean() == pytest.approx(1200, abs=4 * (1200 / 2) ** 0.5)
    assert (counts[12:] == 0).all()
    # Who is never asked is proposed to as others are.
    to = np.bincount(build_plan(still, 0)["workload"]["to_phone"], minlength=16)
    assert to[12:].mean() == pytest.approx(to[:10].mean(), rel=0.2)


def without(group, key):
    return {name: value for name, value in group.items() if name != key}


def test_the_workloads_own_rate_changes_nothing():
    """Said of every group in its own words, a rate is what it is when the workload says it."""
    own = resolved(GROUPS)
    plain = {**own, "devices": [without(group, "rate_per_s") for group in own["devices"]]}
    said = [{**group, "rate_per_s": 0.2} for group in plain["devices"]]
    before, after = build_plan(plain, 0), build_plan({**own, "devices": said}, 0)
    assert engine_plans.lists(before) == engine_plans.lists(after)


def test_the_scenarios_own_churn_changes_nothing():
    own = resolved(GROUPS)
    plain = {**own, "devices": [without(group, "churn") for group in own["devices"]]}
    said = [{**group, "churn": own["churn"]} for group in plain["devices"]]
    before = engine_plans.lists(build_plan(plain, 0))
    assert before["churn"]["time_s"]
    for churn in (own["churn"], None):
        after = build_plan({**own, "devices": said, "churn": churn}, 0)
        assert engine_plans.lists(after) == before


def of_others(found):
    """Return what happens to the phones of the first and of the third group."""
    work, churn = found["workload"], found["churn"]
    happens = [
        *zip(work["time_s"], work["from_phone"], work["to_phone"], strict=True),
        *zip(churn["time_s"], churn["phone"], churn["on"], strict=True),
    ]
    return [row for row in happens if row[1] not in (10, 11)]


@pytest.mark.parametrize("override", ["devices[1].rate=4/s", f"devices[1].churn={SHORT}"])
def test_settings_of_a_group_leave_other_groups_unchanged(override):
    before, after = plan(GROUPS), plan(GROUPS, override)
    assert of_others(before) == of_others(after)
    assert before != after


def test_another_rate_stretches_a_groups_arrivals():
    slow, fast = (
        np.array(work["time_s"])[np.array(work["from_phone"]) == 10]
        for work in (plan(GROUPS, f"devices[1].rate={rate}/s")["workload"] for rate in (2, 4))
    )
    assert fast[: slow.size] == pytest.approx(slow / 2)


def test_each_group_comes_and_goes_by_its_own_laws():
    counts = [f"devices[{number}].count=3000" for number in range(3)]
    own = resolved(GROUPS, *counts, "workload.rate=1/day", "devices[1].rate=1/day")
    churn = build_plan(own, 0)["churn"]
    changes = Transitions(*(np.array(churn[key]) for key in ("time_s", "phone", "on")))
    assert (np.diff(changes.time_s) >= 0).all()
    at_s = np.full(9000, 300.0)
    first, second, third = is_on(changes, np.arange(9000), at_s).reshape(3, 3000)
    for found, law in ((first, own["churn"]), (third, own["devices"][2]["churn"])):
        share = on_share(law)
        assert found.mean() == pytest.approx(share, abs=4 * (share * (1 - share) / 3000) ** 0.5)
    assert second.all()
    assert on_share(own["churn"]) > 2 * on_share(own["devices"][2]["churn"])


def test_a_town_pays_at_the_rates_of_its_groups():
    before, after = plan(MARKET), plan(MARKET, "devices[1].rate=0/h")
    first, second = (group["count"] for group in resolved(MARKET)["devices"][:2])
    payers = np.array(after["workload"]["from_phone"])
    assert set(payers) <= set(range(first))
    rest = np.array(before["workload"]["from_phone"])
    assert set(rest[rest >= first]) <= set(range(first, first + second))
    kept = zip(*(np.array(before["workload"][key])[rest < first] for key in PAID), strict=True)
    assert list(kept) == list(zip(*(after["workload"][key] for key in PAID), strict=True))


PAID = ("time_s", "from_phone", "to_phone", "amount_cents", "conduct")


def test_a_resolved_scenario_says_only_what_differs():
    one, busy, seldom = resolved(GROUPS)["devices"]
    assert one.keys() & {"rate_per_s", "churn"} == set()
    assert (busy["rate_per_s"], busy["churn"]) == (2.0, {"kind": "none"})
    assert seldom["rate_per_s"] == 0.0
    assert seldom["churn"]["session"]["median_s"] == 30.0


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([], False),
        (["devices[0].churn.kind=none"], False),
        ([f"devices[0].churn={SHORT}"], True),
        ([f"devices[0].churn={{file='{GROUPS.with_name('churn.csv')}'}}"], True),
        ([f"churn={SHORT}"], True),
    ],
)
def test_run_has_churn_where_any_group_has(overrides, expected):
    assert comes_and_goes(resolved(MARKET, *overrides)) is expected
