"""A run without contention: the same draws, and nothing that phones share."""

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans

NAT = "pocketsim/scenarios/scale/1k_nat.toml"
LIMITS = "network.relay={up='1Mbps', down='2Mbps', client_rate='1Mbps', client_burst='10kB'}"


def resolved(*settings):
    (rung, *_) = resolve(load(NAT, [LIMITS, "run.duration=20s", *settings]))
    return rung.resolved


def test_nothing_but_what_is_shared_changes():
    shared, alone = (
        engine_plans.lists(build_plan(resolved(*settings), 0))
        for settings in ((), ("run.contention=false",))
    )
    changed = {key for key in shared if shared[key] != alone[key]}
    assert changed == {"contention", "relay"}
    assert (shared["contention"], alone["contention"]) == (True, False)
    limits = {"up_bytes_per_s", "down_bytes_per_s"}
    assert {key for key in shared["relay"] if shared["relay"][key] != alone["relay"][key]} == limits
    assert {alone["relay"][key] for key in limits} == {None}


def test_what_a_run_with_contention_depends_on_does_not_say_so():
    assert "contention" not in resolved("run.contention=true")["run"]
    assert resolved("run.contention=false")["run"]["contention"] is False


def test_flows_always_share():
    with pytest.raises(ScenarioError, match="share all their links") as caught:
        load(
            "pocketsim/scenarios/own_data/rates_by_group.toml",
            ["run.contention=false", "run.fidelity=flow"],
        )
    assert caught.value.key_path == "run.contention"
