"""Counts of runs that stall, break or complete: how likely they are under simulated shares."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.calibration.validate import counts
from pocketsim.sim.base.streams import stream

COUNTS = st.tuples(*[st.integers(0, 200)] * 3)


@given(COUNTS, st.integers(1, 6))
def test_probabilities_of_all_counts_add_up(simulated: tuple[int, int, int], n: int):
    law = counts.predictive(simulated, n)
    assert len(law) == math.comb(n + 2, 2)
    assert {sum(drawn) for drawn in law} == {n}
    assert sum(law.values()) == pytest.approx(1)


def test_one_run_is_as_likely_as_its_share_with_half_a_count_more():
    law = counts.predictive((3, 0, 6), 1)
    assert law == pytest.approx(
        {(1, 0, 0): 3.5 / 10.5, (0, 1, 0): 0.5 / 10.5, (0, 0, 1): 6.5 / 10.5}
    )


def test_many_repetitions_give_the_multinomial_law():
    law = counts.predictive((470_000, 60_000, 470_000), 5)
    assert law[2, 1, 2] == pytest.approx(30 * 0.47**4 * 0.06, rel=1e-3)


@pytest.mark.parametrize(
    ("published", "simulated", "expected"),
    [
        ((2, 0, 3), (80, 0, 120), (0.9, 1.0)),
        ((2, 0, 3), (0, 0, 200), (0.0, 1e-3)),
        ((2, 0, 3), (0, 0, 5), (0.1, 0.3)),  # as much as five repetitions can tell
        ((0, 0, 5), (0, 20, 180), (0.9, 1.0)),
        ((5, 0, 0), (94, 0, 106), (0.02, 0.06)),
        ((2, 2, 1), (94, 0, 106), (0.0, 1e-3)),
    ],
)
def test_counts_that_hardly_come_up_have_a_small_p(
    published: tuple[int, ...], simulated: tuple[int, ...], expected: tuple[float, float]
):
    low, high = expected
    assert low <= counts.p_value(published, simulated) <= high


def test_a_true_model_is_rejected_no_more_often_than_said():
    shares = (0.4, 0.1, 0.5)
    draws = stream(1, "counts")
    tables = draws.multinomial(5, shares, size=500)
    simulated = draws.multinomial(200, shares, size=500)
    values = [counts.p_value(one, other) for one, other in zip(tables, simulated, strict=True)]
    rejected = sum(value < 0.05 for value in values) / len(values)
    assert 0.01 < rejected < 0.075


def test_rungs_together_are_judged_by_the_product_of_their_probabilities():
    pairs = [((1, 0, 1), (10, 5, 20)), ((0, 1, 0), (3, 9, 4)), ((2, 0, 0), (7, 7, 7))]
    laws = [counts.predictive(simulated, sum(published)) for published, simulated in pairs]
    seen = math.prod(law[published] for law, (published, _) in zip(laws, pairs, strict=True))
    by_hand = sum(
        chance
        for drawn in product(*(law.values() for law in laws))
        if (chance := math.prod(drawn)) <= seen * 1.02
    )
    assert counts.joint_p_value(pairs) == pytest.approx(by_hand, abs=0.02)
    assert counts.joint_p_value(pairs[:1]) == pytest.approx(counts.p_value(*pairs[0]), abs=0.01)


def test_eight_likely_outcomes_are_unlikely_together():
    """No rung of eight is unlikely, and all eight are off the same way."""
    one = ((3, 0, 2), (50, 0, 150))
    assert counts.p_value(*one) > 0.05
    assert counts.joint_p_value([one] * 8) < 0.01
