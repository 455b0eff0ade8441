"""Closed forms of walks, against their integrals."""

import math

import numpy as np
import pytest
from scipy import integrate

from pocketsim.sim.base import walk_laws
from pocketsim.sim.base.walk_laws import LegTimes, PowerLaw

SHARES = (np.arange(20_000) + 0.5) / 20_000
LAWS = [PowerLaw(0.66, 8, 10_000), PowerLaw(0.0, 1, 50), PowerLaw(-1.3, 0.5, 4), PowerLaw(3, 2, 9)]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_power_law_has_its_density(law):
    def density(x):
        return x ** -(1 + law.exponent)

    mass = integrate.quad(density, law.least, law.most)[0]
    assert law.mass() == pytest.approx(mass, rel=1e-6)
    mean = integrate.quad(lambda x: x * density(x), law.least, law.most)[0] / mass
    assert law.mean() == pytest.approx(mean, rel=1e-6)
    for share in (0.1, 0.5, 0.9):
        quantile = float(law.quantile(np.array([share]))[0])
        below = integrate.quad(density, law.least, quantile)[0] / mass
        assert below == pytest.approx(share, rel=1e-5)
    assert law.quantile(np.array([0.0, 1.0])) == pytest.approx([law.least, law.most])


def test_quantiles_of_a_power_law_are_those_that_are_written_everywhere():
    law = PowerLaw(0.66, 8, 10_000)
    first, last = 8**-0.66, 10_000**-0.66
    assert law.quantile(SHARES) == pytest.approx((first - SHARES * (first - last)) ** (-1 / 0.66))


@pytest.mark.parametrize(
    ("rho", "fastest"), [(0.79, math.inf), (0.79, 1.5), (0.0, 1.5), (0.0, 0.01), (1.0, 0.2)]
)
def test_the_leg_of_a_random_moment_has_the_law_of_legs_times_how_long_they_take(rho, fastest):
    times = LegTimes(PowerLaw(0.66, 8, 1000), 18.72, rho, fastest)
    # Values of equal probability stand for the law of all legs.
    length_m = times.lengths.quantile(SHARES)
    takes_s = times.time_s(length_m)
    assert (length_m / takes_s).max() <= fastest * (1 + 1e-12)
    assert times.mean_s() == pytest.approx(takes_s.mean(), rel=1e-3)
    met_m = times.met_quantile_m(SHARES)
    assert met_m.mean() == pytest.approx((length_m * takes_s).sum() / takes_s.sum(), rel=1e-3)
    by_time = np.interp([0.25, 0.5, 0.75], np.cumsum(takes_s) / takes_s.sum(), length_m)
    assert np.quantile(met_m, [0.25, 0.5, 0.75]) == pytest.approx(by_time, rel=1e-3)


def test_legs_take_what_rhee_et_al_fitted():
    times = LegTimes(PowerLaw(0.66, 8, 1000), 18.72, 0.79, math.inf)
    assert times.time_s(np.array([1.0, 100.0])) == pytest.approx([18.72, 18.72 * 100**0.21])


def test_the_mean_leg_is_that_of_two_uniform_places():
    assert walk_laws.mean_leg_m(1, 1) == pytest.approx(0.5214, abs=5e-5)
    places = np.random.default_rng(1).random((4, 400_000)) * [[4500], [3400], [4500], [3400]]
    drawn = np.hypot(places[0] - places[2], places[1] - places[3]).mean()
    assert walk_laws.mean_leg_m(4500, 3400) == pytest.approx(drawn, rel=4e-3)
    assert walk_laws.mean_leg_m(3400, 4500) == walk_laws.mean_leg_m(4500, 3400)


@pytest.mark.parametrize("ratio", [999.0, 1001.0, 1e9])
def test_a_long_rectangle_is_a_line(ratio):
    assert walk_laws.mean_leg_m(ratio, 1) == pytest.approx(ratio / 3, rel=1e-4)


def test_published_numbers_of_random_waypoint_come_out():
    speed = 1 / walk_laws.mean_inverse_speed(0.5, 1.5)
    assert speed == pytest.approx(0.910, abs=5e-4)
    assert walk_laws.mean_inverse_speed(2, 2) == 0.5
    per_s = walk_laws.meetings_per_s(10, speed, 4500 * 3400)
    assert per_s == pytest.approx(2.07e-6, rel=3e-3)
