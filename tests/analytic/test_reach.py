"""NATs, hole punching and fallback to the relay against what their laws say, over whole trades."""

import numpy as np
import pytest

from pocketsim.sim.base import streams
from pocketsim.sim.scenario.reachability import CLASSES
from support import engine_plans as plans

pytestmark = pytest.mark.engine

SHARES = {"address_restricted": 0.22, "port_restricted": 0.45, "symmetric": 0.33}
"""Of mobile networks: a third is symmetric, the rest is assumed."""
WEBRTC_SUCCESS = 0.726
"""With these shares, 43.1 % of pairs of phones open a direct path, as was measured."""


def nat(**changes):
    return {
        "unreplied_timeout_s": 30.0,
        "replied_timeout_s": 120.0,
        "lifetime_s": None,
        "inbound_refresh": False,
        "client_isolation": False,
        **changes,
    }


def law(**changes):
    return {
        "success": 0.7,
        "setup_median_s": 6.0,
        "setup_sigma": 0.661,
        "failure_median_s": 15.0,
        "failure_sigma": 0.68,
        "path_trust_s": 6.5,
        **changes,
    }


def behind(classes, mode="udp", options=None, punching=None, **timers):
    """Return a plan of phones behind these classes, each on a site of its own."""
    phones = len(classes)
    plan = plans.plan(phones, mode)
    plan["phones"]["site"] = list(range(phones))
    plan["sites"] = {"capacity_bytes_per_s": [0.0] * phones}
    plan["backbone"] = {"latency_s": 0.005, "relay_latency_s": 0.006}
    plan["transport"]["options"] |= options or {}
    plan["nats"] = {
        "classes": [CLASSES.index(name) for name in classes],
        "access": [nat(**timers)],
        "hole_punching": law(**(punching or {})),
    }
    return plan


QUIC = {"relay_first": True, "answer_on_same_connection": True}


def fates_of(trace):
    """Return what became of each proposal, in order: stored, or the reason of its first drop."""
    stored = set(trace.of("store", None).message.tolist())
    drops = trace.of("drop")
    reasons = dict(zip(drops.message.tolist(), drops.reason_names(), strict=True))
    sent = trace.of("send").message.tolist()
    return ["stored" if one in stored else reasons.get(one, "in_flight") for one in sent]


@pytest.mark.parametrize("to", CLASSES)
def test_a_proposal_over_udp_to_a_stranger_comes_to_a_public_address_alone(to):
    plan = behind(["port_restricted", to])
    plans.arrive(plan, 1.0, 0, 1)
    assert fates_of(plans.run(plan)) == ["stored" if to == "open" else "unreachable"]


@pytest.mark.parametrize("timeout_s", [30.0, 65.0])
@pytest.mark.parametrize(
    "name", ["full_cone", "address_restricted", "port_restricted", "symmetric"]
)
def test_after_more_silence_than_the_timeout_the_next_inbound_is_lost(name, timeout_s):
    plan = behind(["open", name], unreplied_timeout_s=timeout_s, replied_timeout_s=timeout_s)
    plan["duration_s"] = 1000.0
    silences_s = [timeout_s - 1, timeout_s + 1]
    time_s = 1.0
    for silence_s in silences_s:
        plans.arrive(plan, time_s, 1, 0)  # makes a binding, or another
        plans.arrive(plan, time_s + silence_s, 0, 1)
        time_s += silence_s + 100.0
    plans.arrive(plan, time_s, 1, 0)
    plans.arrive(plan, time_s + 1.0, 0, 1)
    found = fates_of(plans.run(plan))
    # By proposer: those of phone 0 are inbound. What came in was answered, which keeps it.
    assert found == ["stored", "stored", "stored", "unreachable", "stored", "stored"]


def pairs_that_punch(pairs, success, seed=1):
    """Return a plan in which pairs of phones trade at about 1 s and at 120 s."""
    draw = streams.stream(seed, "classes")
    classes = draw.choice(list(SHARES), size=2 * pairs, p=list(SHARES.values()))
    # Pings every 20 s keep connections and bindings, and are few.
    options = {**QUIC, "keep_alive_s": 20.0}
    plan = behind(classes.tolist(), "quic_keep", options, {"success": success})
    plan["seed"], plan["duration_s"] = seed, 150.0
    for start_s in (1.0, 120.0):
        for pair in range(pairs):
            plans.arrive(plan, start_s + 10.0 * pair / pairs, 2 * pair, 2 * pair + 1)
    return plan, classes.reshape(-1, 2)


