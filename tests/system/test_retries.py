"""Proposals that are sent again: each has one fate whatever goes off, and repeats are counted."""

import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pocketsim.sim.run import runner
from support import engine_plans as plans
from support.recount import check, recount

pytestmark = pytest.mark.engine

MODES = list(plans.TRANSPORTS)
RETRIES = {
    "attempts": 8,
    "first_wait_s": 1.0,
    "factor": 2.0,
    "longest_wait_s": 20.0,
    "jitter": 0.5,
    "deadline_s": 100.0,
    "while_off": "kept",
}
ASKED = [f"protocol.retries.{key}" for key in ("attempts=8", "first_wait=2s", "deadline=10min")]


def busy_town(mode, while_off="kept", **changes):
    plan = plans.busy_town(22, 60, mode, quiet_s=400.0, duration_s=460.0)
    plan["protocol"]["retries"] = {**RETRIES, "while_off": while_off, **changes}
    return plan


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_left_when_all_had_time_to_end(mode):
    once = recount(plans.run(busy_town(mode) | {"protocol": plans.plan(2)["protocol"]}))
    stored = {}
    for while_off in ("kept", "lost"):
        trace = plans.run(busy_town(mode, while_off))
        check(trace, 460.0, nothing_left=True)
        sent, stored[while_off], _ = recount(trace)
        assert sent == once[0]
        assert trace.counters["proposals_repeated"] > len(sent) / 10
    assert "sender_off" in trace.of("lose").reason_names()
    assert len(stored["kept"]) > max(len(stored["lost"]), len(once[1]))


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "eva"])
def test_phones_that_stay_long_enough_trade_all_they_proposed(mode):
    trace = plans.run(busy_town(mode))
    sent, stored, _ = recount(trace)
    # Of nearly everybody: some wait for a phone that is off for long.
    assert len(stored) > 0.99 * len(sent)


def test_the_ledger_says_what_rows_say():
    plan = busy_town("udp", attempts=2)
    trace = plans.run(plan)
    sent, stored, explained = recount(trace)
    assert trace.counters["lose"] == len(explained - stored) == len(sent - stored)
    assert len(sent - stored) > 10


@st.composite
def small_plans(draw):
    """A few phones that come and go on bad links, and send again; then a long quiet time."""
    mode, phones = draw(st.sampled_from(MODES)), draw(st.integers(2, 6))
    rate_per_s = draw(st.sampled_from([0.3, 2.0, 10.0]))
    plan = plans.busy_town(draw(st.integers(0, 1000)), phones, mode, 3900.0, 4000.0, rate_per_s)
    slower = draw(st.sampled_from([1, 10, 100]))
    plan["profiles"][0]["cpu_s"] = [slower * cpu_s for cpu_s in plan["profiles"][0]["cpu_s"]]
    for access in plan["access"]:
        access["reorders"] = draw(st.booleans())
        access["loss_ratio"] = draw(st.sampled_from([0.0, 0.03, 0.3]))
    plan["transport"]["options"] |= {
        "connect_timeout_s": draw(st.sampled_from([0.5, 30.0])),
        "answer_on_same_connection": draw(st.booleans()),
    }
    plan["protocol"]["retries"] = {
        "attempts": draw(st.integers(1, 10)),
        "first_wait_s": draw(st.sampled_from([0.01, 0.2, 5.0])),
        "factor": draw(st.sampled_from([1.0, 2.0])),
        "longest_wait_s": draw(st.sampled_from([0.5, 60.0])),
        "jitter": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "deadline_s": draw(st.sampled_from([1.0, 30.0, 600.0])),
        "while_off": draw(st.sampled_from(["kept", "lost"])),
    }
    return plan


@settings(
    derandomize=True,
    max_examples=60,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(plan=small_plans())
def test_no_small_plan_loses_a_proposal_in_silence_or_twice(plan):
    trace = plans.run(plan)
    check(trace, plan["duration_s"], nothing_left=True)
    assert set(Counter(trace.of("lose").message.tolist()).values()) <= {1}
    lost, stored = (set(trace.of(kind).message.tolist()) for kind in ("lose", "store"))
    assert not lost & stored
    assert trace.counters.get("proposals_repeated", 0) <= trace.counters.get("send", 0) * (
        plan["protocol"]["retries"]["attempts"] - 1
    )


@pytest.fixture
def town(root):
    return root / "tests/support/1k_churn.toml"


def test_the_same_seed_gives_the_same_bytes_and_the_ledger_the_same_fates(town, tmp_path):
    small = ["devices[0].count=60", "devices[1].count=40"]
    churn = ['churn.gap={distribution="lognormal",median="15s",sigma=0.8}']
    asked = [*small, *churn, *ASKED, "protocol.retries.attempts=2"]
    (one,) = runner.run(town, asked, tmp_path / "one")
    (other,) = runner.run(town, asked, tmp_path / "other")
    for name in ("events.parquet", "metrics.json", "resolved.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    found = json.loads((one / "metrics.json").read_text())
    assert found["metrics"]["repeat_count"]["value"] > 0
    (added_up,) = runner.run(town, [*asked, "output.trace=metrics"], tmp_path / "ledger")
    ledger = json.loads((added_up / "metrics.json").read_text())
    assert ledger["counts"] == found["counts"]
    assert sum(found["counts"]["lost"].values()) > 0
    (once,) = runner.run(town, [*small, *churn], tmp_path / "once")
    before = json.loads((once / "metrics.json").read_text())["counts"]
    assert before["sent"] == found["counts"]["sent"]
    assert before["stored"] < found["counts"]["stored"]


def test_a_mistake_ends_with_2_and_writes_nothing(cli, town, tmp_path):
    done = cli("run", town, "--set", ASKED[0], "--out", "runs")
    assert done.returncode == 2
    assert "protocol.retries.first_wait: is required" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
