from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pocketsim.sim.base import streams
from pocketsim.sim.base.streams import (
    Lanes,
    engine_seed,
    pick_bucket,
    positive,
    probability,
    stream,
)

PINNED_STREAM = [3367130057, 457144593, 687023527]
PINNED_BITS = [7335557513852430659, 16317666374808303204]
PINNED_SEED = 5272487632354528488


def test_streams_are_pinned():
    # A change here changes every result ever recorded.
    assert stream(1, "a").integers(0, 2**32, 3).tolist() == PINNED_STREAM
    assert Lanes(1, "a").bits([0, 1], 0).tolist() == PINNED_BITS
    assert engine_seed(1, 0) == PINNED_SEED


def test_names_and_seeds_give_different_streams():
    draws = {float(stream(seed, name).random()) for seed in range(3) for name in "abc"}
    assert len(draws) == 9


@given(st.integers(1, 50), st.integers(1, 50))
def test_a_lane_does_not_depend_on_the_others(few, more):
    lanes = Lanes(3, "x")
    few_draws = lanes.uniform(np.arange(few), 5)
    more_draws = lanes.uniform(np.arange(few + more), 5)
    assert few_draws.tolist() == more_draws[:few].tolist()


def test_lanes_are_uniform_and_uncorrelated():
    draws = Lanes(9, "u").uniform(np.arange(2000)[:, None], np.arange(50)[None, :])
    assert 0 < draws.min() < draws.max() < 1
    counts, _ = np.histogram(draws, bins=100, range=(0, 1))
    # Chi-square with 99 degrees of freedom: 99.9 % lies below 148.
    assert ((counts - 1000) ** 2 / 1000).sum() < 148
    for one, other in ((draws[:-1], draws[1:]), (draws[:, :-1], draws[:, 1:])):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.013  # four sigma


@settings(max_examples=10)
@given(st.integers(1, 30), st.integers(0, 2**32))
def test_each_lane_may_have_its_own_number_of_buckets(buckets, seed):
    bits = Lanes(seed, "b").bits(np.arange(200), 0)
    own = 1 + np.arange(200) % buckets
    found = pick_bucket(bits, own)
    assert found.tolist() == [pick_bucket(bits, count)[at] for at, count in enumerate(own.tolist())]


@given(st.integers(1, 300), st.integers(0, 2**32))
def test_a_new_bucket_takes_and_never_shuffles(buckets, seed):
    bits = Lanes(seed, "b").bits(np.arange(200), 0)
    before, after = pick_bucket(bits, buckets), pick_bucket(bits, buckets + 1)
    assert before.min() >= 0
    assert before.max() < buckets
    moved = before != after
    assert (after[moved] == buckets).all()


def test_buckets_are_even():
    counts = np.bincount(pick_bucket(Lanes(4, "b").bits(np.arange(70_000), 0), 7))
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 22.5  # 99.9 % of chi-square, 6 degrees


LAWS = {
    positive: [(1.0, 0.2), (2e-4, 2e-4), (0.02, 0.1), (5.0, 1e-6)],
    probability: [(0.47, 0.13), (0.5, 0.4), (0.01, 0.05), (1.0, 0.0)],
}


@pytest.mark.parametrize(
    ("law", "mean", "error"), [(law, *case) for law, cases in LAWS.items() for case in cases]
)
def test_draws_keep_mean_and_error(monkeypatch, law, mean, error):
    """Integrated over the one uniform number that a draw takes: no luck of a seed in it."""
    shares = iter(midpoints := (np.arange(40_000) + 0.5) / 40_000)
    monkeypatch.setattr(streams, "_share", lambda *_: next(shares))
    drawn = np.array([law(1, "x", mean, error) for _ in midpoints])
    assert drawn.min() >= 0
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    # Midpoints leave the far tail of the widest out.
    assert drawn.std() == pytest.approx(error, rel=0.25 if error > mean else 0.01, abs=1e-12)
    assert (np.diff(drawn) >= 0).all(), "more for a larger number, whatever else changes"


@pytest.mark.parametrize(("law", "mean"), [(positive, 0.0), (probability, 0.0), (probability, 1.0)])
def test_draws_at_a_bound_deviate_by_the_error(monkeypatch, law, mean):
    shares = iter(midpoints := (np.arange(20_000) + 0.5) / 20_000)
    monkeypatch.setattr(streams, "_share", lambda *_: next(shares))
    drawn = np.array([law(1, "x", mean, 0.1) for _ in midpoints])
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    assert np.sqrt(np.mean((drawn - mean) ** 2)) == pytest.approx(0.1, rel=0.01)
    assert (np.diff(drawn) >= 0).all()


def test_a_cost_as_uncertain_as_it_is_large_is_not_inflated():
    draws = np.array([positive(3, str(number), 1.0, 1.0) for number in range(20_000)])
    assert draws.mean() == pytest.approx(1.0, abs=4 / np.sqrt(draws.size))
    # The median of a lognormal with as much deviation as mean; a cut normal's mean is 1.29.
    assert np.median(draws) == pytest.approx(np.sqrt(0.5), rel=0.03)


def test_draws_of_two_means_are_coupled():
    draws = np.array(
        [[positive(1, str(number), mean, 0.3) for mean in (1.0, 2.0)] for number in range(300)]
    )
    order = np.argsort(draws[:, 0])
    assert (np.diff(draws[order, 1]) > 0).all()


@pytest.mark.parametrize(("mean", "error"), [(0.5, 0.5), (0.01, 0.1), (0.0, 1.0), (1.0, 1.5)])
def test_a_probability_with_too_large_an_error_does_not_exist(mean, error):
    with pytest.raises(ValueError, match="no probability of"):
        probability(1, "x", mean, error)


@pytest.mark.parametrize("random", [0.0, 1 - 2**-53])
def test_the_ends_of_the_uniform_are_finite(monkeypatch, random):
    monkeypatch.setattr(streams, "stream", lambda *_: SimpleNamespace(random=lambda: random))
    for mean in (0.0, 0.4, 1.0):
        assert 0 <= probability(1, "x", mean, 0.2) <= 1
        assert 0 <= positive(1, "x", mean, 0.2) < 100


@pytest.mark.parametrize("law", [positive, probability])
def test_number_without_error_is_not_drawn(law):
    assert law(1, "a", 0.35, 0) == 0.35


@pytest.mark.parametrize(("mean", "error"), [(1e-160, 5e-3), (1e-300, 0.5), (5e-324, 1e308)])
def test_an_error_far_beyond_its_number_is_drawn(mean, error):
    drawn = [positive(seed, "latency", mean, error) for seed in range(100)]
    assert all(0 <= value < float("inf") for value in drawn)


@pytest.mark.parametrize("relative", [1e-3, 1.0, 1e6, 1e149, 1e151, 1e160])
def test_the_variance_of_a_lognormal_goes_on_where_squares_end(relative):
    far = 2 * np.log(relative) if relative > 1e10 else np.log1p(relative**2)
    assert streams.lognormal_variance(1.0, relative) == pytest.approx(far, rel=1e-12)
