"""Classes of NATs are drawn where all else is, of phones or of sites; pairs follow from them."""

import numpy as np
import pytest

from pocketsim.sim.plan import nats
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.reachability import CLASSES, expected
from pocketsim.sim.scenario.resolve import resolve

OTHERS = ("sites", "churn", "workload", "phones", "access", "profiles")


def resolved(root, *overrides):
    path = root / "pocketsim/scenarios/scale/1k_nat.toml"
    return resolve(load(path, ["transport.mode=quic_keep", *overrides]))[0].resolved


def plan(root, *overrides):
    return build_plan(resolved(root, *overrides), 0)


def test_classes_come_as_often_as_their_shares_say(root):
    made = plan(root, "devices[0].count=20000")
    on_lte = np.array(made["phones"]["access"]) == 0
    found = np.bincount(np.array(made["nats"]["classes"])[on_lte], minlength=6) / on_lte.sum()
    due = [0, 0.10, 0.12, 0.45, 0.33, 0]
    # Four standard errors of at most 0.005.
    assert found == pytest.approx(due, abs=0.02)


def test_a_router_is_one_for_its_site_and_an_operator_draws_for_each_phone(root):
    made = plan(root)
    site, classes = (
        np.array(made[at][key]) for at, key in (("phones", "site"), ("nats", "classes"))
    )
    on_wifi = np.array(made["phones"]["access"]) == 1
    for here in np.unique(site[on_wifi]):
        assert len(set(classes[site == here].tolist())) == 1
    assert all(len(set(classes[site == here].tolist())) > 2 for here in np.unique(site[~on_wifi]))


def test_a_phone_that_is_added_changes_no_others_class(root):
    few, more = (plan(root, f"devices[0].count={count}") for count in (500, 501))
    assert few["nats"]["classes"].tolist() == more["nats"]["classes"][:500].tolist()


def test_nats_change_nothing_else_of_a_plan(root):
    made, other = plan(root), plan(root, "network.hole_punching.success=0.1")
    for key in OTHERS:
        assert str(made[key]) == str(other[key])
    assert made["nats"]["classes"].tolist() == other["nats"]["classes"].tolist()


def test_the_authority_has_a_public_address(root):
    path = root / "pocketsim/scenarios/tokens/market.toml"
    table = "network.access.lte.nat={symmetric=1.0, carrier_grade=true}"
    made = build_plan(resolve(load(path, [table]))[0].resolved, 0)
    classes, roles = np.array(made["nats"]["classes"]), np.array(made["phones"]["role"])
    assert set(classes[roles == 2].tolist()) == {CLASSES.index("open")}
    assert CLASSES.index("symmetric") in classes.tolist()


def test_plans_without_nats_or_limits_have_neither(scenario):
    made = build_plan(resolve(load(scenario))[0].resolved, 0)
    assert made["nats"] is None
    assert made["relay"] is None
    assert nats.ways(resolve(load(scenario))[0].resolved, made) is None


def test_limits_of_the_relay_leave_its_latency_alone(root):
    assert plan(root, "network.relay_latency=9ms")["backbone"]["relay_latency_s"] == 0.009
    assert plan(root)["relay"]["down_bytes_per_s"] == 125e6


def test_drawn_pairs_are_about_as_expected(root):
    found = resolved(root)
    drawn = nats.ways(found, build_plan(found, 0))
    due = expected(found["network"], found["devices"], found["transport"])
    assert sum(drawn) == pytest.approx(1)
    assert sum(due) == pytest.approx(1)
    assert drawn == pytest.approx(due, abs=0.03)
