"""Designs fill the cube as they say, and find effects that are known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from pocketsim.sim.base import designs
from pocketsim.sim.base.streams import stream

EVERY = [designs.latin_hypercube, designs.sobol, designs.saltelli, designs.morris]


def ishigami(points):
    """Ishigami and Homma 1990, of angles from -pi to pi, with a = 7 and b = 0.1."""
    one, two, three = ((2 * points - 1) * np.pi).T
    return np.sin(one) + 7 * np.sin(two) ** 2 + 0.1 * three**4 * np.sin(one)


def ishigami_indices():
    """First-order and total indices in closed form (Saltelli et al. 2010, table 1's function)."""
    of_one = (1 + 0.1 * np.pi**4 / 5) ** 2 / 2
    of_two = 7**2 / 8
    together = 0.1**2 * np.pi**8 * (1 / 18 - 1 / 50)
    whole = of_one + of_two + together
    first = np.array([of_one, of_two, 0]) / whole
    return first, first + np.array([together, 0, together]) / whole


@pytest.mark.parametrize("design", EVERY)
def test_points_are_in_the_cube_and_the_same_for_the_same_draws(design):
    points = design(8, 3, stream(7, "design"))
    assert points.shape[1] == 3
    assert points.min() >= 0
    assert points.max() <= 1
    assert np.array_equal(points, design(8, 3, stream(7, "design")))
    assert not np.array_equal(points, design(8, 3, stream(8, "design")))


@pytest.mark.parametrize("design", [designs.latin_hypercube, designs.sobol])
def test_each_slice_of_each_factor_has_one_point(design):
    points = design(16, 4, stream(1, "slices"))
    for column in points.T:
        assert sorted((column * 16).astype(int)) == list(range(16))


def test_saltellis_points_mix_two_samples_factor_by_factor():
    one, other, *mixed = designs.saltelli(8, 3, stream(1, "mixed")).reshape(5, 8, 3)
    for place, points in enumerate(mixed):
        assert np.array_equal(points[:, place], other[:, place])
        left = [factor for factor in range(3) if factor != place]
        assert np.array_equal(points[:, left], one[:, left])
    assert abs(np.corrcoef(one[:, 0], other[:, 0])[0, 1]) < 0.9


def test_morris_moves_each_factor_once_a_trajectory_by_two_thirds():
    points = designs.morris(5, 4, stream(1, "walk")).reshape(5, 5, 4)
    steps = np.diff(points, axis=1)
    assert np.allclose(np.sort(np.abs(steps), axis=2)[..., :-1], 0)
    assert np.allclose(np.abs(steps).max(axis=2), 2 / 3)
    assert np.allclose(np.abs(steps).sum(axis=1), 2 / 3), "each once"
    assert set(np.round(points * 3).ravel()) == {0, 1, 2, 3}
    orders = {tuple(np.argmax(np.abs(walk), axis=1)) for walk in steps}
    assert len(orders) > 1, "not always in the same order"
    assert (steps.sum(axis=1) < 0).any()
    assert (steps.sum(axis=1) > 0).any()


@pytest.mark.parametrize("seed", range(5))
def test_the_indices_of_ishigami_lie_in_their_intervals(seed):
    points = designs.saltelli(2048, 3, stream(seed, "points"))
    answers = np.column_stack([ishigami(points), points[:, 0]])
    found = designs.sobol_indices(answers, 2048, stream(seed, "again"))
    for estimate, exact in zip(found, ishigami_indices(), strict=True):
        assert estimate.value.shape == (2, 3)
        assert (estimate.low[0] <= exact).all()
        assert (exact <= estimate.high[0]).all()
        assert (estimate.high[0] - estimate.low[0] < 0.15).all(), "intervals that say something"
        assert np.allclose(estimate.value[1], [1, 0, 0], atol=0.1), "another answer, apart"


def covered(samples, studies=60):
    """Return the share of exact indices of Ishigami's function that lie in their intervals."""
    held = []
    for seed in range(studies):
        points = designs.saltelli(samples, 3, stream(seed, "points"))
        found = designs.sobol_indices(ishigami(points)[:, None], samples, stream(seed, "again"))
        held += [
            (estimate.low[0] <= exact) & (exact <= estimate.high[0])
            for estimate, exact in zip(found, ishigami_indices(), strict=True)
        ]
    return np.mean(held)


@pytest.mark.slow
def test_intervals_of_as_many_samples_as_are_advised_hold_the_indices(monkeypatch):
    monkeypatch.setattr(designs, "_RESAMPLES", 150)
    assert 0.92 <= covered(designs.FEWEST_SAMPLES) <= 0.98
    assert covered(16) < 0.92


def test_few_samples_are_warned_of():
    assert designs.doubt_of_samples(designs.FEWEST_SAMPLES) == ""
    assert "of 16 samples" in designs.doubt_of_samples(16)


def test_a_single_answer_has_indices_too():
    points = designs.saltelli(64, 2, stream(1, "points"))
    first, total = designs.sobol_indices(points[:, :1], 64, stream(1, "again"))
    assert first.value.shape == total.low.shape == (1, 2)
    assert np.allclose(total.value, [[1, 0]], atol=0.1)


def test_an_answer_that_never_changes_depends_on_nothing():
    points = designs.saltelli(8, 2, stream(1, "points"))
    first, _ = designs.sobol_indices(np.ones((len(points), 1)), 8, stream(1, "again"))
    assert not first.value.any()


def test_elementary_effects_of_a_plane_are_its_slopes():
    points = designs.morris(10, 3, stream(1, "walk"))
    answers = np.column_stack([points @ [3, -2, 0], points[:, 1]])
    absolute, mean, spread = designs.elementary_effects(points, answers, stream(1, "again"))
    assert np.allclose(mean.value, [[3, -2, 0], [0, 1, 0]])
    assert np.allclose(absolute.value, [[3, 2, 0], [0, 1, 0]])
    for part in (spread.value, absolute.high - absolute.low, mean.high - mean.low):
        assert np.allclose(part, 0)


def test_a_factor_that_acts_with_another_has_a_spread():
    points = designs.morris(40, 3, stream(1, "walk"))
    answers = (points[:, 0] * points[:, 1])[:, None]
    absolute, _, spread = designs.elementary_effects(points, answers, stream(1, "again"))
    assert (spread.value[0, :2] > 0.2).all()
    assert spread.value[0, 2] == absolute.value[0, 2] == 0
    # Of x * y with y on a grid of four levels that the moves leave evenly visited.
    assert (absolute.low[0, :2] <= 0.5).all()
    assert (absolute.high[0, :2] >= 0.5).all()


def test_morris_finds_the_factors_of_ishigami_that_act_alone_and_together():
    points = designs.morris(50, 3, stream(3, "walk"))
    found = designs.elementary_effects(points, ishigami(points)[:, None], stream(3, "again"))
    absolute, mean, spread = (part.value[0] for part in found)
    # In closed form on this grid: sin of an angle from -pi to pi by two thirds of its range.
    assert absolute[1] == pytest.approx(7 * 0.75 * 1.5, rel=1e-6)
    assert abs(mean[2]) < absolute[2], "its sign depends on the first"
    assert spread[2] > 0.5 * absolute[2]
