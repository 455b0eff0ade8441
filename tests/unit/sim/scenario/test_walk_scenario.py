"""Contacts of phones that walk, as documents say them, and what is refused with which reason."""

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

LEVY = (
    "{kind='walk', model='levy_walk', width='4.5km', height='3400m', range='10m', alpha=0.66, "
    "shortest_leg='8m', longest_leg='1km', beta=0.99, shortest_pause='1s', longest_pause='430s', "
    "links={ble={share=1.0, rate='59kBps', latency='30ms'}}}"
)
REFUSED = [
    ("contacts.slowest=0m/s", "contacts.slowest", "must be more than zero, such as", None),
    ("contacts.fastest=0.1m/s", "contacts", "fastest is less than slowest", None),
    ("contacts.fastest=200m/s", "contacts.fastest", "largest speed, 100m/s", None),
    ("contacts.fastest=1.5", "contacts.fastest", "has no unit; a speed takes m/s", None),
    ("contacts.range=400m", "contacts.range", "whose diagonal is 360.6 m", "100m"),
    ("contacts.range=0m", "contacts.range", "must be more than zero", None),
    ("contacts.range=10s", "contacts.range", "is a duration; a length takes cm m km", None),
    ("contacts.model=levi_walk", "contacts.model", "must be one of random_", "levy_walk"),
    (
        "contacts.kind=walks",
        "contacts.kind",
        "one of payments, file, law, places, walk",
        "walk",
    ),
    ("contacts.pauze=1s", "contacts.pauze", "unknown key", "pause"),
    ("contacts.links.ble.share=0.5", "contacts", "add up to 0.5", None),
    ("devices[0].count=100000", "contacts.range", "about 1.2e+09 contacts", "39cm"),
    ("run.duration=3000d", "run.duration", "legs in each repetition", None),
    ("devices[0].walks=1", "devices[0].walks", "must be true or false", None),
    ("workload.partners.generator='random_regular'", "workload.partners", "near stands", None),
    (f"contacts={LEVY.replace('1km', '8m')}", "contacts", "longest_leg is not more", None),
    (f"contacts={LEVY.replace('430s', '1s')}", "contacts", "longest_pause is not more", None),
    (f"contacts={LEVY.replace('0.66', '0')}", "contacts.alpha", "greater than 0", None),
]


@pytest.fixture(scope="module")
def walkers(root):
    return root / "pocketsim/scenarios/scale/walkers.toml"


@pytest.mark.parametrize(("override", "place", "reason", "suggestion"), REFUSED)
def test_mistakes_are_told_with_the_nearest_valid_choice(
    walkers, override, place, reason, suggestion
):
    with pytest.raises(ScenarioError) as caught:
        load(walkers, [override])
    assert caught.value.key_path == place
    assert reason in caught.value.reason
    if suggestion is not None:
        assert caught.value.suggestion == suggestion


@pytest.mark.parametrize("override", ["devices[0].count=100000", "run.duration=3000d"])
def test_what_is_suggested_is_taken(walkers, override):
    settings, blamed = [override], []
    while len(blamed) < 3:  # of legs and of contacts there may be too many
        try:
            load(walkers, settings)
        except ScenarioError as error:
            blamed.append(error.key_path)
            settings.append(f"{error.key_path}={error.suggestion}")
        else:
            break
    assert blamed
    assert len(blamed) == len(set(blamed))


def test_partners_are_near_only_where_somebody_is(walkers, tmp_path):
    path = tmp_path / "alone.toml"
    text = walkers.read_text()
    begin, end = text.index("# The place is made up"), text.index("[workload]")
    path.write_text((text[:begin] + text[end:]).replace("walks = false\n", ""))
    with pytest.raises(ScenarioError, match="there are no") as caught:
        load(path)
    assert caught.value.key_path == "workload.partners.near"


def test_only_phones_that_walk_can_be_said_not_to(scenario):
    with pytest.raises(ScenarioError, match='contacts of kind "walk"') as caught:
        load(scenario, ["devices[0].walks=false"])
    assert caught.value.key_path == "devices[0].walks"


def test_a_town_pays_who_is_near_only_where_contacts_are_there_before(root):
    with pytest.raises(ScenarioError, match="payments make the contacts") as caught:
        load(root / "pocketsim/scenarios/tokens/market.toml", ["workload.near=true"])
    assert caught.value.key_path == "workload.near"


def test_walks_are_resolved_in_si_units(walkers):
    resolved = resolve(load(walkers))[0].resolved
    assert resolved["contacts"]["range_m"] == 10
    assert resolved["contacts"]["slowest_m_per_s"] == 0.5
    assert [group.get("walks") for group in resolved["devices"]] == [None, False]
    assert resolved["workload"]["partners"]["near"] is True
    levy = resolve(load(walkers, [f"contacts={LEVY}"]))[0].resolved["contacts"]
    assert (levy["width_m"], levy["shortest_leg_m"], levy["rho"]) == (4500, 8, 0.79)
    assert levy["fastest_m_per_s"] is None
