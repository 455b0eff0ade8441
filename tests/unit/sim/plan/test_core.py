"""Which netpoint each site is at, and what the engine is told of the ways between them."""

import numpy as np
import pytest

from pocketsim.sim.plan import core
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.plan.population import populate
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve


@pytest.fixture
def place(scenario):
    """Return who places the sites of a scenario with so many phones, two on each access point."""
    section = '\n[network.core]\nplatform = "netherlands"\n'
    scenario.write_text(scenario.read_text() + section)

    def attach(phones, *overrides, repetition=0):
        asked = [f"devices[0].count={phones}", "network.access.home_wifi.phones_per_site=2"]
        resolved = resolve(load(scenario, [*asked, *overrides]))[0].resolved
        name = f"repetition/{repetition}"
        found = core.attach(resolved, name, populate(resolved, name), {})
        return resolved, found

    return attach


def names(attached):
    return [attached.names[number] for number in attached.netpoint]


def test_a_site_more_leaves_the_others_where_they_were(place):
    _, few = place(100)
    _, many = place(200)
    assert len(names(few)) == 50
    assert names(many)[:50] == names(few)
    _, another = place(100, repetition=1)
    assert names(another) != names(few)


def test_sites_are_drawn_by_weights(place):
    _, attached = place(40_000)
    share = np.mean(np.array(names(attached)) == "amsterdam")
    # The standard error of 20 000 draws is 0.003.
    assert share == pytest.approx(935_793 / 4_008_977, abs=0.012)


def test_sites_are_at_netpoints_in_turn(place):
    _, attached = place(10, 'network.core.attach=["zwolle", "utrecht"]')
    assert names(attached) == ["zwolle", "utrecht", "zwolle", "utrecht", "zwolle"]


def test_matrices_are_of_netpoints_that_are_used(place):
    _, attached = place(
        4, 'network.core.attach=["zwolle", "utrecht"]', 'network.core.relay="amsterdam"'
    )
    assert attached.names == ["amsterdam", "utrecht", "zwolle"]
    assert attached.relay == 0
    assert attached.latency_s.shape == (3, 3)
    assert np.array_equal(attached.latency_s, attached.latency_s.T)
    assert np.diag(attached.latency_s) == pytest.approx([0.0011] * 3)
    assert (attached.bytes_per_s == 1e10).all()
    assert not attached.shared.any()


def test_latencies_are_over_pairs_of_sites(place):
    _, attached = place(6, 'network.core.attach=["zwolle"]')
    assert attached.between_sites_s(0.5) == pytest.approx(0.0011)
    _, alone = place(2)
    assert alone.between_sites_s(0.95) == 0.0
    _, two = place(4, 'network.core.attach=["zwolle", "utrecht"]')
    assert two.between_sites_s(0.05) == two.between_sites_s(0.95) == two.latency_s[0, 1]


def test_the_plan_has_a_core_where_the_scenario_has(place, scenario):
    resolved, attached = place(4, 'network.core.relay="amsterdam"')
    plan = build_plan(resolved, 0)
    assert list(plan["core"]["netpoint"]) == list(attached.netpoint)
    assert plan["core"]["platform"] is None, "no link is shared"
    assert plan["simgrid_library"] is None
    assert plan["backbone"]["latency_s"] == attached.between_sites_s(0.5)
    flow, _ = place(4, "run.fidelity=flow")
    assert build_plan(flow, 0)["core"]["platform"].endswith("platforms/netherlands.xml")


def test_other_draws_stay_as_they_were(place, scenario):
    with_core = build_plan(place(4)[0], 0)
    scenario.write_text(scenario.read_text().partition("\n[network.core]")[0])
    asked = ["devices[0].count=4", "network.access.home_wifi.phones_per_site=2"]
    without = build_plan(resolve(load(scenario, asked))[0].resolved, 0)
    assert without["core"] is None
    for key in ("seed", "phones", "churn", "workload", "access", "profiles"):
        np.testing.assert_equal(with_core[key], without[key])
