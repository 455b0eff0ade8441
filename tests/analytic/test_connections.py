"""QUIC's round trips and the app's polling against closed forms, on links of any width."""

import numpy as np
import pytest

from support import engine_plans as plans

pytestmark = pytest.mark.engine

ONE_WAY_S = 2 * plans.LATENCY_S
RTT_S = 2 * ONE_WAY_S


def conversation(arrivals_s=(1.0, 2.0), mode="quic_keep", **options):
    plan = plans.plan(2, mode, backbone={"latency_s": 0.0, "relay_latency_s": 0.007})
    plan["transport"]["options"] |= options
    for time_s in arrivals_s:
        plans.arrive(plan, time_s, 0, 1)
    return plan


def arrival_delays_s(plan):
    trace = plans.run(plan)
    return trace.of("process", 1).time_s - trace.of("send", 0).time_s


def test_the_first_message_takes_a_handshake_more_than_the_next():
    delays_s = arrival_delays_s(conversation())
    assert delays_s == pytest.approx([1.5 * RTT_S, 0.5 * RTT_S], rel=1e-6)


def test_every_message_of_a_reconnecting_app_takes_the_handshake():
    delays_s = arrival_delays_s(conversation(mode="quic_reconnect"))
    assert delays_s == pytest.approx([1.5 * RTT_S] * 2, rel=1e-6)


# What a message waits for, by whose work it is: (first message, later ones of a kept connection).
ON_THE_WAY = {
    "task_spawn": (2, 1),  # the dialler's task and, for the first, the accepting one's
    "discovery": (1, 0),
    "handshake_start": (1, 0),
    "handshake_respond": (1, 0),
    "handshake_finish": (1, 0),
    "handshake_confirm": (1, 0),
    "endpoint_setup": (0, 0),
    "endpoint_close": (0, 0),
    "decode": (1, 1),
}


@pytest.mark.parametrize("operation", ON_THE_WAY)
def test_a_handshake_costs_what_its_operations_cost(operation):
    plan = conversation()
    plans.cost(plan, operation, cpu_s=0.003)
    rounds_s = np.array([1.5 * RTT_S, 0.5 * RTT_S])
    expected_s = rounds_s + 0.003 * np.array(ON_THE_WAY[operation])
    assert arrival_delays_s(plan) == pytest.approx(expected_s, rel=1e-6)


@pytest.mark.parametrize(("after", "times"), [(None, 1), ({"rest_s": [0.1], "ratio": [2.0]}, 2)])
def test_a_datagram_wakes_the_tasks_of_quic(after, times):
    plan = conversation()
    plans.cost(plan, "quic_wake", cpu_s=0.003)
    plan["profiles"][0]["quic_wake_after"] = after or {"rest_s": [], "ratio": []}
    # Of a handshake either hello, and what comes with the message; then the message alone.
    expected_s = np.array([1.5 * RTT_S, 0.5 * RTT_S]) + 0.003 * times * np.array([3, 1])
    assert arrival_delays_s(plan) == pytest.approx(expected_s, rel=1e-6)


def test_no_datagram_of_udp_wakes_quic():
    plan = conversation(mode="udp")
    plans.cost(plan, "quic_wake", cpu_s=0.003)
    assert arrival_delays_s(plan) == pytest.approx([0.5 * RTT_S] * 2, rel=1e-6)


def test_tasks_that_run_are_not_woken_for_another_datagram():
    # The last comes when either of two tasks would be done if it had the core alone.
    plan = conversation((1.0, 2.0, 2.0, 2.75))
    plans.cost(plan, "quic_wake", cpu_s=0.003)
    plans.cost(plan, "decode", cpu_s=0.5)
    # Of the phones that say how long they have rested.
    plan["profiles"][0]["quic_wake_after"] = {"rest_s": [0.1], "ratio": [1.0]}
    *_, last_s = arrival_delays_s(plan)
    assert last_s == pytest.approx(0.5 * RTT_S + 0.003 + 3 * 0.5 - 0.75, rel=1e-6)


def test_what_tasks_at_work_take_for_another_datagram_is_told_without_a_rest():
    # One message wakes the tasks, another comes meanwhile and has waited when they turn to it.
    plan = conversation((1.0, 2.0, 2.001))
    plans.cost(plan, "quic_wake", cpu_s=0.003)
    plan["profiles"][0]["quic_wake_after"] = {"rest_s": [0.0, 0.1], "ratio": [4.0, 1.0]}
    *_, first_s, second_s = arrival_delays_s(plan)
    assert first_s == pytest.approx(0.5 * RTT_S + 0.003, rel=1e-6)
    assert second_s == pytest.approx(0.5 * RTT_S + 0.002 + 4.0 * 0.003, rel=1e-6)


