"""Draws of jitter with which datagrams that keep their order are as late as they were measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pocketsim.calibration.host import jitter


def lateness_s(median_s, sigma, spacing_s, count=200_000):
    """Return how late datagrams are of which none overtakes another, as the simulator has it."""
    chance = np.random.default_rng(7)
    late_s, found = 0.0, np.empty(count)
    draws = median_s * np.exp(sigma * chance.standard_normal(count))
    for number, drawn_s in enumerate(draws.tolist()):
        late_s = found[number] = max(drawn_s, late_s - spacing_s)
    return found


@pytest.mark.parametrize(
    ("median_s", "p99_s", "spacing_s"),
    [
        (30e-6, 157e-6, 0.4e-3),
        (37e-6, 730e-6, 0.2e-3),
        (83e-6, 3.8e-3, 0.35e-3),
        (260e-6, 5e-3, 0.2e-3),
        (40e-6, 1e-3, 20e-3),
    ],
)
def test_datagrams_are_as_late_as_measured(median_s, p99_s, spacing_s):
    found = lateness_s(*jitter.drawn(median_s, p99_s, spacing_s), spacing_s)
    assert np.quantile(found, 0.5) == pytest.approx(median_s, rel=0.02)
    # Late ones come together, so that there are fewer of them than of draws.
    assert np.quantile(found, 0.99) == pytest.approx(p99_s, rel=0.1)


def test_draws_as_late_as_measured_would_be_too_late():
    plain = math.log(3.8e-3 / 83e-6) / 2.3263
    assert np.quantile(lateness_s(83e-6, plain, 0.35e-3), 0.99) > 1.5 * 3.8e-3


def test_who_comes_alone_is_as_late_as_drawn():
    median_s, sigma = jitter.drawn(40e-6, 1e-3, 10.0)
    assert median_s == pytest.approx(40e-6, rel=1e-5)
    assert sigma == pytest.approx(math.log(25) / 2.3263, rel=1e-3)
    assert jitter.lateness(40e-6, median_s, sigma, 10.0) == pytest.approx(0.5, rel=1e-3)


def test_many_crossings_together_are_as_late_as_their_mean():
    chance = np.random.default_rng(7)
    median_s, sigma = jitter.of_mean(30e-6, 36e-6)
    draws = median_s * np.exp(sigma * chance.standard_normal((20_000, 10)))
    assert np.median(draws) == pytest.approx(30e-6, rel=0.01)
    assert draws.mean() == pytest.approx(36e-6, rel=0.01)
    # The median of a sum is no sum of medians.
    assert np.median(draws.sum(axis=1)) > 10.5 * 30e-6
