"""Contacts and outages through the engine, against closed forms and against SimGrid's links."""

import pytest

from support import engine_plans as plans

pytestmark = pytest.mark.engine

RATE, LATENCY_S, SETUP_S = 59e3, 0.03, 1.0
DEAF = {"loss_ratio": 1.0}  # of an access network: whatever arrives came by a contact


def trade(**access):
    plan = plans.plan(2)
    plan["access"] = [plans.access(**access)]
    return plan


def meet(plan, time_s, duration_s, **link):
    link = {"rate_bytes_per_s": RATE, "latency_s": LATENCY_S, "setup_s": SETUP_S, **link}
    plans.meet(plan, time_s, duration_s, 1, 0, **link)


@pytest.mark.parametrize("payload_bytes", [0, 100, 1500, 20_000])
@pytest.mark.parametrize(("asked_s", "starts_s"), [(10.0, 11.0), (10.4, 11.0), (15.0, 15.0)])
def test_a_trade_takes_set_up_size_over_rate_and_latency(payload_bytes, asked_s, starts_s):
    plan = trade(**DEAF)
    meet(plan, 10.0, 60.0)
    plans.arrive(plan, asked_s, 0, 1, payload_bytes)
    trace = plans.run(plan)
    there_bytes, back_bytes = (
        plans.wire_bytes(int(trace.of(kind).size_bytes[0])) for kind in ("send", "store")
    )
    there_s = starts_s + there_bytes / RATE + LATENCY_S
    assert trace.time_of("process", 1) == pytest.approx(there_s, rel=1e-12)
    back_s = there_s + back_bytes / RATE + LATENCY_S
    assert trace.time_of("store", 0) == pytest.approx(back_s, rel=1e-12)
    assert trace.counters["contact_datagrams"] == 2
    assert trace.counters["contact_bytes"] == there_bytes + back_bytes
    assert "access_bytes" not in trace.counters


def test_a_burst_goes_out_one_after_the_other():
    plan = trade(**DEAF)
    meet(plan, 0.0, 90.0)
    for _ in range(20):
        plans.arrive(plan, 5.0, 0, 1)
    trace = plans.run(plan)
    sizes_bytes = [plans.wire_bytes(int(size)) for size in trace.of("send").size_bytes]
    expected_s = [5.0 + sum(sizes_bytes[: n + 1]) / RATE + LATENCY_S for n in range(20)]
    assert trace.of("process").time_s == pytest.approx(expected_s, rel=1e-12)


@pytest.mark.parametrize("payload_bytes", [100, 1500])
def test_a_contact_agrees_with_simgrid_where_nothing_is_shared(payload_bytes):
    times_s = []
    for near in (True, False):
        plan = trade(up_bytes_per_s=RATE, down_bytes_per_s=RATE, latency_s=LATENCY_S / 2)
        plan["fidelity"] = "flow"
        if near:
            meet(plan, 0.0, 90.0, setup_s=0.0)
        for number in range(50):
            plans.arrive(plan, 1.0 + number, number % 2, 1 - number % 2, payload_bytes)
        trace = plans.run(plan)
        assert ("contact_bytes" in trace.counters) is near
        times_s.append(trace.of("store").time_s)
    assert times_s[0].size == 50
    assert times_s[0] == pytest.approx(times_s[1], rel=1e-9)


def test_a_contact_that_closes_loses_what_it_carries():
    plan = trade()
    meet(plan, 0.0, 10.0)
    plans.arrive(plan, 9.0, 0, 1, 60_000)  # takes 1.03 s
    plans.arrive(plan, 10.0, 0, 1, 100)  # over the access network again
    trace = plans.run(plan)
    assert trace.of("drop").reason_names() == ["link_loss"]
    assert trace.time_of("drop") == 10.0
    assert trace.of("store").time_s.size == 1
    assert trace.counters["access_bytes"] > 0


def test_each_pair_has_a_link_of_its_own():
    plan = plans.plan(6)
    plan["access"] = [plans.access(**DEAF)]
    for pair in range(3):
        link = {"rate_bytes_per_s": RATE, "latency_s": LATENCY_S}
        plans.meet(plan, 0.0, 50.0, 2 * pair, 2 * pair + 1, **link)
    for pair in range(3):
        plans.arrive(plan, 1.0, 2 * pair, 2 * pair + 1)
    trace = plans.run(plan)
    expected_s = 1.0 + plans.wire_bytes(int(trace.of("send").size_bytes[0])) / RATE + LATENCY_S
    assert trace.of("process").time_s == pytest.approx([expected_s] * 3, rel=1e-12)


@pytest.mark.parametrize("mode", ["udp", "quic_keep", "tftp"])
def test_every_transport_trades_in_contacts_while_the_network_is_out(mode):
    plan = plans.plan(2, mode)
    plan["outages"] = [{"access": 0, "start_s": 0.0, "end_s": 100.0}]
    plan["duration_s"] = 85.0  # signs of life after that would be sent in vain
    meet(plan, 5.0, 80.0)
    for number in range(10):
        plans.arrive(plan, 10.0 + 3 * number, 0, 1)
    trace = plans.run(plan)
    assert trace.of("store").time_s.size == 10
    assert "access_bytes" not in trace.counters


def test_an_outage_loses_what_is_sent_in_it_and_nothing_else():
    plan = trade()
    plan["outages"] = [{"access": 0, "start_s": 10.0, "end_s": 20.0}]
    for at_s in (9.0, 10.0, 15.0, 19.99, 20.0):
        plans.arrive(plan, at_s, 0, 1)
    trace = plans.run(plan)
    assert trace.of("drop").time_s == pytest.approx([10.0, 15.0, 19.99])
    assert set(trace.of("drop").reason_names()) == {"link_loss"}
    assert trace.of("store").time_s.size == 2