def test_phones_punch_as_often_as_webrtc_between_phones_did():
    pairs = 10_000
    plan, classes = pairs_that_punch(pairs, WEBRTC_SUCCESS)
    trace = plans.run(plan)
    punching, stored = trace.reach["punching"], trace.reach["stored"]
    success = punching["opened"] / (punching["opened"] + punching["failed"])
    relayed = (stored["relayed"] - pairs) / pairs
    assert punching["opened"] + punching["failed"] + punching["pending"] == pairs
    # 0.726 (1 - s^2 - 2 s p); four standard errors of 0.005.
    assert success == pytest.approx(0.431, abs=0.02)
    symmetric, strict = (np.isin(classes, names) for names in (["symmetric"], _STRICT))
    allowed = ~(symmetric.any(axis=1) & strict.all(axis=1))
    assert success == pytest.approx(WEBRTC_SUCCESS * allowed.mean(), abs=0.02)
    assert punching["setup_p50_s"] == pytest.approx(6.0, rel=0.04)
    assert punching["setup_p90_s"] == pytest.approx(14.0, rel=0.05)
    # All first trades, and of the later ones what could not punch, are relayed.
    assert stored["all"] == 2 * pairs
    assert relayed == pytest.approx(1 - success, abs=0.001)


_STRICT = ["port_restricted", "symmetric"]


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("port_restricted", "port_restricted", 1.0),
        ("address_restricted", "symmetric", 1.0),
        ("full_cone", "full_cone", 1.0),
        ("port_restricted", "symmetric", 0.0),
        ("symmetric", "symmetric", 0.0),
        ("blocked", "full_cone", 0.0),
    ],
)
def test_classes_that_do_not_allow_it_stay_on_the_relay(one, other, share):
    plan = behind([one, other], "quic_keep", QUIC, {"success": 1.0, "setup_sigma": 0.0})
    for time_s in (1.0, 50.0):
        plans.arrive(plan, time_s, 0, 1)
    reach = plans.run(plan).reach
    assert reach["stored"] == {"all": 2, "relayed": 2 - share}


@pytest.mark.parametrize("classes", [("open", "symmetric"), ("symmetric", "open")])
def test_a_public_address_at_either_end_needs_no_punching(classes):
    plan = behind(classes, "quic_keep", QUIC, {"success": 0.0})
    for time_s in (1.0, 20.0):
        plans.arrive(plan, time_s, 0, 1)
    reach = plans.run(plan).reach
    assert reach["punching"]["opened"] == reach["punching"]["failed"] == 0
    # What is dialled goes by the relay; the probe beside it is answered before the first answer.
    assert reach["stored"] == {"all": 2, "relayed": 0}
    assert reach["delivered"]["relayed"] > 0


@pytest.mark.parametrize("trust_s", [6.5, 0.0])
def test_a_binding_that_ends_sends_the_connection_back_to_the_relay_or_loses_it(trust_s):
    punching = {"success": 1.0, "setup_sigma": 0.0, "setup_median_s": 20.0, "path_trust_s": trust_s}
    options = {**QUIC, "keep_alive_s": 5.0, "idle_timeout_s": 15.0}
    classes = ["port_restricted", "port_restricted"]
    plan = behind(classes, "quic_keep", options, punching, lifetime_s=50.0)
    plan["duration_s"] = 120.0
    for second in range(1, 110, 2):
        plans.arrive(plan, float(second), 0, 1)
    trace = plans.run(plan)
    reach = trace.reach
    assert trace.of("send").time_s.size == 55
    if trust_s:
        # Open from 21 s to 51 s and 20 s later again: in between the relay, and nothing is lost.
        assert reach["stored"]["all"] == 55
        assert reach["punching"]["reopened"] == 1
        assert reach["stored"]["relayed"] > 20
    else:
        assert set(trace.of("lose").reason_names()) == {"idle_timeout"}


def test_datagrams_of_phones_on_one_site_pass_no_nat():
    plan = behind(["symmetric", "symmetric"])
    plan["phones"]["site"] = [0, 0]
    plans.arrive(plan, 1.0, 0, 1)
    assert fates_of(plans.run(plan)) == ["stored"]


def test_a_run_without_nats_and_limits_tells_nothing_of_reach():
    plan = plans.plan(2)
    plans.arrive(plan, 1.0, 0, 1)
    trace = plans.run(plan)
    assert trace.reach is None
    assert {"unreachable", "relay_full"}.isdisjoint(trace.reasons)
