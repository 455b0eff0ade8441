"""Errors that are estimates themselves: how freely their sums are known."""

import math

import numpy as np
import pytest

from pocketsim.sim.base import streams
from pocketsim.sim.base.t_interval import freedom_of_sum, quantile

DRAWS = 400_000


def test_one_part_alone_has_its_own_freedom():
    assert freedom_of_sum((4.0, 0.0), (3.0, 1.0)) == pytest.approx(3.0)
    assert math.isinf(freedom_of_sum((4.0, 1.0), (math.inf, math.inf)))
    assert math.isinf(freedom_of_sum((0.0, 0.0), (3.0, math.inf)))


@pytest.mark.parametrize("freedom", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("known", [0.1, 1.0, 3.0])
def test_an_interval_of_a_sum_has_95_of_100(freedom, known):
    """Of Student's t and a normal, whose deviation is `known` times as much."""
    random = streams.stream(1, "sums")
    told = random.standard_t(freedom, DRAWS) + known * random.standard_normal(DRAWS)
    half = quantile(freedom_of_sum((1.0, known**2), (freedom, math.inf))) * math.hypot(1, known)
    # To a third of a percent, by 400 000 draws to 0.03 %.
    assert np.mean(np.abs(told) < half) == pytest.approx(0.95, abs=0.004)
