"""Sections of radios that sleep: what they may say, and what becomes of it."""

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

LTE = "network.access.lte"
STATES = f'{LTE}.states={{promotion = "255ms", inactivity_timer = "10s"}}'
DOZE = 'network.access.wifi.power_save={awake = "200ms", dtim_periods = 3}'


SHIPPED = 'states = { promotion = "260ms", inactivity_timer = "11.576s" }\n'


@pytest.fixture
def shipped(root):
    """Return the text of a market whose LTE sleeps."""
    text = (root / "pocketsim/scenarios/tokens/market.toml").read_text()
    assert SHIPPED in text
    return text


@pytest.fixture
def market(shipped, tmp_path):
    """Return what loads the market, whose LTE never sleeps but for its energy."""
    tail_power = 'tail_power = "1060mW"\n'
    assert tail_power in shipped
    path = tmp_path / "market.toml"
    text = shipped.replace(SHIPPED, "")
    path.write_text(text.replace(tail_power, 'tail = "11.576s"\n' + tail_power))
    return lambda *overrides: load(path, overrides)


def resolved(document):
    return resolve(document)[0].resolved


def plan_of(document):
    """Return the states of networks in a plan, which are in order of names."""
    found = build_plan(resolved(document), 0)["access"]
    return dict(zip(["lte", "office", "wifi"], [each["states"] for each in found], strict=True))


def test_a_scenario_without_them_resolves_as_before(market):
    found = resolved(market())
    assert not {"states", "power_save"} & set(found["network"]["access"]["lte"])
    assert set(plan_of(market()).values()) == {None}


def test_states_reach_the_plan_as_they_are_written(market):
    document = market(
        f'{LTE}.states={{promotion = "255ms", inactivity_timer = "10s", drx_cycle = "320ms",'
        ' on_duration = "10ms", drx_inactivity_timer = "100ms", paging_cycle = "1.28s",'
        ' sr_periodicity = "10ms", grant_delay = "8ms", bler = 0.1, harq_delay = "8ms"}',
        "energy.access.lte.tail=10s",
    )
    expected = {
        "promotion_s": 0.255,
        "inactivity_timer_s": 10.0,
        "drx_cycle_s": 0.32,
        "on_duration_s": 0.01,
        "drx_inactivity_timer_s": 0.1,
        "paging_cycle_s": 1.28,
        "sr_periodicity_s": 0.01,
        "grant_delay_s": 0.008,
        "bler": 0.1,
        "harq_delay_s": 0.008,
    }
    assert plan_of(document)["lte"] == pytest.approx(expected)
    assert plan_of(document)["wifi"] is None


def test_a_wifi_that_dozes_is_paged_by_beacons(market):
    found = plan_of(market(DOZE, "energy.access.wifi.tail=200ms"))["wifi"]
    assert found["paging_cycle_s"] == pytest.approx(0.3072)
    assert found["inactivity_timer_s"] == 0.2
    assert not any(
        found[key] for key in found if key not in ("paging_cycle_s", "inactivity_timer_s")
    )


def test_the_tail_of_the_energy_is_that_of_the_states(shipped, tmp_path):
    path = tmp_path / "shipped.toml"
    path.write_text(shipped)
    energy = resolved(load(path, [STATES]))["energy"]["access"]
    assert energy["lte"]["tail_s"] == 10.0
    assert energy["wifi"]["tail_s"] == 0.2381
    path.write_text(shipped.replace(SHIPPED, ""))
    assert resolved(load(path))["energy"]["access"]["lte"]["tail_s"] == 0.0


@pytest.mark.parametrize(
    ("overrides", "place", "reason"),
    [
        (
            [STATES],
            "energy.access.lte.tail",
            r"is 11\.576 s, and .*lte\.states\.inactivity_timer 10 s",
        ),
        ([DOZE], "energy.access.wifi.tail", r"wifi\.power_save\.awake 0\.2 s"),
        (
            [DOZE, "energy.access.wifi.tail=200ms", "energy.access.wifi.promotion=1mJ"],
            "energy.access.wifi.promotion",
            "takes energy, but no time",
        ),
        (
            [f'{STATES[:-1]}, on_duration = "10ms"}}'],
            f"{LTE}.states",
            "on_duration says nothing without drx_cycle",
        ),
        (
            [f'{STATES[:-1]}, drx_cycle = "10ms", on_duration = "20ms"}}'],
            f"{LTE}.states",
            r"on_duration, 0\.02 s, is longer than drx_cycle, 0\.01 s",
        ),
        ([f"{STATES[:-1]}, bler = 0.1}}"], f"{LTE}.states", "only together"),
        ([f"{STATES[:-1]}, bler = 1.0}}"], f"{LTE}.states.bler", "less than 1"),
        ([f"{LTE}.states.promotion=1s"], f"{LTE}.states.inactivity_timer", "is required"),
        (
            [f'{LTE}.states={{promotion = "1s", inactivity_timer = "0s"}}'],
            f"{LTE}.states.inactivity_timer",
            "more than zero",
        ),
        (
            [STATES, f'{LTE}.power_save={{awake = "200ms"}}'],
            LTE,
            "has states and power_save",
        ),
        ([DOZE.replace("= 3", "= 0")], "network.access.wifi.power_save.dtim_periods", "greater"),
        ([STATES, "run.fidelity=flow"], f"{LTE}.states", "no radio that sleeps"),
    ],
)
def test_mistakes_are_named_with_their_place(market, overrides, place, reason):
    with pytest.raises(ScenarioError, match=reason) as caught:
        market(*overrides)
    assert caught.value.key_path == place


def test_the_nearest_key_is_named(market):
    with pytest.raises(ScenarioError) as caught:
        market(f"{LTE}.states.inactivity_time=10s")
    assert caught.value.suggestion == "inactivity_timer"
