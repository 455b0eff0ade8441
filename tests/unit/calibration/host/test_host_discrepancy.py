"""What a model is off by beyond its own intervals, as some points tell."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pocketsim.calibration.host import discrepancy, judging
from pocketsim.calibration.host.discrepancy import NOTHING_KNOWN, Discrepancy, of_errors

EDGE = 1.6449  # of 90 % of a normal law, in standard deviations


def told(error, own_sigma, floor=0.0):
    """Return what a point says: its log ratio, an interval of so many deviations, a floor."""
    return error, math.exp(-EDGE * own_sigma), math.exp(EDGE * own_sigma), floor


def fitted(chance, sigma, own_sigmas):
    """Return errors of points of a model that is off by `sigma`."""
    own = np.asarray(own_sigmas)
    errors = chance.normal(0.0, np.hypot(sigma, own))
    return [told(*pair) for pair in zip(errors, own, strict=True)]


@pytest.mark.parametrize("sigma", [0.1, 0.4])
def test_the_sigma_that_made_the_errors_is_found(sigma):
    chance = np.random.default_rng(3)
    found = [of_errors(fitted(chance, sigma, [0.05] * 8)) for _ in range(400)]
    assert {one.degrees_of_freedom for one in found} == {8}
    root = math.sqrt(np.mean([one.sigma**2 for one in found]))
    assert root == pytest.approx(sigma, rel=0.05)


@pytest.mark.parametrize("count", [6, 20])
def test_a_floor_is_as_sure_as_the_median_beside_it(count):
    chance = np.random.default_rng(6)
    found = []
    for _ in range(300):
        logs = chance.normal(0.0, 0.2, (8, count))
        medians = np.median(logs, axis=1)
        halves = [np.median(logs[:, part::2], axis=1) for part in range(2)]
        floors = np.abs(halves[0] - halves[1])
        # A half alone says little of one point: of all points together it is right.
        floor = float(np.median(floors))
        found.append(of_errors([told(error, 0.01, floor) for error in medians]))
    # No model is off here, and without floors all of them would be.
    assert np.median([one.sigma for one in found]) < 0.03
    assert np.median([of_errors([told(error, 0.01) for error in medians]).sigma]) > 0.03


def test_what_intervals_explain_is_no_discrepancy():
    assert of_errors([told(0.01, 0.2)] * 6) == Discrepancy(0.0, 6)


def test_a_point_that_says_little_of_itself_weighs_little():
    without = of_errors([told(error, 0.05) for error in (0.1, -0.12, 0.09, -0.11)])
    beside = of_errors(
        [told(error, 0.05) for error in (0.1, -0.12, 0.09, -0.11)] + [told(2.0, 2.0)]
    )
    assert without.sigma > 0.05
    assert beside.sigma < 2 * without.sigma


@pytest.mark.parametrize("sigma", [0.0, 0.1, 0.4])
def test_intervals_hold_nine_of_ten_of_points_that_fitted_nothing(sigma):
    chance = np.random.default_rng(4)
    own, held, trials = 0.08, 0, 1500
    for _ in range(trials):
        known = of_errors(fitted(chance, sigma, [own] * 7))
        low, high = known.widened(math.exp(-EDGE * own), 1.0, math.exp(EDGE * own))
        held += low <= math.exp(chance.normal(0.0, math.hypot(sigma, own))) <= high
    # Wide rather than narrow: a sigma of few points is uncertain, and never below 0.
    assert 0.87 <= held / trials <= 0.97


def test_intervals_hold_nine_of_ten_of_what_is_measured_with_noise():
    chance = np.random.default_rng(7)
    own, noise, trials = 0.03, 0.3, 400
    edges = math.exp(-EDGE * own), 1.0, math.exp(EDGE * own)
    held = {True: 0, False: 0}
    for _ in range(trials):
        logs = chance.normal(chance.normal(0.0, own), noise, 5)
        measured = [SimpleNamespace(rtt_p50_s=math.exp(log)) for log in logs]
        floor = judging.floor(measured, "rtt_p50_s")
        for is_told in held:
            low, high = NOTHING_KNOWN.widened(*edges, floor if is_told else 0.0)
            held[is_told] += low <= math.exp(np.median(logs)) <= high
    # A floor of five repetitions is itself uncertain.
    assert 0.8 <= held[True] / trials <= 0.97
    assert held[False] / trials < 0.5


def test_with_nothing_known_an_interval_stays():
    assert of_errors([]) == NOTHING_KNOWN
    assert of_errors([told(0.3, 0.1)]).degrees_of_freedom == 1
    assert of_errors([told(math.nan, 0.1)] * 5) == NOTHING_KNOWN
    assert of_errors([told(0.3, 0.1, math.inf)] * 5) == NOTHING_KNOWN
    assert of_errors([(0.3, 0.0, 1.0, 0.0)] * 5) == NOTHING_KNOWN
    assert NOTHING_KNOWN.widened(0.9, 1.0, 1.2) == pytest.approx((0.9, 1.2))
    assert NOTHING_KNOWN.widened(0.9, 1.0, 1.2, math.inf) == pytest.approx((0.9, 1.2))
    low, high = Discrepancy(0.3, 5).widened(math.nan, 1.0, 1.2)
    assert math.isnan(low)
    assert high == 1.2


def test_points_without_a_width_are_off_by_the_whole_error():
    found = of_errors([(error, 1.0, 1.0, 0.0) for error in (0.1, -0.1, 0.1)])
    assert found.sigma == pytest.approx(0.1)
    low, high = discrepancy.Discrepancy(found.sigma, 2).widened(1.0, 1.0, 1.0)
    assert low * high == pytest.approx(1.0)
    assert high > math.exp(found.sigma * EDGE)
