"""Shares of runs that stall, break or complete: their intervals, and when two shares are one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.validate.outcomes import shares_agree, wilson
from sim.base.streams import stream


@given(st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_stays_a_share(drawn: tuple[int, int]):
    count, n = drawn
    low, high = wilson(count, n)
    assert -1e-12 <= low <= count / n + 1e-12
    assert count / n - 1e-12 <= high <= 1 + 1e-12


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ((2, 5), (2, 5), True),
        ((0, 5), (0, 40), True),
        ((2, 5), (0, 5), True),
        ((5, 5), (0, 5), False),
        ((2, 5), (40, 40), False),
        ((2, 5), (4, 5), True),  # beyond the Wilson interval of 2 of 5, which ends at 0.77
    ],
)
def test_shares_agree_by_the_interval_of_their_difference(
    one: tuple[int, int], other: tuple[int, int], *, agree: bool
):
    assert shares_agree(one, other) is shares_agree(other, one) is agree


def test_equal_shares_agree_95_times_of_100():
    draws = stream(1, "shares").random((4000, 10)) < 0.4
    both = [(int(row[:5].sum()), int(row[5:].sum())) for row in draws]
    agreeing = sum(shares_agree((a, 5), (b, 5)) for a, b in both) / len(both)
    assert 0.94 < agreeing <= 1
