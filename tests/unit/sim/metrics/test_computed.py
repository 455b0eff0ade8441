"""What computing phones achieved, on traces small enough to count by hand."""

import math

import numpy as np
import pytest

from pocketsim import testing
from pocketsim.sim import metrics, trace
from pocketsim.sim.base.engine_output import NOTHING
from pocketsim.sim.metrics import compute
from pocketsim.sim.trace.columns import Columns

THREADS, PHONES = 4, 2


def resolved(**sections):
    workload = {"kind": "compute", "start_s": 1.0, "threads": THREADS}
    devices = [{"profile": "invented", "count": PHONES, "access": {"wifi": 1.0}}]
    family = {"protocol": {"kind": "compute"}, "workload": workload, "devices": devices}
    return testing.resolved(repetitions=1, **family, **sections)


def tasks(*numbers):
    """Tasks of 500 B, done one every 10 ms from 1 s on; `numbers` are those traced."""
    size = len(numbers)
    return trace.build(
        repetition=np.zeros(size, dtype=int),
        time_s=1.0 + 0.01 * np.array(numbers, dtype=float),
        node=np.zeros(size, dtype=int),
        kind=["compute"] * size,
        message_id=np.array(numbers, dtype=int),
        peer=np.zeros(size, dtype=int),
        message_size=np.full(size, 500),
        reason=[None] * size,
        logged=[True] * size,
    )


ALL = {"task_rate_per_s": 100.0, "data_rate_mb_per_s": 0.05, "task_us_mean": 80_000.0}


def test_rates_count_until_the_last_thread_ends():
    found = compute.measure(Columns.of(tasks(*range(1, 201))), NOTHING, resolved())
    assert found == pytest.approx(ALL)


def test_of_a_sampled_trace_what_was_done_is_scaled_up():
    sampled = {"output": {"trace": "sampled", "sample_ratio": 0.1}}
    events = tasks(*range(10, 201, 10))
    assert compute.measure(Columns.of(events), NOTHING, resolved(**sampled)) == pytest.approx(ALL)
    found = metrics.measure(events, resolved(**sampled))["metrics"]
    assert {name: found[name]["mean"] for name in ALL} == pytest.approx(ALL)


def test_tasks_without_duration_have_no_rate():
    found = compute.measure(Columns.of(tasks(0, 0, 0)), NOTHING, resolved())
    assert tuple(found) == compute.NAMES
    assert all(math.isnan(value) for value in found.values())


def test_metrics_of_no_tasks_are_nan():
    found = compute.measure(Columns.of(tasks()), NOTHING, resolved())
    assert tuple(found) == compute.NAMES
    assert all(math.isnan(value) for value in found.values())


def test_other_families_have_no_metrics_of_computing():
    found = metrics.measure(tasks(1, 2), testing.resolved(repetitions=1))
    assert not set(compute.NAMES) & set(found["metrics"])
