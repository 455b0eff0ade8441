"""The sections of a town: what is refused and why, and what becomes of them when resolved."""

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import mistakes


@pytest.fixture
def market_text(root):
    return (root / "pocketsim/scenarios/tokens/market.toml").read_text()


# One row per kind of mistake: what is replaced, by what, then key path, reason, suggestion.
MISTAKES = [
    ('role = "shop"', 'role = "shopp"', "devices[2].role", "one of person, shop, auth", "shop"),
    ('role = "authority"\n', "", "devices", "one phone of role authority, not 0", None),
    ('"thinkpad_l13"\ncount = 1', '"thinkpad_l13"\ncount = 2', "devices", "authority, not 2", None),
    (
        'role = "shop"',
        'role = "person"',
        "workload.to_shop_ratio",
        "there are no phones of role shop",
        None,
    ),
    (
        '"town"',
        '"twon"',
        "workload.kind",
        "must be one of paced, poisson, trace, python, town, compute",
        "town",
    ),
    ('"3/h"', '"3/m"', "workload.payments", "a rate takes /s /min /h /day", None),
    (
        '"3/h"',
        '["3/h", "1e6/s"]',
        "workload.payments",
        "about 2.3e+11 payments in each repetition; a run may ask for 50,000,000",
        None,
    ),
    (
        'kind = "tokens"',
        'kind = "token"',
        "protocol.kind",
        "one of trustchain, transfer, token_batch, compute, tokens",
        "tokens",
    ),
    (
        'kind = "tokens"\n',
        "",
        "protocol.kind",
        'workload "town" takes protocol "tokens", not "trustchain"',
        "tokens",
    ),
    (
        "[protocol.tokens]\n",
        '[protocol.tokens]\nrules = ["thesis", "prototype"]\n',
        "protocol.tokens.handshake",
        'rules = "prototype" reads no tokens with challenges',
        "none",
    ),
    ("to_shop_ratio = 0.8", "to_shop_ratio = 1.8", "workload.to_shop_ratio", "less than", None),
    ("shops_visited = 4", "shops_visited = 0", "workload.shops_visited", "greater than", None),
    ("acquaintances", "aquaintances", "workload.aquaintances", "unknown key", "acquaintances"),
    ('"24.7EUR"', '"24.7"', "workload.amount.mean", "a sum of money takes ct EUR", None),
    ('"24.7EUR"', '"24.777EUR"', "workload.amount.mean", "not a whole number of cents", None),
    ('"24.7EUR"', '"84EUR"', "workload.amount", "mean is more than the largest", None),
    ('"5ct"', '"0ct"', "workload.amount.rounding", "must be more than zero", None),
    ('"5ct"', '"84EUR"', "workload.amount", "rounding is more than the largest", None),
    ("sigma = 1.1", "sigma = 0.0", "workload.amount.sigma", "greater than 0", None),
    (
        "cheat_ratio = 0.1",
        f"cheat_ratio = 0.1\nhours = {[1.1] * 24}",
        "workload.hours",
        "hours have mean 1.1, not 1",
        None,
    ),
    (
        "cheat_ratio = 0.1",
        f"cheat_ratio = 0.1\nhours = {[1.0] * 23}",
        "workload.hours",
        "at least 24 items",
        None,
    ),
    ("replay_ratio = 0.25", "replay_ratio = 0.6", "workload", "add up to more than 1", None),
    ('longest = "440s"', 'longest = "20s"', "contacts.duration", "longest is not more", None),
    ("alpha = 1.87", "alpha = 1.0", "contacts.duration.alpha", "greater than 1", None),
    ('lead = "5s"', 'lead = "20s"', "contacts", "lead is not less than the shortest", None),
    ("share = 0.3", "share = 0.4", "contacts", "shares of links add up to 1.1", None),
    ('rate = "59kBps"', 'rate = "59kB"', "contacts.links.ble.rate", "is a size", None),
    (
        'start = "30min"',
        'access = "offise"\nstart = "30min"',
        "outages[0].access",
        "no [network.access.offise]",
        "office",
    ),
    ('end = "90min"', 'end = "30min"', "outages[0]", "end is not after start", None),
    ('"30min"\nend = "90min"', '"2h"\nend = "3h"', "outages[0].start", "not before the end", None),
    (
        'settle_interval = "10min"',
        'person_low = "84EUR"',
        "protocol.tokens",
        "person_low is more than person_wallet",
        None,
    ),
    ('core = "1.6W"', 'core = "1.6J"', "energy.core", "a power takes uW mW W", None),
    ('tail = "238.1ms"', 'tail = "1W"', "energy.access.wifi.tail", "is a power", None),
    (
        "energy.access.lte",
        "energy.access.lta",
        "energy.access.lta",
        "no [network.access.lta]",
        "lte",
    ),
    (
        "[energy.contacts.ble]",
        "[energy.contacts.bla]",
        "energy.contacts.bla",
        "no [contacts.links.bla]",
        "ble",
    ),
    (
        "links.wifi_direct]",
        "links.wifi_aware]",
        "energy.contacts.wifi_direct",
        "no [contacts.links.wifi_direct]",
        "wifi_aware",
    ),
    (
        'role = "shop"\nprofile = "moto_g04s"\ncount = 7\naccess = "wifi"',
        'role = "shop"\nprofile = "moto_g04s"\ncount = 7\naccess = "office"',
        "energy.access",
        "says nothing about [network.access.office]",
        None,
    ),
    (
        'settle_interval = "10min"',
        "recipients_max = 2",
        "protocol.tokens.recipients_max",
        "greater than or equal to 3",
        None,
    ),
    (
        'settle_interval = "10min"',
        'rules = "protoype"',
        "protocol.tokens.rules",
        "one of thesis, prototype",
        "prototype",
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(tmp_path, market_text, mistake):
    mistakes.check(tmp_path, market_text, mistake)


@pytest.mark.parametrize("hour", [0, 5])
def test_expected_payments_follow_the_hours_of_the_day(tmp_path, market_text, hour):
    """All of a day is paid in one hour: in that of the run, or in another."""
    hours = [24.0 if at == hour else 0.0 for at in range(24)]
    path = tmp_path / "day.toml"
    path.write_text(market_text)
    day = [f"workload.hours={hours}", "workload.payments=1e6/h", "run.duration=2h"]
    if hour:
        load(path, day)
        load(path, [*day, "run.duration=24h", "workload.start=6h"])
        return
    with pytest.raises(ScenarioError, match=r"about \d\.\d+e\+\d+ payments"):
        load(path, day)


CONTACTS = """
[contacts]
lead = "1s"
duration = { alpha = 2.0, shortest = "20s", longest = "1h" }
links.ble = { share = 1.0, rate = "59kBps", latency = "30ms" }
[transport]
"""

# What belongs to a town, in a scenario of the two-phone benchmark.
STRAY = [
    ("count = 2", 'count = 2\nrole = "shop"', "devices[0].role", '"trustchain" has no shop'),
    ("[transport]", "[protocol.tokens]\n[transport]", "protocol.tokens", 'protocol "tokens"'),
    (
        "[transport]",
        CONTACTS,
        "contacts",
        'which protocol "tokens" has, not "trustchain"',
    ),
    ("[transport]", "[output]\ntokens = true\n[transport]", "output.tokens", 'protocol "tokens"'),
    ("[transport]", '[protocol]\nkind = "tokens"\n[transport]', "workload.kind", 'not "paced"'),
]


@pytest.mark.parametrize(("old", "new", "key_path", "reason"), STRAY)
def test_options_of_a_town_are_refused_elsewhere(scenario, old, new, key_path, reason):
    scenario.write_text(scenario.read_text().replace(old, new, 1))
    with pytest.raises(ScenarioError) as caught:
        load(scenario)
    assert caught.value.key_path == key_path
    assert reason in caught.value.reason


def test_two_persons_are_needed_to_pay_each_other(tmp_path, market_text):
    path = tmp_path / "lonely.toml"
    lonely = market_text.replace("count = 20", "count = 1")
    lonely = lonely.replace('"pocophone_f1"\ncount', 'role = "shop"\nprofile = "moto_g04s"\ncount')
    path.write_text(lonely.replace("profile = role", "role"))
    with pytest.raises(ScenarioError, match="too few phones of role person"):
        load(path)
    load(path, ["workload.to_shop_ratio=1.0"])


def test_other_scenarios_resolve_without_a_town(scenario):
    resolved = resolve(load(scenario))[0].resolved
    assert (resolved["contacts"], resolved["outages"], resolved["energy"]) == (None, [], None)
    assert resolved["devices"][0]["role"] == "person"
    assert resolved["protocol"]["tokens"] is None
    assert resolved["output"]["tokens"] is False


def test_tokens_are_kept_when_asked_for(root):
    path, real = root / "pocketsim/scenarios/tokens/market.toml", "protocol.crypto=real"
    (kept,), (plain,) = (
        resolve(load(path, [real, f"output.tokens={wanted}"])) for wanted in ("true", "false")
    )
    assert kept.resolved["output"]["tokens"] is True
    assert kept.name != plain.name == resolve(load(path, [real]))[0].name
    assert [build_plan(rung.resolved, 0)["trace"]["tokens"] for rung in (kept, plain)] == [
        True,
        False,
    ]


def test_only_tokens_that_others_can_verify_are_kept(root):
    with pytest.raises(ScenarioError, match=r"protocol.crypto: .* tags \(did you mean real\?\)"):
        load(root / "pocketsim/scenarios/tokens/market.toml", ["output.tokens=true"])


def test_only_blocks_that_others_can_verify_are_kept(root, scenario):
    with pytest.raises(ScenarioError, match=r"protocol.crypto: output.blocks .* mean real\?\)"):
        load(scenario, ["output.blocks=true"])
    with pytest.raises(ScenarioError, match=r'output.blocks: is for protocol "trustchain"'):
        load(
            root / "pocketsim/scenarios/tokens/market.toml",
            ["protocol.crypto=real", "output.blocks=true"],
        )
    kept = resolve(load(scenario, ["protocol.crypto=real", "output.blocks=true"]))[0].resolved
    assert build_plan(kept, 0)["trace"]["blocks"] is True
    assert build_plan(resolve(load(scenario))[0].resolved, 0)["trace"]["blocks"] is False


def test_an_outage_needs_no_town(scenario):
    text = scenario.read_text()
    scenario.write_text(text + '\n[[outages]]\naccess = "home_wifi"\nstart = "1s"\nend = "3s"\n')
    resolved = resolve(load(scenario))[0].resolved
    assert resolved["outages"] == [{"access": "home_wifi", "start_s": 1.0, "end_s": 3.0}]


def test_amounts_are_cents_and_options_have_defaults(root):
    path = root / "pocketsim/scenarios/tokens/market.toml"
    resolved = resolve(load(path, ["protocol.tokens.shop_till=1.5EUR"]))[0].resolved
    tokens = resolved["protocol"]["tokens"]
    assert (tokens["person_wallet_cents"], tokens["shop_till_cents"]) == (8300, 150)
    assert (tokens["rules"], tokens["handshake"]) == ("thesis", "challenge")
    assert tokens["settle_interval_s"] == 600
    assert resolved["workload"]["amount"]["mean_cents"] == 2470


def test_list_of_payments_makes_several_rungs(root):
    path = root / "pocketsim/scenarios/tokens/market.toml"
    rungs = resolve(load(path, ['workload.payments=["1.1/day", "3/h"]']))
    assert [rung.resolved["workload"]["payments_per_s"] for rung in rungs] == [
        pytest.approx(1.1 / 86400),
        3 / 3600,
    ]
