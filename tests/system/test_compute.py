"""Phones that only compute, through the engine: threads share cores, and every task is counted."""

import json

import numpy as np
import pytest

from pocketsim.sim.run import runner
from pocketsim.sim.scenario import tasks
from support import engine_plans as plans

pytestmark = pytest.mark.engine

PACKET_TASKS = ("verify_packet", "sign_packet", "handle_packet")
SIGN_S, VERIFY_S = 0.010, 0.020
ONLINE = {"task": "verify_token", "threads": 1, "count": 5, "payload_bytes": 147, "tokens": 1}
ONLINE["recipients"] = 3


def compute(cores=2, phones=1, **options):
    plan = plans.plan(phones, cores=cores, protocol="compute")
    plan["protocol"]["compute"] = {**ONLINE, **options}
    plan["transport"]["mode"] = "none"
    plans.cost(plan, "sign", SIGN_S)
    plans.cost(plan, "verify", VERIFY_S)
    for phone in range(phones):
        plans.arrive(plan, 1.0, phone, phone)
    return plan


def ends_s(plan):
    return plans.run(plan).of("compute").time_s - 1.0


def test_a_thread_performs_its_task_in_turn():
    assert ends_s(compute()) == pytest.approx([0.06 * (done + 1) for done in range(5)])


@pytest.mark.parametrize(("recipients", "verifications"), [(1, 1), (2, 2), (11, 11)])
def test_a_token_costs_a_verification_for_each_recipient(recipients, verifications):
    assert ends_s(compute(recipients=recipients, count=1)) == [
        pytest.approx(verifications * VERIFY_S)
    ]


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 8])
def test_more_threads_than_cores_gain_nothing(threads):
    last_s = ends_s(compute(cores=2, threads=threads, count=4, task="sign"))[-1]
    assert last_s == pytest.approx(4 * SIGN_S * max(1.0, threads / 2))


@pytest.mark.parametrize("task", [*("sign", "verify", "sign_token", "verify_token"), *PACKET_TASKS])
def test_a_row_has_the_bytes_that_the_scenario_is_checked_for(task):
    options = {"recipients": 3, "tokens": 100}
    asked = tasks.payload_bytes(task, 1200, options["recipients"])
    rows = plans.run(compute(task=task, count=1, payload_bytes=asked, **options)).of("compute")
    assert rows.size_bytes.tolist() == [tasks.traced_bytes(task, 1200, **options)]


def test_a_task_of_many_packets_ends_when_all_of_them_are_handled():
    """It is performed in pieces, one after the other: 85,000 packets, 64 threads at once."""
    options = {"task": "handle_packet", "tokens": 100, "payload_bytes": 1, "count": 2}
    plan = compute(cores=64, threads=64, **options)
    plans.cost(plan, "udp_receive", 1e-5)
    ends = ends_s(plan)
    assert ends == pytest.approx(np.repeat([0.563, 1.126], 64))


def test_phones_do_not_share_cores():
    trace = plans.run(compute(cores=1, phones=3, count=2))
    assert trace.of("compute").time_s - 1.0 == pytest.approx(np.repeat([0.06, 0.12], 3))
    assert trace.counters == {"compute": 6}


def test_core_seconds_are_told_by_operation():
    trace = plans.run(compute(threads=2))
    assert trace.cpu_s == {"verify": pytest.approx(2 * 5 * 3 * VERIFY_S)}
    plan = plans.plan(2)
    plans.cost(plan, "store", 0.25)
    plans.arrive(plan, 1.0, 0, 1)
    trade = plans.run(plan)
    assert trade.cpu_s == {"store": pytest.approx(0.25 * 2)}  # at either end


def test_phone_that_goes_off_computes_no_more_tasks():
    plan = compute(count=100)
    plans.turn(plan, 1.1, 0, on=False)
    plans.turn(plan, 2.0, 0, on=True)
    trace = plans.run(plan)
    assert trace.of("compute").time_s == pytest.approx([1.06])


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"task": "mint"}, "unknown task"), (None, "compute has no options")],
)
def test_a_plan_that_makes_no_sense_is_refused(options, reason):
    plan = compute(**(options or {}))
    if options is None:
        plan["protocol"]["compute"] = None
    with pytest.raises(AssertionError, match=reason):
        plans.run(plan)


def metrics_of(scenario, out, *overrides):
    directories = runner.run(scenario, ["workload.count=50", *overrides], out, jobs=2)
    return [
        json.loads((directory / "metrics.json").read_text(encoding="utf-8"))
        for directory in directories
    ]


def test_throughput_stops_growing_at_the_cores_of_the_laptop(root, tmp_path):
    scenario = root / "pocketsim/scenarios/tokens/sign_and_verify.toml"
    runs = metrics_of(scenario, tmp_path, "workload.threads=[1, 4, 8]", "workload.task=sign_token")
    one, four, eight = (run["metrics"]["task_rate_per_s"]["mean"] for run in runs)
    assert four == pytest.approx(4 * one, rel=0.1)
    assert eight == pytest.approx(four, rel=0.1)
    assert runs[0]["metrics"]["data_rate_mb_per_s"]["mean"] == pytest.approx(one * 147e-6)
    spent_s = runs[0]["cpu_s"]["sign"]["mean"]
    assert spent_s * 1e6 / 50 == pytest.approx(runs[0]["metrics"]["task_us_mean"]["mean"])


def test_every_task_of_an_authority_runs(root, tmp_path):
    scenario = root / "pocketsim/scenarios/tokens/authority_cpu.toml"
    runs = metrics_of(scenario, tmp_path, "workload.tokens=10", "workload.count=2")
    took_us = {
        run["rung"]["axes"]["workload.task"]: run["metrics"]["task_us_mean"]["mean"] for run in runs
    }
    assert len(took_us) == 5
    assert took_us["verify_token"] > took_us["verify_packet"] > took_us["sign_packet"] > 0
    spent = {name for run in runs for name in run["cpu_s"]}
    sockets = {"udp_send", "udp_receive", "overlay_send", "overlay_receive"}
    assert spent == {"sign", "verify", *sockets}
