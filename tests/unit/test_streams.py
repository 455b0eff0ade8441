import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.streams import Lanes, engine_seed, pick_bucket, stream, truncated_normal

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


def test_truncated_normal_has_the_right_mean_and_no_negative():
    draws = [truncated_normal(1, str(number), 1.0, 0.2) for number in range(2000)]
    assert min(draws) >= 0
    assert np.mean(draws) == pytest.approx(1, abs=0.02)
    assert np.std(draws) == pytest.approx(0.2, abs=0.02)
    half = [truncated_normal(1, str(number), 0.0, 1.0) for number in range(2000)]
    assert min(half) >= 0
    assert np.mean(half) == pytest.approx(np.sqrt(2 / np.pi), abs=0.06)


def test_no_uncertainty_no_draw():
    assert truncated_normal(1, "a", 3.5, 0) == 3.5
