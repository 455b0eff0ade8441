"""Work on a phone against closed forms: a queue with one server, shared cores, threads, weights."""

import numpy as np
import pytest

from pocketsim.sim.base import streams
from support import engine_plans as plans

pytestmark = pytest.mark.engine

ROUND_TRIP_S = 4 * plans.LATENCY_S
FLIGHT_S = 2 * plans.LATENCY_S


def poisson_queue(customers, load, processes=1):
    """Phones that spend exponential time, 1 s in the mean, on Poisson arrivals at any of them."""
    plan = plans.plan(processes + 1)
    draw = streams.stream(20261121, "queue")
    arrivals_s = np.cumsum(draw.exponential(1 / load, customers))
    # Service is a count of bytes, so its steps are 0.0001 s.
    services = np.round(draw.exponential(1e4, customers)).astype(int)
    plans.cost(plan, "command", per_byte_s=1e-4)
    plans.turn(plan, 0.0, processes, on=False)  # nobody is there: datagrams end where they start
    plan["workload"] |= {
        "time_s": arrivals_s.tolist(),
        "from_phone": draw.integers(0, processes, customers).tolist(),
        "to_phone": [processes] * customers,
        "payload_bytes": services.tolist(),
    }
    plan["duration_s"] = float(arrivals_s[-1]) + 1000.0  # more than any queue lasts
    return plan, arrivals_s, services * 1e-4


def test_a_lane_is_the_textbooks_queue():
    load, customers = 0.5, 300_000
    plan, arrivals_s, services_s = poisson_queue(customers, load)
    left_s = plans.run(plan).of("send").time_s
    assert left_s.size == customers
    # Of M/M/1 at this load the mean over n sojourns has a variance of some 33/n (Daley 1968).
    sojourn_s = (left_s - arrivals_s).mean()
    assert sojourn_s == pytest.approx(1 / (1 - load), rel=0.02)
    # Busy is the time with somebody in the system: from an arrival at an empty one to its end.
    begins = np.concatenate(([True], arrivals_s[1:] >= left_s[:-1]))
    ends = np.concatenate((begins[1:], [True]))
    busy_s = (left_s[ends] - arrivals_s[begins]).sum()
    assert busy_s / left_s[-1] == pytest.approx(load, rel=0.02)
    # And each single customer: the recursion of Lindley.
    before_s = np.concatenate(([0.0], left_s[:-1]))
    expected_s = np.maximum(arrivals_s, before_s) + services_s
    np.testing.assert_allclose(left_s, expected_s, rtol=1e-9)


@pytest.mark.parametrize(("cores_of", "load"), [([], 0.25), ([0, 0, 2], 0.5)])
def test_two_processes_of_a_computer_are_one_queue(cores_of, load):
    """Who has what left is forgotten, so M/M/1 counts both, however the core is divided."""
    plan, arrivals_s, _ = poisson_queue(200_000, 0.5, processes=2)
    plan["phones"]["cores_of"] = cores_of
    left_s = plans.run(plan).of("send").time_s
    assert left_s.size == arrivals_s.size
    sojourn_s = (left_s.sum() - arrivals_s.sum()) / left_s.size
    assert sojourn_s == pytest.approx(1 / (1 - load), rel=0.03)


def dial_all(peers, cores, **costs):
    """The times at which a phone is connected to `peers` others that it dialled at once."""
    plan = plans.plan(peers + 1, "quic_keep", cores=cores)
    for operation, cost in costs.items():
        plans.cost(plan, operation, **cost)
    for peer in range(1, peers + 1):
        plans.arrive(plan, 0.0, 0, peer)
    return plans.run(plan).of("connect", 0).time_s


@pytest.mark.parametrize(("pieces", "cores"), [(1, 1), (3, 8), (8, 8), (9, 8), (40, 8), (5, 1)])
def test_pieces_of_work_share_the_cores_evenly(pieces, cores):
    work_s = 0.3
    connected_s = dial_all(pieces, cores, handshake_start={"cpu_s": work_s})
    expected_s = work_s * max(1, pieces / cores) + ROUND_TRIP_S
    assert connected_s == pytest.approx([expected_s] * pieces, rel=1e-6)


