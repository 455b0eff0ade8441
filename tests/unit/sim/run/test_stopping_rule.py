"""How often the interval holds the truth at which `until` stops, where the truth is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.stats

from pocketsim.sim.base.streams import stream
from pocketsim.sim.metrics.intervals import Interval, of_runs, student_t
from pocketsim.sim.run.stopping_rule import FEWEST, repetitions_to_add
from pocketsim.sim.run.sweep_document import goal

if TYPE_CHECKING:
    from collections.abc import Callable

STUDIES = 400
FIRST, MOST = 5, 2000


def looks(most: int = MOST) -> list[int]:
    """Return at how many repetitions the interval is looked at that is never narrow."""
    counts, wanted = [FIRST], goal("x ci95 < 1")
    while more := repetitions_to_add(
        counts[-1], counts[-1], 1.0, Interval(0.0, 9.0, "t"), wanted, most
    ):
        counts.append(counts[-1] + more)
    return counts


def test_an_interval_is_looked_at_from_20_on_after_half_as_many_again():
    assert looks(100) == [5, 20, 30, 45, 68, 100]
    assert (
        repetitions_to_add(5, 5, 1.0, Interval(1.0, 1.0, "t"), goal("x ci95 < 1"), 100)
        == FEWEST - 5
    )
    assert repetitions_to_add(20, 19, 1.0, Interval(1.0, 1.0, "t"), goal("x ci95 < 1"), 100) == 10
    assert repetitions_to_add(20, 20, 1.0, Interval(1.0, 1.0, "t"), goal("x ci95 < 1"), 100) == 0


def exact_coverage(truth: float, half: float) -> float:
    """Return how often the interval of a share of runs holds the truth when it is narrow."""
    odds, before, covers = np.ones(1), 0, 0.0
    for n in looks():
        odds = np.convolve(odds, scipy.stats.binom.pmf(range(n - before + 1), n - before, truth))
        before = n
        for hits in np.flatnonzero(odds > 1e-9):
            found = of_runs([1.0] * hits + [0.0] * (n - hits))
            if not repetitions_to_add(n, n, hits / n, found, goal(f"x ci95 < {half}"), MOST):
                covers += odds[hits] * (found.low <= truth <= found.high)
                odds[hits] = 0.0
    assert odds.sum() < 1e-3, "it stopped"
    return covers


@pytest.mark.parametrize("truth", [0.02, 0.05, 0.37, 0.98])
@pytest.mark.parametrize("half", [0.05, 0.1, 0.2])
def test_a_share_of_runs_is_covered_where_it_stops(truth: float, half: float):
    assert 0.92 <= exact_coverage(truth, half) <= 0.98


def normal(draws: np.random.Generator) -> float:
    return float(draws.normal(10, 2))


def lognormal(draws: np.random.Generator) -> float:
    return float(draws.lognormal(0, 0.5))


def p95(draws: np.random.Generator) -> float:
    return float(np.percentile(draws.lognormal(0, 0.5, 100), 95))


def p95_mean() -> float:
    rows = stream(2, "truth").lognormal(0, 0.5, (20_000, 100))
    return float(np.percentile(rows, 95, axis=1).mean())


def stopped(value: Callable[[Any], float], draws: np.random.Generator, half: str) -> Interval:
    values = [value(draws) for _ in range(FIRST)]
    while True:
        found, n = student_t(values), len(values)
        more = repetitions_to_add(
            n, n, float(np.mean(values)), found, goal(f"x ci95 < {half}"), MOST
        )
        if not more:
            return found
        values += [value(draws) for _ in range(more)]


@pytest.mark.parametrize("half", ["5%", "10%"])
@pytest.mark.parametrize("law", [normal, lognormal, p95])
def test_a_mean_is_covered_where_it_stops(law: Any, half: str):
    truth = {normal: 10.0, lognormal: math.exp(0.125)}.get(law) or p95_mean()
    draws = stream(1, f"{law.__name__}/{half}")
    found = [stopped(law, draws, half) for _ in range(STUDIES)]
    assert 0.92 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.98
