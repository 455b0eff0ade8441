"""Ratios after rests, of several reports: what prices are to be multiplied by."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pocketsim.calibration.fit.rests import Rested, pooled
from support import synthetic_reports as synthetic
from support.synthetic_reports import in_memory

REST_S, ERROR_S = 2e-3, 0.2e-6


def found(pairs, error_s=ERROR_S):
    """Return the ratio of reports that have taken and priced so long, in s."""
    reports = [in_memory(synthetic.Phone(1).report(), number) for number, _ in enumerate(pairs)]
    told = [
        {REST_S: Rested(REST_S, *(taken_s, error_s), *(priced_s, error_s), 9)}
        for taken_s, priced_s in pairs
    ]
    (one,) = pooled(told, reports, "made up")
    return one


def test_a_report_with_a_price_of_nearly_nothing_is_not_all_of_it():
    pairs = [(2e-6, 3e-6), (1.9e-6, 3.3e-6), (2.1e-6, 2.9e-6), (2e-6, 2e-8)]
    one = found(pairs)
    taken_s, priced_s = np.mean(pairs, axis=0)
    assert one.ratio == pytest.approx(taken_s / priced_s, rel=1e-2)
    # The means of its numbers are as sure as they were, so the ratio is.
    assert one.standard_error < 0.5 * one.ratio
    assert np.mean([taken / priced for taken, priced in pairs]) > 25 * one.ratio


@pytest.mark.slow
@pytest.mark.parametrize("differ_s", [0.0, 1e-6])
def test_errors_are_as_large_as_ratios_scatter(differ_s):
    chance = np.random.default_rng(5)
    ratios, errors = [], []
    for _ in range(60):
        priced_s = 4e-6 + differ_s * chance.standard_normal(6)
        taken_s = 2e-6 + differ_s * chance.standard_normal(6)
        noise_s = ERROR_S * chance.standard_normal((2, 6))
        one = found(list(zip(taken_s + noise_s[0], priced_s + noise_s[1], strict=True)))
        ratios.append(one.ratio)
        errors.append(one.standard_error)
    assert np.mean(ratios) == pytest.approx(0.5, abs=0.05)
    assert math.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(ratios), rel=0.3)
