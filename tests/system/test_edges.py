"""The engine at the edges of what a scenario may ask for."""

import numpy as np
import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans as plans
from support.recount import check

pytestmark = pytest.mark.engine

MODES = list(plans.TRANSPORTS)
# Transports that send one message to a peer at a time, so that others wait.
ONE_BY_ONE = ("tftp", "eva")
# Transports whose messages are one packet, of at most 1472 B.
ONE_PACKET = ("ipv8", "ipv8_sealed")


def loop(interval_s, duration_s=10.0, payload_bytes=100):
    return {
        "from_phone": 0,
        "to_phone": 1,
        "start_s": 0.0,
        "duration_s": duration_s,
        "interval_s": interval_s,
        "by_clock": False,
        "overshoot_s": 0.0,
        "overshoot_sigma": 0.0,
        "payload_bytes": payload_bytes,
        "outstanding_max": 0,
        "outstanding_until_drained": False,
    }


def paced(mode, **changes):
    plan = plans.plan(2, mode)
    plan["workload"]["loops"] = [loop(**changes)]
    return plan


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in ONE_PACKET])
@pytest.mark.parametrize("payload_bytes", [0, 1, 2000, 50_000])
def test_payloads_of_any_size_arrive(mode, payload_bytes):
    trace = plans.run(paced(mode, interval_s=0.5, payload_bytes=payload_bytes))
    assert trace.counters["send"] == trace.counters["store"] == 20
    assert trace.of("send").size_bytes.min() > payload_bytes
    check(trace, 100.0, nothing_left=True)


@pytest.mark.parametrize("mode", ONE_PACKET)
@pytest.mark.parametrize(("payload_bytes", "arrives"), [(0, True), (500, True), (1500, False)])
def test_a_packet_of_the_overlay_carries_no_more_than_a_frame(mode, payload_bytes, arrives):
    trace = plans.run(paced(mode, interval_s=0.5, payload_bytes=payload_bytes))
    assert trace.counters["send"] == 20
    assert trace.counters.get("store", 0) == (20 if arrives else 0)
    assert trace.of("lose").reason_names() == ([] if arrives else ["oversized"] * 20)
    check(trace, 100.0, nothing_left=True)


@pytest.mark.parametrize("mode", MODES)
def test_a_run_shorter_than_an_interval_is_one_proposal(mode):
    plan = paced(mode, interval_s=5.0, duration_s=1.0)
    trace = plans.run({**plan, "duration_s": 1.0})
    assert trace.counters["send"] == trace.counters["store"] == 1


@pytest.mark.parametrize("mode", ["quic_keep", "tftp"])
def test_a_loop_lets_so_many_proposals_wait_and_no_more(mode):
    plan = paced(mode, interval_s=1e-3, duration_s=1.0)
    plan["workload"]["loops"][0]["outstanding_max"] = 5
    trace = plans.run(plan)
    sent, withheld = trace.counters["send"], trace.counters["proposals_withheld"]
    assert sent > 0
    assert withheld > 0
    assert sent + withheld <= 1001  # turns, a millisecond or more apart
    changes = [(at, 1) for at in trace.of("send").time_s]
    changes += [(at, -1) for at in trace.of("store").time_s]
    waiting = np.cumsum([change for _, change in sorted(changes)])
    assert waiting.max() == 5
    check(trace, 100.0, nothing_left=True)


@pytest.mark.parametrize("mode", MODES)
def test_transactions_open_at_the_end_are_in_flight(mode):
    plan = paced(mode, interval_s=0.1, duration_s=1.0)
    trace = plans.run({**plan, "duration_s": 0.905})
    assert trace.of("send").time_s.size == 10
    assert trace.of("store").time_s.size < 10
    # Two transfers of a trade over EVA take longer than an interval: offers cross, and are refused.
    assert set(trace.of("lose").reason_names()) <= ({"peer_busy"} if mode == "eva" else set())
    check(trace, 0.905, nothing_left=False)


@pytest.mark.parametrize("mode", MODES)
def test_a_link_that_loses_everything_loses_everything(mode):
    plan = paced(mode, interval_s=0.5)
    plan["access"] = [plans.access(loss_ratio=1.0)]
    trace = plans.run({**plan, "duration_s": 99.0})
    assert trace.of("process").time_s.size == 0
    assert trace.counters["link_loss"] == trace.counters["datagrams_sent"] > 0
    found = set(trace.of("drop").reason_names()) | set(trace.of("lose").reason_names())
    # A handshake that nobody hears ends by its own or by the idle timeout, both of 30 s.
    alone = {key: {"link_loss"} for key in ("udp", "ipv8", "ipv8_sealed")}
    allowed = {**alone, "tftp": {"retries_exhausted"}}
    assert found
    assert found <= allowed.get(mode, {"connect_timeout", "idle_timeout"})
    # TFTP tries one file after the other, each for 35 s; EVA one message, for 12 s and more.
    check(trace, 99.0, nothing_left=mode not in ONE_BY_ONE)


@pytest.mark.parametrize("mode", MODES)
def test_ten_thousand_proposals_a_second(mode):
    plan = paced(mode, interval_s=1e-4, duration_s=0.2)
    trace = plans.run({**plan, "duration_s": 5.0})
    assert trace.counters["send"] == pytest.approx(2000, abs=1)
    if mode in ("quic_reconnect", "quic_keep"):
        assert trace.counters["store"] == trace.counters["send"]
    check(trace, 5.0, nothing_left=mode not in ONE_BY_ONE)


@pytest.mark.parametrize("mode", MODES)
def test_a_phone_may_be_alone(mode):
    plan = plans.plan(1, mode)
    plans.turn(plan, 1.0, 0, on=False)
    plans.turn(plan, 2.0, 0, on=True)
    trace = plans.run(plan)
    assert trace.of("phone_off").time_s.tolist() == [1.0]
    assert trace.of("phone_on").time_s.tolist() == [2.0]
    assert trace.time_s.size == 2


def test_run_without_a_trading_partner_is_refused(scenario, scenario_text):
    alone = scenario_text.replace("count = 2", "count = 1")
    for text in (alone, alone.replace('"paced"', '"poisson"')):
        scenario.write_text(text)
        with pytest.raises(ScenarioError, match="a trade takes at least 2 phones") as caught:
            resolve(load(scenario))
        assert caught.value.key_path == "devices"


def test_a_phone_that_goes_off_and_on_at_one_moment_loses_what_it_was_doing():
    plan = plans.plan(2)
    plans.cost(plan, "verify", cpu_s=1.0)
    plans.arrive(plan, 0.0, 0, 1)
    plans.turn(plan, 0.5, 1, on=False)
    plans.turn(plan, 0.5, 1, on=True)
    plans.arrive(plan, 2.0, 0, 1)
    trace = plans.run(plan)
    assert trace.of("store").message.tolist() == [1]
    check(trace, 100.0, nothing_left=True)


def test_a_phone_can_be_off_from_the_start():
    plan = plans.plan(2)
    plans.turn(plan, 0.0, 0, on=False)
    plans.arrive(plan, 0.0, 0, 1)
    plans.turn(plan, 1.0, 0, on=True)
    plans.arrive(plan, 1.0, 0, 1)
    trace = plans.run(plan)
    assert trace.counters["arrivals_while_off"] == 1
    assert trace.of("send").time_s.tolist() == [1.0]
    assert trace.of("store").time_s.size == 1