@pytest.mark.parametrize(("threads", "cores"), [(1, 8), (4, 8), (8, 8), (4, 2), (4, 1)])
def test_an_operation_on_several_threads_takes_several_cores(threads, cores):
    (connected_s,) = dial_all(1, cores, handshake_start={"cpu_s": 0.3, "threads": threads})
    expected_s = 0.3 / min(threads, cores) + ROUND_TRIP_S
    assert connected_s == pytest.approx(expected_s, rel=1e-6)


def test_waiting_takes_no_core():
    connected_s = dial_all(40, 1, handshake_start={"wait_s": 0.3})
    assert connected_s == pytest.approx([0.3 + ROUND_TRIP_S] * 40, rel=1e-6)


def test_a_lane_serves_one_after_the_other_on_however_many_cores():
    plan = plans.plan(4, cores=8)
    plans.cost(plan, "command", cpu_s=0.25)
    for peer in (1, 2, 3):
        plans.arrive(plan, 1.0, 0, peer)
    trace = plans.run(plan)
    assert trace.of("send").time_s == pytest.approx([1.25, 1.5, 1.75], rel=1e-9)
    assert trace.of("send").peer.tolist() == [1, 2, 3]


def test_work_of_different_phones_does_not_meet():
    plan = plans.plan(8)
    plans.cost(plan, "command", cpu_s=0.25)
    for phone in range(8):
        plans.arrive(plan, 0.0, phone, (phone + 1) % 8)
    assert plans.run(plan).of("send").time_s == pytest.approx([0.25] * 8, rel=1e-9)


def test_the_apps_threads_keep_a_core_against_any_number_of_tasks():
    tasks = 20
    plan = plans.plan(tasks + 2, "quic_keep")
    plans.cost(plan, "handshake_start", cpu_s=1.0)
    for peer in range(1, tasks + 1):
        plans.arrive(plan, 0.0, 0, peer)
    plans.cost(plan, "command", per_byte_s=1e-6)
    plans.arrive(plan, 5.0, 0, tasks + 1, 100_000)
    trace = plans.run(plan)
    commanded_s = trace.of("send", 0).time_s[-1] - 5.0
    assert 0.1 < commanded_s == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize("tasks_of", [0, 2])
def test_threads_of_all_processes_of_a_computer_come_before_their_tasks(tasks_of):
    plan = plans.plan(6, "quic_keep")
    plan["phones"]["cores_of"] = [0, 1, 0, 3, 4, 5]
    plans.cost(plan, "handshake_start", cpu_s=100.0)
    plans.cost(plan, "command", per_byte_s=1e-6)
    plans.arrive(plan, 0.0, tasks_of, 1, 0)
    for process, peer in ((0, 3), (2, 4)):
        plans.arrive(plan, 5.0, process, peer, 1_000_000)
    trace = plans.run(plan)
    # Two seconds of threads on the only core, half of it for each.
    for process in (0, 2):
        assert trace.of("send", process).time_s[-1] == pytest.approx(7.0, rel=1e-3)


def test_tasks_wait_for_what_the_apps_threads_take():
    plan = plans.plan(2, "quic_keep")
    plans.cost(plan, "handshake_start", cpu_s=1.0)
    plans.arrive(plan, 0.0, 0, 1, 0)
    plans.cost(plan, "command", per_byte_s=1e-6)
    plans.arrive(plan, 0.5, 0, 1, 500_000)  # half a second of the only core
    connected_s = plans.run(plan).time_of("connect", 0)
    assert connected_s == pytest.approx(1.5 + ROUND_TRIP_S, rel=1e-3)


def test_the_cost_of_bytes_is_per_byte():
    plan = plans.plan(2)
    plans.cost(plan, "decode", cpu_s=0.1, per_byte_s=1e-3, wait_s=0.05)
    plans.arrive(plan, 0.0, 0, 1)
    trace = plans.run(plan)
    expected_s = FLIGHT_S + 0.15 + 1e-3 * int(trace.of("send").size_bytes[0])
    assert trace.time_of("process") == pytest.approx(expected_s, rel=1e-9)
