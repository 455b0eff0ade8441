"""Access points of 802.11: what a scenario may say of them, and by what scheme phones send."""

import numpy as np
import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

RATES = 'up = "40Mbps"\ndown = "40Mbps"\n'
DISTANCES = "{ near = 0.4, room = 0.3, next_room = 0.2, edge = 0.1 }"


@pytest.fixture
def planned(scenario):
    """Return the plan of the small scenario with a Wi-Fi network, and its phones."""

    def plan(wifi, phones=2):
        text = scenario.read_text().replace(RATES, f"wifi = {{ {wifi} }}\n")
        assert "wifi = {" in text
        scenario.write_text(text.replace("count = 2", f"count = {phones}"))
        (rung, *_) = resolve(load(scenario))
        return build_plan(rung.resolved, repetition=0)

    return plan


def test_phones_are_as_far_as_their_shares_say(planned):
    plan = planned(f'standard = "802.11ac", distance = {DISTANCES}', phones=2000)
    found = np.bincount(plan["phones"]["mcs"], minlength=10) / 2000
    expected = np.zeros(10)
    expected[[9, 7, 4, 1]] = 0.4, 0.3, 0.2, 0.1
    assert np.abs(found - expected).max() < 0.04  # four standard errors


@pytest.mark.parametrize(
    ("wifi", "width_mhz", "schemes"),
    [
        ('standard = "802.11n"', 20, {7}),
        ('standard = "802.11n", distance = { near = 1.0 }', 20, {7}),
        ('standard = "802.11ac"', 80, {7}),
        ('standard = "802.11ac", channel_width_mhz = 20, distance = { near = 1.0 }', 20, {8}),
        ('standard = "802.11ac", mcs = 2', 80, {2}),
    ],
)
def test_channels_and_schemes_are_those_of_the_standard(planned, wifi, width_mhz, schemes):
    plan = planned(wifi)
    assert set(plan["phones"]["mcs"].tolist()) == schemes
    assert plan["access"][0]["wifi"]["channel_width_mhz"] == width_mhz


def test_without_wifi_no_phone_has_a_scheme(scenario):
    (rung, *_) = resolve(load(scenario))
    plan = build_plan(rung.resolved, repetition=0)
    assert plan["phones"]["mcs"].size == 0
    assert plan["access"][0]["wifi"] is None
    assert "wifi" not in rung.resolved["network"]["access"]["home_wifi"]


@pytest.mark.parametrize(
    ("wifi", "reason"),
    [
        ('standard = "802.11n", channel_width_mhz = 80', "802.11n has channels of 20 and 40 MHz"),
        ('standard = "802.11n", mcs = 9', "mcs 9 is not in 802.11n with 20 MHz; the highest is 7"),
        ('standard = "802.11ac", mcs = 1, distance = { near = 1.0 }', "give one"),
        ('standard = "802.11ac", distance = { near = 0.5 }', "the shares add up to 0.5, not to 1"),
        ('standard = "802.11ax"', "must be one of 802.11n, 802.11ac, not '802.11ax'"),
    ],
)
def test_what_no_access_point_is_is_refused(planned, wifi, reason):
    with pytest.raises(ScenarioError, match=reason) as refused:
        planned(wifi)
    assert "wifi" in str(refused.value)


def test_a_network_has_rates_or_access_points(scenario):
    text = scenario.read_text()
    scenario.write_text(text.replace('up = "40Mbps"\n', ""))
    with pytest.raises(ScenarioError, match="up is required, but in a network with wifi"):
        load(scenario)
    both = text.replace(RATES, 'up = "40Mbps"\nwifi = { standard = "802.11n" }\n')
    scenario.write_text(both)
    with pytest.raises(ScenarioError, match="up is of a network without wifi"):
        load(scenario)


def test_flows_have_no_frames(scenario):
    text = scenario.read_text().replace(RATES, 'wifi = { standard = "802.11n" }\n')
    scenario.write_text(text.replace("[run]", '[run]\nfidelity = "flow"'))
    with pytest.raises(ScenarioError, match="no frames that could contend"):
        load(scenario)
