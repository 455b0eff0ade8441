"""No transaction vanishes and none happens at a phone that is off, over every transport."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pocketsim.sim.devices.options import UNUSED
from pocketsim.sim.run import runner
from pocketsim.sim.trace import read
from support import engine_plans as plans
from support.recount import check, recount

pytestmark = pytest.mark.engine

MODES = list(plans.TRANSPORTS)
FLAGS = [name for name, unused in UNUSED.items() if unused is False]


@pytest.mark.parametrize("mode", MODES)
def test_every_transaction_has_a_fate(mode):
    plan = plans.busy_town(21, 60, mode)
    trace = plans.run(plan)
    sent, stored, explained = recount(trace)
    assert len(sent) > 500
    assert len(stored) > 0.2 * len(sent)
    assert len((sent & explained) - stored) > 0.1 * len(sent)
    check(trace, plan["duration_s"], nothing_left=False)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_left_when_all_had_time_to_end(mode):
    plan = plans.busy_town(22, 60, mode, quiet_s=200.0, duration_s=260.0)
    trace = plans.run(plan)
    check(trace, plan["duration_s"], nothing_left=True)
    counts = Counter(trace.counters)
    ended = counts["datagrams_delivered"] + counts["datagrams_dropped"]
    # Kept connections are kept alive to the end, so a few of theirs may be under way then.
    assert 0 <= counts["datagrams_sent"] - ended <= (60 if mode == "quic_keep" else 0)
    assert counts["datagrams_unread"] <= counts["datagrams_delivered"]
    # Each that has a row was dropped, left unread, or cut off before it was sent.
    explained = sum(counts[f"datagrams_{fate}"] for fate in ("dropped", "unread", "cut_off"))
    assert trace.of("drop").time_s.size <= explained


@pytest.mark.parametrize("mode", MODES)
def test_no_transaction_vanishes_at_a_nat_or_in_the_relay(mode):
    plan = plans.busy_town(22, 60, mode, quiet_s=200.0, duration_s=260.0)
    timers = {"unreplied_timeout_s": 5.0, "replied_timeout_s": 10.0, "lifetime_s": 57.0}
    timers |= {"inbound_refresh": False, "client_isolation": True}
    laws = ("setup_median_s", "setup_sigma", "failure_median_s", "failure_sigma", "path_trust_s")
    punching = {"success": 0.7, **dict(zip(laws, (2.0, 0.661, 5.0, 0.68, 6.5), strict=True))}
    classes = [number % 6 for number in range(60)]
    plan["nats"] = {"classes": classes, "access": [timers] * 2, "hole_punching": punching}
    limits = {"up_bytes_per_s": 1e6, "down_bytes_per_s": 1e6, "queue_packets": 2}
    plan["relay"] = {**limits, "client_rate_bytes_per_s": 1e4, "client_burst_bytes": 2000}
    trace = plans.run(plan)
    check(trace, plan["duration_s"], nothing_left=True)
    counts = Counter(trace.counters)
    assert counts["unreachable"] > 100
    assert (counts["relay_full"] > 0) == mode.startswith("quic")
    ended = counts["datagrams_delivered"] + counts["datagrams_dropped"]
    assert 0 <= counts["datagrams_sent"] - ended <= (60 if mode == "quic_keep" else 0)


@pytest.mark.parametrize("mode", MODES)
def test_datagrams_end_soon_after_all_phones_went_off(mode):
    """Everybody goes off for good half-way: nothing can arrive, so nothing is in flight."""
    plan = plans.busy_town(23, 60, mode, rate_per_s=2.0)
    plan["churn"] = {"time_s": [], "phone": [], "on": []}
    for phone in range(60):
        plans.turn(plan, 30.0, phone, on=False)
    trace = plans.run(plan)
    assert trace.of("send").time_s.max() < 30.0
    check(trace, plan["duration_s"], nothing_left=True)
    assert trace.time_s.max() < 30.0 + 5.0, "the last datagrams end soon"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("off", [0, 1])
def test_a_transaction_can_be_cut_off_at_any_point(mode, off):
    """One trade whose end goes off, earlier and earlier, down to the time before it was made."""
    plan = plans.busy_town(0, 2, mode, rate_per_s=0.0001, duration_s=300.0)
    plan["churn"] = plans.plan(2)["churn"]
    plan["access"] = [plans.access(latency_s=0.003)] * 2
    plan["profiles"][0]["cpu_s"] = [20 * cpu_s for cpu_s in plan["profiles"][0]["cpu_s"]]
    plan["workload"] = plans.plan(2)["workload"]
    plans.arrive(plan, 1.0, 0, 1)
    whole = plans.run(plan)
    end_s = whole.time_of("store") - 1.0
    fates_seen = Counter()
    for share in np.linspace(0.0, 1.02, 18):
        plan["churn"] = {"time_s": [], "phone": [], "on": []}
        plans.turn(plan, 1.0 + share * end_s, off, on=False)
        plans.turn(plan, 1.0 + share * end_s + 0.5, off, on=True)
        trace = plans.run(plan)
        check(trace, plan["duration_s"], nothing_left=True)
        fates_seen["stored" if trace.of("store").time_s.size else "lost"] += 1
    assert fates_seen["lost"] > 5
    assert fates_seen["stored"] > 0


@st.composite
def small_plans(draw):
    """A few slow phones that come and go on bad links, then a long quiet time."""
    mode, phones = draw(st.sampled_from(MODES)), draw(st.integers(2, 6))
    rate_per_s = draw(st.sampled_from([0.3, 2.0, 10.0]))
    seed = draw(st.integers(0, 1000))
    plan = plans.busy_town(seed, phones, mode, 3900.0, 4000.0, rate_per_s)
    slower = draw(st.sampled_from([1, 10, 100]))
    plan["profiles"][0]["cpu_s"] = [slower * cpu_s for cpu_s in plan["profiles"][0]["cpu_s"]]
    plan["profiles"][0]["cores"] = draw(st.sampled_from([1, 2, 8]))
    for access in plan["access"]:
        access["reorders"] = draw(st.booleans())
        access["loss_ratio"] = draw(st.sampled_from([0.0, 0.03, 0.3]))
    plan["fidelity"] = draw(st.sampled_from(["hybrid", "hybrid", "flow"]))
    if plan["fidelity"] == "hybrid":
        _narrow(draw, plan)
    choices = {
        **{name: [True, False] for name in FLAGS},
        "keep_alive_s": [0.0, 1.0],
        "poll_interval_s": [0.0, 0.01, 1.0],
        "connect_timeout_s": [0.5, 30.0],
        "idle_timeout_s": [2.0, 30.0],
        "socket_buffer_bytes": [0, 5000],
    }
    plan["transport"]["options"] |= {
        key: draw(st.sampled_from(values)) for key, values in choices.items()
    }
    return plan


def _narrow(draw, plan):
    """Make radios so slow, queues so short and sites so narrow that much does not get through."""
    for access in plan["access"]:
        slower = draw(st.sampled_from([1.0, 1e-2, 1e-3]))
        for way in ("up", "down"):
            access[f"{way}_bytes_per_s"] *= slower
            access[f"{way}_queue_bytes"] = draw(st.sampled_from([100.0, 2e3, 5e4]))
    narrower = draw(st.sampled_from([0.0, 1e-3, 1.0]))
    capacities = plan["sites"]["capacity_bytes_per_s"]
    plan["sites"] = {"capacity_bytes_per_s": [narrower * capacity for capacity in capacities]}


@settings(
    derandomize=True,
    max_examples=60,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],  # shrinking a plan of thousands of rows helps nobody
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(plan=small_plans())
def test_no_small_plan_loses_a_transaction_in_silence(plan):
    check(plans.run(plan), plan["duration_s"], nothing_left=True)


def test_a_thousand_phones_with_churn(root, tmp_path):
    """The scenario as it stands, over every transport, through the runner and its files."""
    every = Path(__file__).parents[1] / "support/every_transport.toml"
    overrides = [f"implementation={every}", f"transport.mode={json.dumps(MODES)}"]
    scenario = root / "tests/support/1k_churn.toml"
    directories = runner.run(scenario, overrides, tmp_path / "runs")
    assert len(directories) == len(MODES)
    for directory in directories:
        trace = plans.from_table(read(directory / "events.parquet"))
        assert trace.of("send").time_s.size > 5000
        assert trace.of("phone_off").time_s.size > 500
        counts = json.loads((directory / "metrics.json").read_text())["counts"]
        check(trace, 600.0, nothing_left=False, counts=counts)
