"""Threads that sleep until a time, and a core that several of them want, against closed forms."""

import numpy as np
import pytest

from support import engine_plans as plans

pytestmark = pytest.mark.engine

SLEEP_S, INTERRUPT_S, SIGN_S = 2e-3, 1e-3, 40e-3


def paced(interval_s, duration_s=1.0, *, eevdf=False):
    """Return a plan in which phone 0 proposes to phone 1 by the clock, over UDP."""
    plan = plans.plan(2, "udp")
    plan["workload"]["loops"] = [
        {
            "from_phone": 0,
            "to_phone": 1,
            "start_s": 1.0,
            "duration_s": duration_s,
            "interval_s": interval_s,
            "by_clock": True,
            "overshoot_s": 5e-3,
            "overshoot_sigma": 0.0,
            "payload_bytes": 100,
            "outstanding_max": 0,
            "outstanding_until_drained": False,
        }
    ]
    plan["profiles"][0]["eevdf"] = eevdf
    plans.cost(plan, "timed_sleep", cpu_s=SLEEP_S)
    plans.cost(plan, "timer_interrupt", cpu_s=INTERRUPT_S)
    return plan


@pytest.mark.parametrize("eevdf", [False, True])
def test_who_sleeps_until_a_proposal_computes_for_that_first(eevdf):
    plan = paced(0.1, eevdf=eevdf)
    plans.cost(plan, "sign", cpu_s=SIGN_S)
    trace = plans.run(plan)
    due_s = 1.0 + 0.1 * np.arange(10)
    late_s = np.r_[0.0, np.full(9, 5e-3 + INTERRUPT_S + SLEEP_S)]  # who begins has not slept
    expected_s = due_s + late_s + SIGN_S
    assert trace.of("send", 0).time_s == pytest.approx(expected_s, rel=1e-9)
    assert trace.cpu_s["timed_sleep"] == pytest.approx(9 * SLEEP_S)
    assert trace.cpu_s["timer_interrupt"] == pytest.approx(9 * INTERRUPT_S)


@pytest.mark.parametrize("eevdf", [False, True])
def test_who_is_late_does_not_sleep(eevdf):
    plan = paced(0.03, eevdf=eevdf)
    plans.cost(plan, "sign", cpu_s=SIGN_S)
    trace = plans.run(plan)
    sent_s = trace.of("send", 0).time_s
    assert np.diff(sent_s) == pytest.approx(np.full(len(sent_s) - 1, SIGN_S), rel=1e-9)
    assert trace.cpu_s.get("timed_sleep", 0.0) == 0.0


# Much less than a slice of the core: what takes longer is shared, whoever shares it.
PROPOSED_S, JUDGED_S = 0.2e-3, 0.45e-3
ANSWERED_S = 4 * plans.LATENCY_S + 2 * JUDGED_S + PROPOSED_S


def round_trips_s(*, eevdf):
    """Return two: the second proposal is due when a third of judging the first is left."""
    interval_s = PROPOSED_S + ANSWERED_S - JUDGED_S / 3
    plan = paced(interval_s, duration_s=1.5 * interval_s, eevdf=eevdf)
    plan["workload"]["loops"][0]["overshoot_s"] = 0.0
    for name in ("timed_sleep", "timer_interrupt"):
        plans.cost(plan, name)
    plans.cost(plan, "sign", cpu_s=PROPOSED_S)
    plans.cost(plan, "decode", cpu_s=JUDGED_S)
    trace = plans.run(plan)
    return trace.of("store", 0).time_s - trace.of("send", 0).time_s


def test_a_thread_that_wakes_lets_the_other_finish_where_that_is_not_ahead():
    shared, in_turn = round_trips_s(eevdf=False), round_trips_s(eevdf=True)
    # Of two that share, the shorter one's length passes twice until both have had as much.
    assert shared == pytest.approx([ANSWERED_S + JUDGED_S / 3, ANSWERED_S], rel=1e-6)
    assert in_turn == pytest.approx([ANSWERED_S, ANSWERED_S], rel=1e-6)


TICK_S, TICK_CORE_S = 4e-3, 1e-3


def first_sent_s(seed, *, eevdf):
    """Return when the first proposal is sent, which takes 40 ms of a core that ticks interrupt."""
    plan = paced(1.0, eevdf=eevdf) | {"seed": seed}
    plan["profiles"][0]["tick_core_s"] = TICK_CORE_S
    plans.cost(plan, "sign", cpu_s=SIGN_S)
    return plans.run(plan).of("send", 0).time_s[0]


def test_ticks_take_their_part_of_a_core_that_threads_take_turns_on():
    late_s = np.array([first_sent_s(seed, eevdf=True) - 1.0 - SIGN_S for seed in range(8)])
    # Of four milliseconds one is the tick's; when the first one is differs from seed to seed.
    ticks = late_s / TICK_CORE_S
    assert ticks == pytest.approx(np.round(ticks), abs=1e-6)
    usual = SIGN_S / (TICK_S - TICK_CORE_S)
    assert set(np.round(ticks)) == {np.floor(usual), np.ceil(usual)}


def test_cores_that_are_shared_have_no_ticks():
    assert first_sent_s(1, eevdf=False) == pytest.approx(1.0 + SIGN_S)
