"""Times on links against closed forms: one message, several on shared air, a full socket buffer."""

import pytest

from support import engine_plans as plans

pytestmark = pytest.mark.engine

UP, DOWN = 1e6, 2e6


def trade(**changes):
    plan = plans.plan(2, **changes)
    plan["access"] = [plans.access(up_bytes_per_s=UP, down_bytes_per_s=DOWN)]
    return plan


def one_way_s(message_bytes, bytes_per_s=UP):
    return 2 * plans.LATENCY_S + plans.wire_bytes(message_bytes) / bytes_per_s


def in_turn_s(message_bytes, fidelity):
    """Return how long a message takes that is alone: a radio sends on what it has received."""
    second_s = plans.wire_bytes(message_bytes) / DOWN if fidelity == "hybrid" else 0.0
    return one_way_s(message_bytes) + second_s


# A proposal has some 320 bytes around its payload; above 1472 it takes several IP packets.
@pytest.mark.parametrize("payload_bytes", [0, 100, 1000, 1472, 2000, 5000, 60_000])
@pytest.mark.parametrize("fidelity", ["hybrid", "flow"])
def test_a_message_takes_latency_and_size_over_each_radio_or_the_narrowest(payload_bytes, fidelity):
    plan = trade(fidelity=fidelity)
    plans.arrive(plan, 1.0, 0, 1, payload_bytes)
    trace = plans.run(plan)
    there_bytes, back_bytes = (int(trace.of(kind).size_bytes[0]) for kind in ("send", "store"))
    assert there_bytes > payload_bytes
    processed_s = trace.time_of("process", 1)
    assert processed_s == pytest.approx(1.0 + in_turn_s(there_bytes, fidelity), rel=1e-9)
    back_s = trace.time_of("store", 0) - processed_s
    assert back_s == pytest.approx(in_turn_s(back_bytes, fidelity), rel=1e-6)


def test_a_message_of_a_byte_more_than_a_packet_takes_a_second_header():
    sizes_bytes, flights_s = [], []
    for payload_bytes in range(1150, 1156):
        plan = trade()
        plans.arrive(plan, 0.0, 0, 1, payload_bytes)
        trace = plans.run(plan)
        sizes_bytes.append(int(trace.of("send").size_bytes[0]))
        flights_s.append(trace.time_of("process"))
    assert 1472 in sizes_bytes
    assert 1473 in sizes_bytes
    at = sizes_bytes.index(1473)
    byte_s = 1 / UP + 1 / DOWN
    assert flights_s[at] - flights_s[at - 1] == pytest.approx(21 * byte_s, rel=1e-6)
    assert flights_s[at + 1] - flights_s[at] == pytest.approx(byte_s, rel=1e-6)


def test_a_datagram_is_lost_with_any_of_its_fragments():
    plan = plans.plan(2)
    plan["access"] = [plans.access(loss_ratio=0.03)]
    for number in range(4000):
        plans.arrive(plan, 0.05 * number, 0, 1, 5000)  # four fragments
    trace = plans.run(plan)
    arrived = trace.of("process").time_s.size / trace.of("send").time_s.size
    # Two hops of four fragments each; the standard error is 0.0065.
    assert arrived == pytest.approx(0.97**8, abs=0.025)


def test_nothing_is_sent_that_udp_cannot_carry():
    plan = trade()
    plans.arrive(plan, 0.0, 0, 1, 70_000)
    trace = plans.run(plan)
    assert trace.of("lose").reason_names() == ["oversized"]
    assert trace.counters.get("datagrams_sent", 0) == 0


@pytest.mark.parametrize(("senders", "share"), [(1, 1.0), (2, 0.5), (4, 0.25)])
def test_phones_that_send_at_once_share_their_sites_air(senders, share):
    capacity = 2e5
    plan = plans.plan(2 * senders, sites={"capacity_bytes_per_s": [capacity, 0.0]})
    plan["phones"]["site"] = [0] * senders + [1] * senders
    for phone in range(senders):
        plans.arrive(plan, 0.0, phone, senders + phone, 1000)
    trace = plans.run(plan)
    expected_s = one_way_s(int(trace.of("send").size_bytes[0]), share * capacity)
    assert trace.of("process").time_s == pytest.approx([expected_s] * senders, rel=1e-6)


def test_a_phone_on_narrow_radio_leaves_the_rest_of_the_air_to_the_other():
    plan = plans.plan(4, sites={"capacity_bytes_per_s": [1e5, 0.0]})
    plan["phones"]["site"] = [0, 0, 1, 1]
    plan["access"] = [plans.access(up_bytes_per_s=2e4), plans.access()]
    plan["phones"]["access"] = [0, 1, 1, 1]
    for phone in (0, 1):
        plans.arrive(plan, 0.0, phone, 2 + phone, 1000)
    trace = plans.run(plan)
    message_bytes = int(trace.of("send").size_bytes[0])
    expected_s = [one_way_s(message_bytes, 2e4), one_way_s(message_bytes, 8e4)]
    arrived_s = [trace.time_of("process", phone) for phone in (2, 3)]
    assert arrived_s == pytest.approx(expected_s, rel=1e-6)


# Measured on Linux: a buffer of 212 992 B holds 166 datagrams of up to 640 B, 92 of up to 1431 B.
@pytest.mark.parametrize(("payload_bytes", "held"), [(100, 166), (600, 92)])
def test_a_stalled_receiver_holds_what_its_socket_buffer_holds(payload_bytes, held):
    plan = trade()
    plans.cost(plan, "decode", wait_s=1e6)
    for number in range(200):
        plans.arrive(plan, number * 1e-3, 0, 1, payload_bytes)
    trace = plans.run(plan)
    reading = 1
    assert trace.of("send").time_s.size == 200
    assert trace.of("drop").reason_names() == ["buffer_full"] * (200 - reading - held)
    assert set(trace.of("drop").node) == {1}
