"""Prices of energy, and what they rest on."""

from __future__ import annotations

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

PRICES = """
[energy]
core = "2W"
core_basis = "measured"
core_source = "a meter of ours"
core_year = 2026

[energy.access.home_wifi]
active = "1W"
basis = "published"
source = "A paper, table 2"
year = 2012
"""
BARE = '[energy]\ncore = "2W"\n[energy.access.home_wifi]\nactive = "1W"\n'
RADIO = {
    "active_w": 1.0,
    **dict.fromkeys(("up_per_byte_j", "down_per_byte_j", "tail_s", "tail_power_w"), 0.0),
    "promotion_j": 0.0,
}


@pytest.fixture
def priced(scenario):
    """Write prices into a scenario, and return what it resolves to."""
    before = scenario.read_text()

    def write(text):
        scenario.write_text(f"{before}\n{text}")
        return resolve(load(scenario))[0].resolved

    return write


def test_prices_say_what_they_rest_on(priced):
    energy = priced(PRICES)["energy"]
    known = {"basis": "published", "source": "A paper, table 2", "year": 2012}
    assert energy["access"] == {"home_wifi": {**RADIO, **known}}
    assert [energy[f"core_{key}"] for key in ("basis", "source", "year")] == [
        *("measured", "a meter of ours", 2026),
    ]


def test_prices_that_say_nothing_resolve_as_they_did_before_they_could(priced):
    assert priced(BARE)["energy"] == {"core_w": 2.0, "access": {"home_wifi": RADIO}, "contacts": {}}


def test_what_prices_rest_on_is_nothing_to_the_engine(priced):
    plans = [build_plan(priced(text), 0)["energy"] for text in (PRICES, BARE)]
    assert plans[0]["access"] == plans[1]["access"] == [RADIO]


@pytest.mark.parametrize(
    ("old", "new", "place", "reason"),
    [
        ('source = "A paper, table 2"\n', "", "energy.access.home_wifi", "needs source"),
        ('core_source = "a meter of ours"\n', "", "energy", "'measured' needs core_source"),
        ('"A paper, table 2"', '""', "energy.access.home_wifi.source", "empty"),
        ("year = 2012", "year = 12", "energy.access.home_wifi.year", "1900"),
        ('"published"', '"publisht"', "energy.access.home_wifi.basis", "published"),
        ("\nyear = 2012", "\nyeer = 2012", "energy.access.home_wifi.yeer", "unknown key"),
    ],
)
def test_mistakes_are_told_with_their_place(priced, old, new, place, reason):
    assert old in PRICES
    with pytest.raises(ScenarioError, match=reason) as found:
        priced(new.join(PRICES.rsplit(old, 1)))
    assert found.value.key_path == place


def test_an_assumed_price_needs_no_source(priced):
    bare = BARE + 'basis = "assumed"\n'
    assert priced(bare)["energy"]["access"]["home_wifi"] == {**RADIO, "basis": "assumed"}