def test_a_reconnecting_app_makes_and_closes_an_endpoint_for_every_message():
    plan = conversation(mode="quic_reconnect")
    plans.cost(plan, "endpoint_setup", wait_s=0.25)
    assert arrival_delays_s(plan) == pytest.approx([1.5 * RTT_S + 0.25] * 2, rel=1e-6)


def test_the_relay_adds_its_detour_until_the_direct_path_answers():
    delays_s = arrival_delays_s(conversation(relay_first=True))
    # Both hellos go by the relay; the ping beside the first is back before the second.
    detour_s = 2 * 0.007
    assert delays_s == pytest.approx([1.5 * RTT_S + 2 * detour_s, 0.5 * RTT_S], rel=1e-6)


def test_the_answer_dials_back_unless_it_goes_on_the_same_connection():
    def round_trips_s(**options):
        trace = plans.run(conversation(**options))
        return trace.of("store", 0).time_s - trace.of("send", 0).time_s

    assert round_trips_s() == pytest.approx([3 * RTT_S, RTT_S], rel=1e-6)
    answered_s = round_trips_s(answer_on_same_connection=True)
    assert answered_s == pytest.approx([2 * RTT_S, RTT_S], rel=1e-6)


def test_polling_app_takes_a_message_at_its_next_poll():
    interval_s = 0.25
    plan = conversation(1.0 + 0.37 * np.arange(40), poll_interval_s=interval_s)
    trace = plans.run(plan)
    arrived_s = trace.of("send", 0).time_s + 0.5 * RTT_S
    arrived_s[0] += RTT_S
    seen_s = trace.of("process", 1).time_s
    waits_s = seen_s - arrived_s
    assert waits_s.min() > -1e-9
    assert waits_s.max() < interval_s
    # All looks have one phase, which is the phone's own.
    phases_s = np.mod(seen_s, interval_s)
    assert phases_s == pytest.approx(np.full(40, phases_s[0]), abs=1e-6)
    assert waits_s.std() > 0.2 * interval_s  # a uniform wait has 0.29


def test_phones_poll_at_different_phases():
    phones = 12
    plan = plans.plan(phones + 1, "quic_keep")
    plan["transport"]["options"]["poll_interval_s"] = 0.25
    for peer in range(1, phones + 1):
        plans.arrive(plan, 1.0, 0, peer)
    seen_s = plans.run(plan).of("process").time_s
    assert len(set(seen_s.round(6).tolist())) == phones


def test_a_lost_peer_is_given_up_after_the_idle_timeout():
    plan = conversation(idle_timeout_s=7.0, connect_timeout_s=40.0, arrivals_s=(1.0, 2.0))
    plans.turn(plan, 1.5, 1, on=False)
    trace = plans.run(plan)
    assert trace.of("lose").reason_names() == ["idle_timeout"]
    # From the first packet that asked for an answer in vain: the second message.
    assert trace.time_of("lose") == pytest.approx(2.0 + 7.0, rel=1e-9)


def test_a_peer_that_never_answers_is_given_up_after_the_connect_timeout():
    plan = conversation(connect_timeout_s=7.0, arrivals_s=(1.0,))
    plans.turn(plan, 0.5, 1, on=False)
    plans.cost(plan, "discovery", wait_s=0.5)
    trace = plans.run(plan)
    assert trace.of("lose").reason_names() == ["connect_timeout"]
    assert trace.time_of("lose") == pytest.approx(8.0, rel=1e-9)


# A transfer of k full blocks takes the request, k blocks and a short one, each acknowledged.
@pytest.mark.parametrize("payload_bytes", [100, 700, 1300])
def test_tftp_takes_a_round_trip_per_block_and_one_for_the_request(payload_bytes):
    plan = plans.plan(2, "tftp")
    plans.arrive(plan, 1.0, 0, 1, payload_bytes)
    trace = plans.run(plan)
    blocks = int(trace.of("send").size_bytes[0]) // 512 + 1
    delay_s = trace.time_of("process") - trace.time_of("send")
    assert delay_s == pytest.approx((blocks + 0.5) * RTT_S, rel=1e-6)
