"""Days of persons as documents say them, and what is refused with which reason."""

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

WALK = (
    "{kind='walk', model='random_waypoint', width='1km', height='1km', range='10m', "
    "slowest='1m/s', fastest='2m/s', links={ble={share=1.0, rate='59kBps', latency='30ms'}}}"
)
REFUSED = [
    ("mobility.kind=day", "mobility.kind", "must be one of days", "days"),
    ("mobility.first_day=mondays", "mobility.first_day", "must be one of monday", "monday"),
    ("mobility.outside=lt", "mobility.outside", "no [network.access.lt]", "lte"),
    ("mobility.household=0.5", "mobility.household", "greater than or equal to 1", None),
    ("mobility.speed=0m/s", "mobility.speed", "must be more than zero", None),
    ("mobility.work.access.work=0.9", "mobility.work", "add up to 1.4", None),
    (
        "mobility.work.access={home=1.0}",
        "mobility.work.access.home",
        "home is an access network at home",
        None,
    ),
    (
        "devices[0].moves={schedule=[{at='1h', to='lte'}]}",
        "devices[0].moves",
        "persons move by [mobility]",
        None,
    ),
    ("network.access.work.forwarding_cpu=1us", "mobility", "is of phones that stay", None),
    (f"contacts={WALK}", "contacts.kind", "do not walk about", "places"),
    ("mobility.work.places=1", "mobility.work.places", "contacts in each repetition", None),
]


@pytest.fixture(scope="module")
def town_day(root):
    return root / "pocketsim/scenarios/scale/town_day.toml"


@pytest.mark.parametrize(("override", "place", "reason", "suggestion"), REFUSED)
def test_mistakes_are_told_with_the_nearest_valid_choice(
    town_day, override, place, reason, suggestion
):
    more = ["run.duration=1000d", "devices[0].count=3000"] if "places" in override else []
    with pytest.raises(ScenarioError) as caught:
        load(town_day, [override, *more])
    assert caught.value.key_path == place
    assert reason in caught.value.reason
    assert caught.value.suggestion == suggestion


def test_contacts_at_places_take_places(root):
    links = "{ble={share=1.0, rate='59kBps', latency='30ms'}}"
    with pytest.raises(ScenarioError) as caught:
        load(
            root / "pocketsim/scenarios/scale/1k.toml",
            [f"contacts={{kind='places', links={links}}}"],
        )
    assert caught.value.suggestion == '[mobility] kind = "days"'


def test_a_scenario_without_days_has_no_key_of_them(root):
    resolved = resolve(load(root / "pocketsim/scenarios/scale/1k.toml"))[0].resolved
    assert "mobility" not in resolved
