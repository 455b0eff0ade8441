"""How sure numbers are and how far devices differ: by hand, and as draws are."""

import math

import numpy as np
import pytest

from pocketsim.sim.base import streams
from pocketsim.sim.devices import draws, profile
from pocketsim.sim.devices.ratios import (
    REFERENCE_BYTES,
    Estimate,
    cost_estimate,
    ratio,
    ratios,
)

Z = 1.96


def lognormal(mean, sigma):
    """Return the estimate whose logarithm has this standard deviation."""
    return Estimate(mean, mean * math.sqrt(math.exp(sigma**2) - 1))


def contents(name):
    return profile.contents(profile.load(profile.DEVICES / f"{name}.toml"))


def cost(**changes):
    found = {"cpu_s": 3.0, "per_byte_s": 0.0, "wait_s": 1.0, "standard_error_s": 2.0}
    return {**found, **changes}


def test_an_interval_is_that_of_a_lognormal_with_this_mean():
    one = lognormal(1.0, 0.5)
    assert one.sigma == pytest.approx(0.5)
    assert one.median == pytest.approx(math.exp(-0.125))
    low, high = one.ci95
    assert (low, high) == pytest.approx(
        (math.exp(-0.125 - 0.98), math.exp(-0.125 + 0.98)), rel=1e-4
    )


def test_exact_cost_has_no_interval_and_zero_one_from_0():
    assert Estimate(8.0, 0.0).ci95 == (8.0, 8.0)
    assert math.isnan(Estimate(0.0, 1.0).sigma)
    assert Estimate(0.0, 1.0).ci95 == pytest.approx((0.0, Z), rel=1e-4)


def test_a_ratio_by_hand():
    found = ratio("x", lognormal(1.0, 0.3), lognormal(2.0, 0.4))
    middle = 2 * math.exp(-(0.4**2) / 2 + 0.3**2 / 2)
    assert found.ratio == 2.0
    # hypot(0.3, 0.4) is 0.5.
    assert found.ci95_low == pytest.approx(middle * math.exp(-Z * 0.5), rel=1e-4)
    assert found.ci95_high == pytest.approx(middle * math.exp(Z * 0.5), rel=1e-4)
    assert not found.differs
    assert ratio("x", lognormal(1.0, 0.3), lognormal(4.0, 0.4)).differs
    assert ratio("x", lognormal(4.0, 0.4), lognormal(1.0, 0.3)).differs


def test_zero_has_no_ratio_and_does_not_differ():
    for pair in ((0.0, 1.0), (1.0, 0.0), (0.0, 0.0)):
        found = ratio("x", *(Estimate(value, 0.1) for value in pair))
        assert math.isnan(found.ratio)
        assert not found.differs


def test_exact_numbers_differ_if_they_are_not_equal():
    assert ratio("x", Estimate(8.0, 0.0), Estimate(4.0, 0.0)).differs
    assert not ratio("x", Estimate(8.0, 0.0), Estimate(8.0, 0.0)).differs


def test_the_error_of_a_cost_grows_with_its_bytes():
    whole = cost_estimate(cost(per_byte_s=0.5), 8.0)
    assert (whole.value, whole.standard_error) == (8.0, 4.0)
    per_byte = cost(cpu_s=0.0, wait_s=0.0, per_byte_s=0.5)
    assert cost_estimate(per_byte, 8.0) == Estimate(4.0, 2.0)


def test_few_degrees_of_freedom_make_it_students_t():
    # The quantiles 0.975 of Student's t with 1, 2, 4 and 14 degrees of freedom.
    for degrees, quantile in ((1, 12.706), (2, 4.303), (4, 2.776), (14, 2.145)):
        low, high = Estimate(1.0, 1e-4, degrees).ci95
        assert (1 - low, high - 1) == pytest.approx((quantile * 1e-4,) * 2, rel=0.01)
    assert Estimate(8.0, 0.0, 2.0).ci95 == (8.0, 8.0)
    # Nobody who knows little is less sure than who knows nothing: an error as large as the number.
    assert Estimate(1.0, 0.5, 1.0).ci95[1] < Estimate(1.0, 1.0).ci95[1] * 1.1


def test_few_degrees_of_freedom_leave_the_best_estimate_in_the_middle():
    few = Estimate(8.0, 0.8, 2.0)
    low, high = few.ci95
    assert few.median == 8.0
    assert high - 8.0 == pytest.approx(8.0 - low)
    # A known error is that of a lognormal, which has more below its mean than above.
    assert Estimate(8.0, 0.8).median < 8.0
    # Of both draws are even: the ratio of the best estimates is in the middle of theirs.
    found = ratio("x", few, few)
    assert found.ci95_low * found.ci95_high == pytest.approx(1.0)


