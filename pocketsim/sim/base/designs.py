"""Where a study looks, as points of the unit cube, and what answers there say of its factors.

Latin hypercubes and Sobol' sequences fill the cube; Saltelli's design and Morris' are made to ask
which factor matters, and how sure that is. Nothing here knows what a factor is or what simulates.
Points are arrays of shape (points, factors), from 0 to 1; draws come from who asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Estimate:
    """A statistic with its 95 % interval; arrays of one shape."""

    value: Floats
    low: Floats
    high: Floats


def latin_hypercube(points: int, factors: int, draws: np.random.Generator) -> Floats:
    """Return points of which each of as many equal slices of each factor has one.

    McKay, Beckman, Conover 1979, by `scipy.stats.qmc`.
    """
    from scipy.stats import qmc

    found: Floats = qmc.LatinHypercube(factors, rng=_seed(draws)).random(points)
    return found


def sobol(points: int, factors: int, draws: np.random.Generator) -> Floats:
    """Return the first points, a power of 2 of them, of a scrambled Sobol' sequence.

    Sobol' 1967, scrambled as by Owen, by `scipy.stats.qmc`.
    """
    from scipy.stats import qmc

    found: Floats = qmc.Sobol(factors, rng=_seed(draws)).random(points)
    return found


def saltelli(samples: int, factors: int, draws: np.random.Generator) -> Floats:
    """Return the samples * (factors + 2) points that Sobol' indices are estimated from.

    Two samples come first; then, for each factor, the first with that factor of the second
    (Saltelli et al. 2010). `samples` is a power of 2.
    """
    one, other = sobol(samples, factors, draws), sobol(samples, factors, draws)
    # Of one sequence, or in its order, few points of two dimensions may go together, and the
    # estimators ask for points that do not.
    other = draws.permutation(other)
    mixed = [np.where(np.arange(factors) == place, other, one) for place in range(factors)]
    return np.concatenate([one, other, *mixed])


def sobol_indices(
    answers: Floats, samples: int, draws: np.random.Generator
) -> tuple[Estimate, Estimate]:
    """Return first-order and total indices of each factor, of shape (answers, factors).

    `answers`, of shape (points, answers), are those at the points of `saltelli`. The first-order
    index is the share of an answer's variance that goes when a factor alone is known, the total one
    the share that is left when all others are. By `scipy.stats.sobol_indices`; intervals are
    percentiles of a bootstrap over the samples. Those of an answer that never changes are 0.

    Of Ishigami's function, over 250 designs, 64 samples are the fewest whose intervals hold: they
    cover 91 to 98 % of the exact indices, 95 % on average, and estimates scatter by 0.04 to 0.15
    (standard deviation). 32 samples cover 89 to 97 % and scatter by 0.06 to 0.21, 16 cover 88 to
    92 % and scatter by 0.11 to 0.31, 256 scatter by 0.02 to 0.07.
    """
    from scipy.stats import sobol_indices

    blocks = answers.reshape(-1, samples, answers.shape[1]).transpose(0, 2, 1)
    values = {"f_A": blocks[0], "f_B": blocks[1], "f_AB": blocks[2:]}

    def both(chosen: Integers) -> Floats:
        some = {key: value[..., chosen] for key, value in values.items()}
        found = sobol_indices(func=some, n=samples)
        shape = answers.shape[1], len(blocks) - 2  # of a single answer, scipy leaves it out
        return np.array([found.first_order.reshape(shape), found.total_order.reshape(shape)])

    found = _with_interval(both, samples, draws)
    return found(0), found(1)


def doubt_of_samples(samples: int) -> str:
    """Return what to say of indices of so few samples; nothing where they are enough."""
    if samples >= FEWEST_SAMPLES:
        return ""
    return (
        f"Sobol' indices of {samples} samples are off by 0.1 to 0.3 and their intervals too "
        f"narrow; take {FEWEST_SAMPLES} or more"
    )


def morris(trajectories: int, factors: int, draws: np.random.Generator) -> Floats:
    """Return trajectories * (factors + 1) points, of which each differs from the last in a factor.

    Each trajectory begins anywhere on a grid of four levels and moves every factor once, in any
    order, by two thirds of its range up or down (Morris 1991; 4 levels and 2/3 as Campolongo et al.
    2007 have them).
    """
    found = []
    for _ in range(trajectories):
        low = draws.integers(0, _LEVELS // 2, factors) / (_LEVELS - 1)
        begins_high = draws.integers(0, 2, factors).astype(bool)
        order = draws.permutation(factors)
        # After so many steps, whether a factor has moved.
        moved = np.arange(factors + 1)[:, None] > np.argsort(order)[None, :]
        found.append(low + _STEP * (moved ^ begins_high))
    return np.concatenate(found)


def elementary_effects(
    points: Floats, answers: Floats, draws: np.random.Generator, taken: Floats | None = None
) -> tuple[Estimate, Estimate, Estimate]:
    """Return mu*, mu and sigma of each factor's effects, of shape (answers, factors).

    `points` are of `morris`, `answers`, of shape (points, answers), those there. An effect is by
    how much an answer changes per range of a factor; mu* is the mean of its absolute value
    (Campolongo et al. 2007), mu its mean, sigma its standard deviation over trajectories, which
    says whether it depends on where the others are. Intervals are percentiles of a bootstrap over
    trajectories. `taken` are the points that were taken instead, where values are whole numbers;
    a step that was none has no effect.
    """
    factors = points.shape[1]
    places = points.reshape(-1, factors + 1, factors)
    values = answers.reshape(-1, factors + 1, answers.shape[1])
    steps = np.diff(places, axis=1)
    moved = np.argmax(np.abs(steps), axis=2)
    went = np.diff((points if taken is None else taken).reshape(places.shape), axis=1)
    size = np.take_along_axis(went, moved[..., None], axis=2)
    effects = np.empty((len(places), factors, answers.shape[1]))
    each = np.divide(np.diff(values, axis=1), size, out=np.zeros_like(effects), where=size != 0)
    np.put_along_axis(effects, moved[..., None], each, axis=1)

    def all_three(chosen: Integers) -> Floats:
        some = effects[chosen]
        spread = some.std(axis=0, ddof=1)
        return np.array([np.abs(some).mean(axis=0).T, some.mean(axis=0).T, spread.T])

    found = _with_interval(all_three, len(places), draws)
    return found(0), found(1), found(2)


def _seed(draws: np.random.Generator) -> int:
    # scipy's designs ask for a generator that can spawn others, which no stream can.
    return int(draws.integers(2**63))


def _with_interval(
    statistic: Callable[[Integers], Floats], samples: int, draws: np.random.Generator
) -> Callable[[int], Estimate]:
    """Return what gives a part of `statistic` of all samples, with what resampling makes of it."""
    again = draws.integers(0, samples, (_RESAMPLES, samples))
    low, high = np.nanquantile([statistic(chosen) for chosen in again], _BOUNDS, axis=0)
    best = statistic(np.arange(samples))
    return lambda part: Estimate(best[part], low[part], high[part])


FEWEST_SAMPLES = 64
"""Whose intervals hold the indices of a function that is known; `sobol_indices` has the figures."""
_LEVELS, _STEP = 4, 2 / 3
_RESAMPLES = 500
_BOUNDS = (0.025, 0.975)
