"""Laws given by quantiles: exact at their knots, and exact in their means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from pocketsim.sim.plan.quantile_law import PiecewiseLognormal

LAW = PiecewiseLognormal.of_table({"p50": 4.0, "p5": 1.0, "p95": 400.0, "p99": 400.0})


def test_knots_are_met_and_the_ends_are_held() -> None:
    at = LAW.quantile(np.array([0.001, 0.05, 0.5, 0.95, 0.97, 0.99, 0.9999]))
    assert at == pytest.approx([1, 1, 4, 400, 400, 400, 400])


def test_between_two_knots_it_is_lognormal() -> None:
    sigma, median = 1.3, 7.0
    law = stats.lognorm(sigma, scale=median)
    table = {f"p{percent}": float(law.ppf(percent / 100)) for percent in (1, 50, 99)}
    share = np.linspace(0.01, 0.99, 9)
    assert PiecewiseLognormal.of_table(table).quantile(share) == pytest.approx(law.ppf(share))


def test_the_mean_is_the_integral_of_the_quantile_function() -> None:
    found, _ = integrate.quad(
        lambda share: float(LAW.quantile(np.array(share))), 0, 1, points=[0.05, 0.5, 0.95, 0.99]
    )
    assert LAW.mean() == pytest.approx(found, rel=1e-6)


def test_the_length_biased_law_weighs_each_value_by_itself() -> None:
    share = (np.arange(20_000) + 0.5) / 20_000
    plain, biased = LAW.quantile(share), LAW.length_biased_quantile(share)
    for moment in (0.5, -0.5, -1.0):
        expected = np.mean(plain ** (moment + 1)) / np.mean(plain)
        assert np.mean(biased**moment) == pytest.approx(expected, rel=2e-3)
    assert (np.diff(biased) >= 0).all()


def test_the_ends_of_the_unit_interval_are_finite() -> None:
    tiny = 2.0**-53
    ends = LAW.length_biased_quantile(np.array([tiny, 1 - tiny]))
    assert all(math.isfinite(value) for value in ends)
    assert ends == pytest.approx([1, 400])