def test_a_ratio_has_the_freedom_of_both():
    found = ratio("x", Estimate(1.0, 1e-4, 4.0), Estimate(1.0, 1e-7))
    assert found.ci95_high - 1 == pytest.approx(2.776e-4, rel=0.01)
    # Of two that are as sure, the law of Behrens and Fisher: draws of both are apart.
    found = ratio("x", Estimate(1.0, 1e-4, 4.0), Estimate(1.0, 1e-4, 4.0))
    drawn = streams.stream(1, "t").standard_t(4.0, (2, 200_000))
    by_chance = float(np.quantile(drawn[1] - drawn[0], 0.975))
    assert found.ci95_high - 1 == pytest.approx(by_chance * 1e-4, rel=0.03)


def test_a_cost_per_byte_errs_by_itself():
    parts = {"per_byte_s": 0.5, "per_byte_standard_error_s": 0.375}
    assert cost_estimate(cost(**parts), 4.0) == Estimate(6.0, 2.5)
    assert cost_estimate(cost(**parts, correlation=1.0), 4.0) == Estimate(6.0, 3.5)
    assert cost_estimate(cost(**parts, correlation=-1.0), 4.0) == Estimate(6.0, 0.5)
    assert cost_estimate(cost(degrees_of_freedom=2.0), 4.0) == Estimate(4.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("relative", "degrees"), [(0.03, 2.0), (0.03, 14.0), (0.3, 14.0), (0.3, 2.0)]
)
def test_a_cost_that_says_more_is_drawn_within_its_interval(relative, degrees):
    said = cost(
        per_byte_s=0.01,
        standard_error_s=4.0 * relative,
        per_byte_standard_error_s=0.01 * relative,
        correlation=-0.5,
        degrees_of_freedom=degrees,
    )
    low, high = cost_estimate(said, 400.0).ci95
    below, above, count = 0, 0, 4000
    for seed in range(count):
        (found,) = draws.draw_costs({"x": said}, seed, "x").values()
        total = cost_estimate(found, 400.0).value
        below, above = below + (total < low), above + (total > high)
    # Five standard deviations, and that the sum of two lognormals is not quite one.
    chance = 5 * math.sqrt(0.025 * 0.975 / count) + 0.004
    if relative < 0.1 or degrees > 10:
        assert (below / count, above / count) == pytest.approx((0.025, 0.025), abs=chance)
    else:
        # A draw widens each part to its own size at most, so their sum to less than its own.
        assert 0.01 < (below + above) / count < 0.05 + chance


@pytest.mark.parametrize("path", ["operations.hash", "scheduler.sleep_overshoot.base_s"])
def test_19_of_20_drawn_ratios_are_within(path):
    ours, theirs = contents("moto_g04s"), contents("thinkpad_l13")
    (found,) = [one for one in ratios(ours, theirs) if one.path == path]
    inside, count = 0, 4000
    for seed in range(count):
        one = streams.positive(seed, "one", found.first.value, found.first.standard_error)
        other = streams.positive(seed, "other", found.second.value, found.second.standard_error)
        inside += found.ci95_low < other / one < found.ci95_high
    # Five standard deviations of that share.
    assert inside / count == pytest.approx(0.95, abs=5 * math.sqrt(0.95 * 0.05 / count))


def test_a_drawn_cost_is_within_its_interval_at_any_size():
    base = {**contents("moto_g04s"), "drawn_as": "x"}
    low, high = cost_estimate(base["operations"]["encode"], 4000.0).ci95
    inside, count = 0, 1000
    for seed in range(count):
        drawn = draws.draw(base, seed, "x")["operations"]["encode"]
        inside += low < cost_estimate(drawn, 4000.0).value < high
    assert inside / count == pytest.approx(0.95, abs=5 * math.sqrt(0.95 * 0.05 / count))


def test_every_number_of_a_device_is_compared():
    found = ratios(contents("moto_g04s"), contents("pocophone_f1"))
    assert len(found) == len({one.path for one in found}) == 26
    assert {one.path: one.ratio for one in found}["operations.packet_seal"] == pytest.approx(
        (16e-6 + 1.2e-9 * REFERENCE_BYTES) / (40e-6 + 3e-9 * REFERENCE_BYTES)
    )


def test_a_choice_has_no_ratio():
    found = contents("thinkpad_l13")
    choice = {"value": "eevdf", "basis": "published", "source": "Linux", "samples": 0}
    with_choice = {**found, "scheduler": {**found["scheduler"], "policy": choice}}
    assert ratios(with_choice, found) == ratios(found, found)
