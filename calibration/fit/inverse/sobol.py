"""Sobol' indices of a few numbers: which share of a row's variance is whose, alone and together.

Each number is drawn log-uniformly from half to twice its value (Saltelli's design on scipy's Sobol'
points); scenarios keep their seeds. The first-order index is what a number does alone, the total
one what goes when it is held. scipy.stats.sobol_indices, Saltelli et al. 2010.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from calibration.fit.inverse.doubling import Played
from calibration.validate.comparison import answered
from sim.base.errors import ScenarioError
from sim.base.streams import stream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from calibration.fit.inverse.doubling import Number
    from calibration.validate import published
    from sim.run.forks import Forks

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]


class Index(NamedTuple):
    """What a number has of the variance of a row's answer; `low` and `high` are of 95 %."""

    row: str
    document: str
    key: str
    first: float
    first_low: float
    first_high: float
    total: float
    total_low: float
    total_high: float


def indices(
    numbers: Sequence[Number],
    rows: Sequence[published.Row],
    names: Sequence[str],
    samples: int,
    forks: Forks,
) -> list[Index]:
    """Return the indices of each number for each answer in `names`, from `rows`.

    `samples` is a power of 2; samples * (numbers + 2) points are simulated, each the same few
    repetitions. An answer that lacks a value somewhere, or never changes, has no indices.
    """
    from scipy.stats import loguniform, qmc, sobol_indices

    played = Played(rows, _REPETITIONS, 0, forks)
    seed = int(stream(_SEED, "sensitivity/points").integers(2**63))
    unit = qmc.Sobol(2 * len(numbers), rng=seed).random(samples)
    factors = loguniform(0.5, 2.0).ppf(unit)
    one, other = factors[:, : len(numbers)], factors[:, len(numbers) :]

    def answers(points: Floats) -> Floats:
        return np.array([_at(played, numbers, point, names) for point in points]).T

    mixed = [answers(_with_column(one, other, place)) for place in range(len(numbers))]
    values = {"f_A": answers(one), "f_B": answers(other), "f_AB": np.array(mixed)}
    usable = [place for place in range(len(names)) if _varies(values, place)]
    values = {key: value[..., usable, :] for key, value in values.items()}

    def both(chosen: Integers) -> Floats:
        found = sobol_indices(
            func={key: value[..., chosen] for key, value in values.items()}, n=samples
        )
        return np.array([found.first_order, found.total_order])

    if not usable:
        return []
    again = stream(_SEED, "sensitivity/bootstrap").integers(0, samples, (_RESAMPLES, samples))
    low, high = np.nanquantile([both(chosen) for chosen in again], (0.025, 0.975), axis=0)
    best = both(np.arange(samples))
    return [
        Index(
            names[place],
            number.documents[0],
            number.key,
            *(float(part[kind, row, column]) for kind in (0, 1) for part in (best, low, high)),
        )
        for row, place in enumerate(usable)
        for column, number in enumerate(numbers)
    ]


def _with_column(points: Floats, other: Floats, column: int) -> Floats:
    mixed = points.copy()
    mixed[:, column] = other[:, column]
    return mixed


def _varies(values: Mapping[str, Floats], place: int) -> bool:
    every = np.concatenate([value[..., place, :].ravel() for value in values.values()])
    return bool(np.isfinite(every).all() and np.ptp(every) > 0)


def _at(
    played: Played, numbers: Sequence[Number], factors: Floats, names: Sequence[str]
) -> list[float]:
    placed = [
        place
        for number, factor in zip(numbers, factors, strict=True)
        for place in number.at(float(factor))
    ]
    try:
        changed = played.changed(placed)
    except ScenarioError:
        return [math.nan] * len(names)  # several numbers together that a document refuses
    now = played.as_is(played.as_resolved) | played.measure(changed)
    found = {row.id: row.simulated for row in answered(played.rows, now)}
    return [math.nan if (value := found.get(name)) is None else value for name in names]


_SEED = 1  # of the design and of resampling; scenarios keep theirs
_RESAMPLES = 500
_REPETITIONS = 2  # of each point, with random numbers that all points share
