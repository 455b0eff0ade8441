"""One plan, one result: whatever the process, the hash seed, the provider, or who else is there."""

import json

import pytest

from support import engine_plans as plans

pytestmark = pytest.mark.engine

MODES = list(plans.TRANSPORTS)


@pytest.mark.parametrize("mode", MODES)
def test_two_processes_give_the_same_bytes(mode):
    plan = plans.busy_town(11, 50, mode)
    one, other = (plans.run(plan, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert one.time_s.size > 500
    assert one.data == other.data
    assert one.counters == other.counters


@pytest.mark.parametrize("mode", MODES)
def test_contacts_and_outages_give_the_same_bytes_in_two_processes(mode):
    plan = plans.busy_town(11, 30, mode)
    work = plan["workload"]
    rows = list(zip(work["time_s"], work["from_phone"], work["to_phone"], strict=True))
    for number, (time_s, one, other) in enumerate(rows[::2]):
        link = {"rate_bytes_per_s": 59e3, "latency_s": 0.03, "setup_s": 0.2, "loss_ratio": 0.02}
        plans.meet(plan, time_s, 1.0 + number % 7, other, one, **link)
    plan["outages"] = [{"access": 1, "start_s": 20.0, "end_s": 40.0}]
    one, other = (plans.run(plan, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert one.counters["contact_datagrams"] > 100
    assert one.counters["access_bytes"] > 0
    assert one.data == other.data
    assert one.counters == other.counters


@pytest.mark.parametrize("mode", MODES)
def test_energy_is_the_same_in_two_processes_and_changes_nothing_else(mode):
    plan = plans.busy_town(11, 30, mode)
    # Where energy is accounted no connection rests.
    plan["transport"]["options"]["keep_alive_events"] = True
    radio = plans.radio(
        active_w=0.1, up_per_byte_j=1e-6, tail_power_w=1.1, tail_s=0.7, promotion_j=0.3
    )
    powers = {"core_w": 1.6, "access": [radio] * len(plan["access"]), "contact_w": []}
    priced = {**plan, "energy": powers}
    one, other = (plans.run(priced, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    spent_j = one.energy_j
    assert spent_j == other.energy_j
    assert {name for name, joules in spent_j.items() if joules > 0} == set(spent_j) - {"contact"}
    assert spent_j["cpu"] == pytest.approx(1.6 * sum(one.cpu_s.values()))
    plain = plans.run(plan)
    assert plain.energy_j == {}
    assert one.data == plain.data
    assert one.counters == plain.counters


@pytest.mark.parametrize("mode", MODES)
def test_another_seed_gives_another_run_of_the_same_plan(mode):
    plan = plans.busy_town(11, 20, mode)
    one, other = (plans.run({**plan, "seed": seed}) for seed in (1, 2))
    assert one.data != other.data
    # Arrivals and churn are the plan's: only what the engine draws differs.
    assert abs(one.counters["send"] - other.counters["send"]) < 0.02 * one.counters["send"]


@pytest.mark.parametrize("mode", MODES)
def test_counted_and_real_signatures_give_the_same_trace(mode):
    plan = plans.busy_town(12, 30, mode, rate_per_s=0.3)
    counted, real = (
        plans.run({**plan, "protocol": {**plan["protocol"], "crypto": crypto}})
        for crypto in ("counted", "real")
    )
    assert counted.counters["store"] > 50
    assert counted.data == real.data
    assert counted.counters == real.counters


def with_more_phones(plan, count):
    more = json.loads(json.dumps(plan))
    for column in more["phones"].values():
        column.extend(column[:1] * count)  # `cores_of` is empty
    for name in ("duplicate_dial_s", "connection_break_s"):
        more["transport"][name] += [float("inf")] * count
    return more


# Also of so many that what the next event needs is fetched ahead (FORESEEN_PHONES_MIN, driver.rs).
@pytest.mark.parametrize(("mode", "count"), [*((mode, 1) for mode in MODES), ("udp", 40_000)])
def test_phones_that_do_nothing_change_nothing(mode, count):
    plan = plans.busy_town(13, 30, mode)
    assert plans.run(plan).data == plans.run(with_more_phones(plan, count)).data


@pytest.mark.parametrize("mode", MODES)
def test_a_phone_that_trades_leaves_the_others_their_draws(mode):
    """On links that are not shared, what two other phones do takes the same times."""
    plan = plans.busy_town(14, 4, mode)
    plan["sites"] = {"capacity_bytes_per_s": [0.0] * 2}
    quiet = plans.plan(4)  # nobody goes off, so that enough is stored over every transport
    plan["workload"], plan["churn"] = quiet["workload"], quiet["churn"]
    for number in range(100):
        plans.arrive(plan, 0.5 * number, 0, 1)
    alone = plans.run(plan)
    for number in range(100):
        at = 2 * number + 1
        for name, value in zip(plan["workload"], (0.5 * number, 2, 3, 100), strict=False):
            plan["workload"][name].insert(at, value)
    beside = plans.run(plan)
    beside = beside.where(beside.node < 2)
    alone = alone.where(alone.node < 2)
    for name in ("time_s", "kind", "message", "peer", "size_bytes"):
        assert alone.columns[name].tobytes() == beside.columns[name].tobytes(), name
    # Every offer that is lost costs EVA 12 s and more, and the messages behind it wait.
    assert alone.of("store").time_s.size > (1 if mode == "eva" else 10)


def test_simultaneous_events_have_one_order():
    """A hundred phones propose at one moment to one; no memory address decides who is first."""
    plan = plans.plan(101)
    for phone in range(100, 0, -1):
        plans.arrive(plan, 1.0, phone, 0)
    plans.cost(plan, "verify", cpu_s=1e-3)
    runs = [plans.run(plan) for _ in range(3)]
    assert runs[0].of("process", 0).time_s.size == 100
    assert runs[0].data == runs[1].data == runs[2].data
