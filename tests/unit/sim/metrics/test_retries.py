"""What retries cost, by what the engine counts."""

import math

from pocketsim import testing
from pocketsim.sim.base.engine_output import NOTHING
from pocketsim.sim.metrics import retries


def resolved(*, tries):
    found = testing.resolved(repetitions=1)
    if tries:
        found["protocol"]["retries"] = {}
    return found


def test_a_run_that_sends_once_has_no_such_metrics():
    assert retries.names(resolved(tries=False)) == ()
    assert retries.measure(resolved(tries=False), NOTHING) == {}


def test_repeats_are_counted_for_each_proposal():
    counters = {"send": 20, "proposals_repeated": 50, "answers_repeated": 3}
    found = retries.measure(resolved(tries=True), {**NOTHING, "counters": counters})
    assert found == {
        "repeat_count": 50.0,
        "repeats_per_proposal": 2.5,
        "answer_repeat_count": 3.0,
    }
    assert set(found) == set(retries.names(resolved(tries=True)))


def test_what_is_not_counted_never_happened_unless_nobody_counted():
    found = retries.measure(resolved(tries=True), {**NOTHING, "counters": {"send": 20}})
    assert set(found.values()) == {0.0}
    assert all(map(math.isnan, retries.measure(resolved(tries=True), NOTHING).values()))
