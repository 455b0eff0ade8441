"""Intervals cover what they say they do: tried on values whose true mean is known."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.base.streams import stream
from pocketsim.sim.metrics.intervals import Interval, Mean, agree, bootstrap, normal_ci95, student_t

VALUES = st.lists(st.floats(0.1, 1e3), min_size=2, max_size=9)


def samples(n: int, count: int, law: str = "standard_normal", **options: Any) -> Any:
    """Return `count` samples of n values, as rows, from a stream of their own."""
    return getattr(stream(1, f"{law}/{n}"), law)(size=(count, n), **options)


@given(VALUES)
def test_the_t_interval_is_scipys(values: list[float]):
    found = student_t(values)
    n, scale = len(values), scipy.stats.sem(values)
    if scale > 1e-9:
        low, high = scipy.stats.t.interval(0.95, n - 1, np.mean(values), scale)
        assert (found.low, found.high) == pytest.approx((low, high))
    assert found.method == "t"


@given(VALUES)
def test_the_normal_interval_is_that_of_the_theses(values: list[float]):
    mean = sum(values) / len(values)
    deviation = (sum((x - mean) ** 2 for x in values) / (len(values) - 1)) ** 0.5
    assert normal_ci95(values) == pytest.approx(1.96 * deviation / len(values) ** 0.5, abs=1e-9)


@pytest.mark.parametrize(("n", "normal"), [(3, 0.81), (5, 0.88), (10, 0.92)])
def test_student_t_covers_95_percent_and_the_theses_interval_less(n: int, normal: float):
    rows = samples(n, 5000)
    found = [student_t(row) for row in rows]
    covered = np.mean([interval.low <= 0 <= interval.high for interval in found])
    error = math.sqrt(0.95 * 0.05 / len(rows))
    assert covered == pytest.approx(0.95, abs=4 * error)
    narrow = np.mean([abs(row.mean()) <= normal_ci95(row) for row in rows])
    assert narrow == pytest.approx(normal, abs=0.02)
    assert narrow < covered


@pytest.mark.parametrize(
    ("law", "options", "mean", "covers"),
    [
        ("standard_normal", {}, 0.0, 0.93),
        ("lognormal", {"sigma": 0.5}, math.exp(0.125), 0.91),
        ("exponential", {}, 1.0, 0.85),
    ],
)
def test_the_bootstrap_covers_as_it_says_at_five_repetitions(
    monkeypatch: Any, law: str, options: dict[str, Any], mean: float, covers: float
):
    monkeypatch.setattr("pocketsim.sim.metrics.intervals._RESAMPLES", 2000)
    rows = samples(5, 1000, law, **options)
    draws = stream(1, "draws")
    found = [bootstrap(row, draws) for row in rows]
    assert {one.method for one in found} == {"bootstrap"}
    covered = np.mean([one.low <= mean <= one.high for one in found])
    assert covered == pytest.approx(covers, abs=0.025)
    plain = [student_t(row) for row in rows]
    # And not by being absurd.
    widths = [(one.high - one.low) / (t.high - t.low) for one, t in zip(found, plain, strict=True)]
    assert max(widths) < 1.2
    for row, one in zip(rows, found, strict=True):
        assert min(row) - 1e-9 <= one.low <= one.high <= max(row) + 1e-9


def test_one_repetition_that_stalls_does_not_make_an_interval_without_end():
    found = bootstrap([10.0, 10.1, 9.9, 10.0, 50.0], stream(1, "x"))
    assert found.low >= 9.9
    assert found.high <= 50


def test_the_memory_of_a_bootstrap_does_not_grow_with_the_values():
    tracemalloc.start()
    bootstrap(np.arange(3000.0), stream(1, "x"))
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < 40e6  # at once it would be 480 MB


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 5.0, 9.0]])
def test_where_no_bootstrap_is_possible_students_t_stands_in(values: list[float]):
    found, plain = bootstrap(values, stream(1, "x")), student_t(values)
    assert found.method == "t"
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), nan_ok=True)


def test_equal_values_have_no_width():
    found = bootstrap([3.0] * 7, stream(1, "x"))
    assert (found.low, found.high) == (3.0, 3.0)


def test_one_value_has_no_bounds():
    for values in ([], [4.0]):
        found = student_t(values).within(0.0, 1.0)
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        assert math.isnan(normal_ci95(values))


def test_clipping_an_interval_keeps_its_coverage():
    rows = np.clip(samples(5, 2000) * 0.3 + 0.9, 0, 1)
    true = np.mean(np.clip(samples(1, 200_000) * 0.3 + 0.9, 0, 1))
    whole = [student_t(row) for row in rows]
    cut = [interval.within(0.0, 1.0) for interval in whole]
    assert any(interval.high > 1 for interval in whole)
    assert all(0 <= interval.low <= interval.high <= 1 for interval in cut)
    hits, kept = (
        [interval.low <= true <= interval.high for interval in found] for found in (whole, cut)
    )
    assert kept == hits
    assert Interval(-0.1, 0.5, "t").within(0, 1) == Interval(0.0, 0.5, "t")


@pytest.mark.parametrize(("n", "m"), [(5, 5), (5, 3), (5, 20)])
def test_a_perfect_model_agrees_95_times_of_100(n: int, m: int):
    """Judged without its own noise it lies in the printed interval far less often."""
    pairs = list(zip(samples(n, 4000), stream(2, f"model/{m}").normal(size=(4000, m)), strict=True))
    agreeing = np.mean([agree(Mean.of(one), Mean.of(other)) for one, other in pairs])
    assert agreeing == pytest.approx(0.955, abs=0.015)
    printed = np.mean([abs(one.mean() - other.mean()) <= normal_ci95(one) for one, other in pairs])
    assert printed < agreeing - 0.06
    if n == m:
        assert printed == pytest.approx(0.76, abs=0.02)
    far = np.mean([agree(Mean.of(one), Mean.of(other + 5)) for one, other in pairs])
    assert far < 0.05


def test_means_without_scatter_agree_within_the_rounding():
    exact = Mean(4.0, 0.0, 5)
    assert agree(exact, Mean(4.005, 0.0, 1), tolerance=0.005)
    assert not agree(exact, Mean(4.006, 0.0, 1), tolerance=0.005)
    # One scatter is known: Student's t with four degrees of freedom, 2.776.
    assert agree(Mean(4.0, 0.1, 5), Mean(4.277, 0.0, 1))
    assert not agree(Mean(4.0, 0.1, 5), Mean(4.279, 0.0, 1))
