"""Estimates of cases and lines through them recover what they were drawn from."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

from pocketsim.calibration.fit.lines import combine, fit_line
from pocketsim.calibration.fit.probe_report import Samples
from pocketsim.calibration.fit.samples import Estimate, Sigma, estimate, execution_sigma, sigma_of
from support import synthetic_reports as synthetic

SEEDS = range(400)


def generator(seed):
    return np.random.Generator(np.random.Philox(seed))


def samples(values, *, keep=True):
    return Samples.model_validate(synthetic.samples(values, keep=keep))


def covered(errors_and_claims):
    """Return how often an error was within 1.96 of the standard error that was claimed."""
    errors, claims = np.array(list(errors_and_claims)).T
    return float(np.mean(np.abs(errors) <= 1.96 * claims))


def lognormal(seed, mean, sigma, shape):
    return mean * np.exp(generator(seed).normal(-(sigma**2) / 2, sigma, shape))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(("sigma", "count"), [(0.05, 300), (0.5, 300), (0.3, 30)])
def test_the_mean_is_within_its_standard_error(sigma, count, keep):
    found = [estimate(samples(lognormal(seed, 2e-5, sigma, count), keep=keep)) for seed in SEEDS]
    # Estimated itself, from as few as 30: a little less than the nominal 95 %, or more.
    assert 0.90 <= covered((one.mean - 2e-5, one.standard_error) for one in found) <= 0.995
    # And not by claiming ignorance: the plain mean's error is sigma / sqrt(n).
    claimed = np.median([one.standard_error for one in found]) / 2e-5
    assert claimed < 2 * sigma / math.sqrt(count)
    assert np.median([one.sample_sigma for one in found]) == pytest.approx(sigma, rel=0.1)


def test_interruptions_move_little():
    values = lognormal(1, 2e-5, 0.05, 300)
    clean = estimate(samples(values))
    values[::20] += 5e-3
    hit = estimate(samples(values))
    assert hit.mean == pytest.approx(clean.mean, rel=0.01)
    assert hit.sample_sigma == pytest.approx(clean.sample_sigma, rel=0.25)


def test_samples_that_follow_each_other_count_less():
    steps = generator(3).normal(0, 0.01, 400)
    drifting = np.exp(np.cumsum(steps) * 0.2)
    shuffled = generator(4).permutation(drifting)
    ratio = estimate(samples(drifting)).standard_error / estimate(samples(shuffled)).standard_error
    assert ratio > 3


def test_what_neighbours_share_is_no_scatter_of_executions():
    own = lognormal(6, 2e-5, 0.05, 400)
    slower = np.exp(0.15 * np.sin(np.linspace(0, 4 * np.pi, 400)))
    assert np.log(slower * own).std() > 0.11
    assert estimate(samples(slower * own)).sample_sigma == pytest.approx(0.05, rel=0.15)
    assert estimate(samples(own)).sample_sigma == pytest.approx(0.05, rel=0.15)


def test_rounds_that_disagree_widen_the_error():
    values = lognormal(5, 2e-5, 0.02, 300)
    apart = estimate(samples(values), round_medians=[2e-5, 2.2e-5, 1.8e-5])
    assert apart.standard_error / apart.mean == pytest.approx(0.1 / math.sqrt(3), rel=0.02)
    alike = estimate(samples(values), round_medians=[2e-5, 2e-5, 2e-5])
    assert replace(alike, rounds=()) == estimate(samples(values))


def test_rounds_have_means_of_their_own():
    sizes, factors = (200, 50, 120), (1.0, 1.3, 0.8)
    parts = [
        lognormal(30 + number, factor * 2e-5, 0.3, size)
        for number, (factor, size) in enumerate(zip(factors, sizes, strict=True))
    ]
    values = np.concatenate(parts)
    medians = [np.median(part) for part in parts]
    found = estimate(samples(values), round_medians=medians, round_samples=sizes)
    assert found.rounds == pytest.approx([2e-5, 2.6e-5, 1.6e-5], rel=0.12)
    # The mean of the rounds, however many samples each has.
    assert found.mean == pytest.approx(np.mean(found.rounds))
    # Of samples that are no more told apart, in proportion to the medians.
    sketch = estimate(samples(values, keep=False), round_medians=medians, round_samples=sizes)
    assert sketch.rounds == pytest.approx(np.array(medians) * sketch.mean / np.mean(medians))
    assert estimate(samples(values), round_medians=medians[:1], round_samples=[370]).rounds == ()


def test_a_coarse_clock_is_an_error_even_of_equal_samples():
    found = estimate(samples([1e-5] * 50), resolution=1e-6, iterations=10)
    assert found.standard_error == pytest.approx(1e-7 / math.sqrt(12))
    assert found.mean == pytest.approx(1e-5)


def test_quantities_that_reach_zero_are_averaged_plainly():
    found = estimate(samples([0.0, 0.0, 3.0, 1.0]))
    assert (found.mean, found.sample_sigma) == (1.0, 0.0)
    assert found.standard_error == pytest.approx(math.sqrt(2) / 2)


@pytest.mark.parametrize("iterations", [1, 8, 100])
def test_the_spread_of_executions_is_that_before_averaging(iterations):
    sigma = 0.4
    values = lognormal(7, 1e-5, sigma, (1500, iterations)).mean(axis=1)
    found = estimate(samples(values, keep=False), iterations=iterations)
    assert found.sample_sigma < 1.2 * sigma / math.sqrt(iterations)
    assert execution_sigma([found]).value == pytest.approx(sigma, rel=0.1)


def test_what_a_sample_shares_is_not_multiplied():
    """Frequency steps move whole samples: more iterations do not average them away."""
    shared, single = 0.05, 0.2
    found = []
    for number, iterations in enumerate((4, 40, 400)):
        common = lognormal(20 + number, 1e-5, shared, (2000, 1))
        own = lognormal(30 + number, 1.0, single, (2000, iterations))
        values = (common * own).mean(axis=1)
        found.append(estimate(samples(values, keep=False), iterations=iterations))
    assert execution_sigma(found).value == pytest.approx(math.hypot(shared, single), rel=0.1)
    # Taken alone, the last would pass for executions that differ five times as much.
    assert execution_sigma(found[-1:]).value > 4 * single


@pytest.mark.parametrize(("sigma", "iterations"), [(0.05, (8, 8, 8)), (0.5, (1,)), (0.2, (4, 40))])
def test_a_sigma_is_within_its_standard_error(sigma, iterations):
    def found(seed):
        return execution_sigma(
            [
                estimate(
                    samples(lognormal(1000 * seed + at, 1e-5, sigma, (100, number)).mean(axis=1)),
                    iterations=number,
                )
                for at, number in enumerate(iterations)
            ]
        )

    every = [found(seed) for seed in SEEDS]
    assert 0.91 <= covered((one.value - sigma, one.standard_error) for one in every) <= 0.985
    # Two quantiles tell it little worse than all samples would: s / sqrt(2 n), times 1.36.
    if len(set(iterations)) == 1:
        said = np.median([one.standard_error for one in every]) / sigma
        assert said == pytest.approx(0.96 / math.sqrt(100 * len(iterations)), rel=0.15)


def test_cases_that_disagree_widen_the_error_of_their_sigma():
    alike, apart = (
        execution_sigma([Estimate(1e-5, 1e-8, sigma, 200, independent=200.0) for sigma in sigmas])
        for sigmas in ((0.1, 0.1, 0.1), (0.05, 0.1, 0.2))
    )
    assert apart.standard_error > 4 * alike.standard_error


def test_no_spread_is_no_spread():
    assert execution_sigma([Estimate(1e-5, 1e-8, 0.0, 10, 8)]) == Sigma(0.0, 0.0)


X = np.array([64.0, 138.0, 668.0, 1472.0, 65536.0])


def line(seed, intercept=20e-6, slope=1.5e-9, error=0.01, misfit=0.0):
    random = generator(seed)
    true = intercept + slope * X
    y = true * (1 + random.normal(0, misfit, X.size)) + random.normal(0, error * true)
    return fit_line(X, y, error * true)


@pytest.mark.parametrize("misfit", [0.0, 0.05])
def test_a_line_covers_its_truth_also_where_it_does_not_fit(misfit):
    def missed(found, x):
        true = 20e-6 + 1.5e-9 * x
        y = found.at(x)
        return y - true, math.hypot(found.sampling_error(x), found.lack_of_fit * y)

    found = [line(seed, misfit=misfit) for seed in SEEDS]
    # An error that three residuals tell is that of Student's t: 1.96 of it cover 85.5 %.
    for x in (138.0, 668.0, 65536.0):
        assert covered(missed(one, x) for one in found) >= (0.82 if misfit else 0.92)
    lacks = [one.lack_of_fit for one in found]
    assert np.median(lacks) == pytest.approx(misfit, abs=0.015)


def test_intercept_and_slope_are_what_they_are():
    found = [line(seed) for seed in SEEDS]
    assert np.mean([one.intercept for one in found]) == pytest.approx(20e-6, rel=0.005)
    assert np.mean([one.slope for one in found]) == pytest.approx(1.5e-9, rel=0.005)


@pytest.mark.parametrize(("intercept", "slope"), [(20e-6, -1e-9), (-1e-6, 5e-9)])
def test_no_term_is_negative(intercept, slope):
    x = np.array([1000.0, 2000.0, 4000.0])
    found = fit_line(x, intercept + slope * x, np.full(3, 1e-8))
    assert found.intercept >= 0
    assert found.slope >= 0
    assert found.intercept == 0 or found.slope == 0
    assert min(found.free_errors) > 0
    assert found.lack_of_fit > 0


def test_one_place_has_no_slope():
    found = fit_line(np.zeros(1), np.array([3e-6]), np.array([1e-7]))
    assert (found.intercept, found.slope, found.lack_of_fit) == (pytest.approx(3e-6), 0.0, 0.0)
    assert found.sampling_error(0.0) == pytest.approx(1e-7)


@given(st.floats(1e-9, 1e-1), st.floats(0, 1e-6), st.floats(1e-4, 0.1), st.permutations(range(5)))
def test_an_exact_line_is_found_in_any_order(intercept, slope, error, order):
    x = X[list(order)]
    y = intercept + slope * x
    found = fit_line(x, y, error * y)
    assert [found.at(place) for place in X] == pytest.approx(list(intercept + slope * X), rel=1e-6)


@given(st.floats(0.001, 1000))
def test_a_line_scales_with_its_unit(factor):
    y = (20e-6 + 1.5e-9 * X) * (1 + 0.02 * np.sin(np.arange(X.size)))
    one, other = fit_line(X, y, 0.01 * y), fit_line(X, factor * y, factor * 0.01 * y)
    assert other.intercept == pytest.approx(factor * one.intercept, rel=1e-6)
    assert other.slope == pytest.approx(factor * one.slope, rel=1e-6)
    assert other.lack_of_fit == pytest.approx(one.lack_of_fit, rel=1e-6)


@pytest.mark.parametrize("between", [0.0, 0.1])
def test_a_mean_over_reports_covers_and_finds_what_differs(between):
    def drawn(seed):
        random = generator(seed)
        return combine(10 + random.normal(0, math.hypot(0.2, 10 * between), 8), np.full(8, 0.2))

    found = [drawn(seed) for seed in SEEDS]
    # Of eight reports, Student's t with 7 degrees of freedom: 1.96 cover 90.9 %.
    assert covered((mean.value - 10, mean.standard_error) for mean in found) >= 0.88
    assert np.median([mean.between_sigma() for mean in found]) == pytest.approx(between, abs=0.015)


def test_one_report_is_its_own_mean():
    mean = combine(np.array([5.0]), np.array([0.5]))
    assert (mean.value, mean.standard_error, mean.between_sigma()) == (5.0, pytest.approx(0.5), 0.0)


def test_a_sure_report_weighs_more():
    mean = combine(np.array([10.0, 10.2]), np.array([0.1, 1.0]))
    assert mean.weights == pytest.approx([100 / 101, 1 / 101])


def test_the_standard_error_of_a_mean_is_that_of_the_scatter():
    y = np.array([9.0, 10.0, 11.5, 10.5])
    mean = combine(y, np.full(4, 0.1))
    assert mean.standard_error == pytest.approx(np.std(y, ddof=1) / 2, rel=1e-6)


@given(st.floats(1e-9, 1e9))
def test_a_mean_scales_with_its_unit(factor):
    y, errors = np.array([9.0, 10.0, 11.5, 10.5]), np.array([0.1, 0.2, 0.1, 0.3])
    one, other = combine(y, errors), combine(factor * y, factor * errors)
    assert other.value == pytest.approx(factor * one.value, rel=1e-9)
    assert other.excess == pytest.approx(factor * one.excess, rel=1e-9)
    assert other.standard_error == pytest.approx(factor * one.standard_error, rel=1e-9)


# Of a report: how far from the others, and the logarithm of its error relative to their mean.
reports = st.tuples(st.floats(-0.9, 0.9), st.floats(-3.0, -0.5))


@given(st.floats(1e-7, 1e3), st.floats(0.0, 1.0), st.lists(reports, min_size=2, max_size=12))
def test_means_are_those_of_a_meta_analysis(centre, apart, drawn):
    """Paule and Mandel's mean, as statsmodels has it, which was compared with R's metafor.

    They differ in three things. Where the values scatter less than their errors say, there is no
    excess, and Hartung and Knapp's standard error is that of the scatter, below what the errors
    alone leave; ours is the larger of the two, as no estimate is surer than its data (with an
    excess both are one). Statsmodels stops where the squares are within an absolute tolerance of
    the degrees of freedom, ours where the excess no longer changes, so the former is told to go on.
    And when its last step lands beyond the root by rounding, in one of ten cases, it takes the
    excess to be 0 although the squares say that there is one: those cases show nothing.
    """
    deviations, logarithms = np.array(drawn).T
    y, errors = centre * (1 + apart * deviations), centre * 10**logarithms
    ours = combine(y, errors)
    with np.errstate(divide="ignore"):  # by how much equal values differ
        theirs = combine_effects(y, errors**2, "pm", use_t=True, atol=1e-11, maxiter=1000)
    assume(abs(theirs.scale_hksj_fe - 1) > 1e-9)
    has_excess = theirs.scale_hksj_fe > 1
    assume(theirs.tau2 > 0 or not has_excess)
    assert (ours.excess > 0) == has_excess
    largest = errors.max() ** 2 + theirs.tau2
    assert ours.excess**2 == pytest.approx(theirs.tau2, rel=1e-6, abs=1e-6 * largest)
    assert ours.value == pytest.approx(theirs.mean_effect_re, rel=1e-6)
    assert ours.weights == pytest.approx(theirs.weights_rel_re, rel=1e-4)
    *_, (low, high) = theirs.conf_int(use_t=True)
    of_scatter = (high - low) / 2 / stats.t.ppf(0.975, len(drawn) - 1)
    expected = max(of_scatter, theirs.sd_eff_w_fe if not has_excess else 0.0)
    assert ours.standard_error == pytest.approx(expected, rel=1e-4)


def test_deviations_are_pooled_in_the_units_of_what_deviates():
    # Both deviate by 1, in other shares of what they deviate from.
    alike = [varying(10.0, 0.1), varying(2.0, 0.5)]
    pooled = sigma_of(alike, 5.0)
    assert pooled.value == pytest.approx(math.sqrt(math.log1p(0.2**2)))
    assert 0 < pooled.standard_error < 0.1 * pooled.value
    # One that is further out counts by its samples, and makes it less sure.
    apart = sigma_of([*alike, varying(10.0, 0.4)], 5.0)
    assert apart.value == pytest.approx(math.sqrt(math.log1p((1 + 1 + 16) / 3 / 5**2)))
    assert apart.standard_error > 0.3 * apart.value


def varying(mean, variation):
    """Return an estimate whose samples have this coefficient of variation."""
    sigma = math.sqrt(math.log1p(variation**2))
    return Estimate(mean, 0.0, sigma, 100, independent=100)


def test_differences_that_nearly_reach_zero_are_averaged_as_they_are():
    """Twelve times less what is about as long: a lognormal of them has a mean of milliseconds."""
    left_s = np.array(
        [2e-10, 3e-10, 4e-9, 1e-8, 2e-7, 8e-6, 1.2e-5, 2e-5, 2.1e-5, 3e-5, 4e-5, 9e-5]
    )
    found = estimate(samples(left_s))
    assert found.mean == pytest.approx(left_s.mean())
    assert found.sample_sigma == 0
    assert found.standard_error == pytest.approx(left_s.std(ddof=1) / np.sqrt(12), rel=1e-6)
