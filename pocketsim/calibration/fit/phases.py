"""Slow and fast phases of a device: for seconds all that it computes takes longer, or less.

A processor's clock, its temperature and whoever shares it are the same for samples that were taken
one after the other, and others a few seconds later. Reports time the same cases in several rounds
some seconds apart, so by how much a case is off its mean over the rounds, in logarithms, is a
course in time of which all cases tell a part. The phase is what neighbours share of it: an
autoregressive process of order 1, with the covariance `sigma^2 exp(-apart / time)`, fitted to the
products of pairs of cases by how far apart in time they are. What a case has alone is in none of
them. What does not live here: how single executions scatter
(`calibration.fit.samples.execution_sigma`), and what a whole report shares.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pocketsim.calibration.fit.probe_report import Measurement, Report

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Phase:
    """Deviation of the logarithm, in how many s it is forgotten to 1/e, and their errors."""

    sigma: float
    sigma_error: float
    time_s: float
    time_error_s: float
    samples: int


@dataclass(frozen=True)
class Covariances:
    """Sums over pairs of parts of cases, by how far apart they are: products, and how many."""

    products: Array
    pairs: Array
    parts: int
    variance: float  # of a part

    @property
    def apart_s(self) -> Array:
        """The middles of the classes, s."""
        return np.sqrt(_APART_S[:-1] * _APART_S[1:])


def phase(reports: Sequence[Report]) -> Phase | None:
    """Return what reports of a device say of its phases; None where they are sure of none."""
    told = [covariances(report) for report in reports]
    known = [one for one in told if one.pairs.sum()]
    if not known:
        return None
    found = _fitted(known)
    left_out = [
        _fitted(known[:place] + known[place + 1 :]) for place in range(len(known)) if len(known) > 1
    ]
    errors = _jackknifed(np.array(left_out)) if left_out else _of_one(known[0], found)
    if found[0] ** 2 <= _SURE * _by_chance(known, found[1]):
        return None
    return Phase(found[0], errors[0], found[1], errors[1], sum(one.parts for one in known))


@functools.lru_cache(maxsize=64)
def covariances(report: Report) -> Covariances:
    """Return how alike parts of a report's cases are by how far apart they are; none of itself."""
    parts = list(_parts(report))
    if not parts:
        empty = np.zeros(len(_APART_S) - 1)
        return Covariances(empty, empty, 0, 0.0)
    at_s, off, case = (np.array(column) for column in zip(*parts, strict=True))
    first, second = np.triu_indices(at_s.size, 1)
    others = case[first] != case[second]
    first, second = first[others], second[others]
    classes = np.digitize(np.abs(at_s[first] - at_s[second]), _APART_S) - 1
    inside = (classes >= 0) & (classes < len(_APART_S) - 1)
    products = np.bincount(
        classes[inside], off[first[inside]] * off[second[inside]], len(_APART_S) - 1
    )
    pairs = np.bincount(classes[inside], None, len(_APART_S) - 1)
    return Covariances(products, pairs, at_s.size, float(np.mean(off**2)))


def _parts(report: Report) -> Iterator[tuple[float, float, int]]:
    """Yield parts of the rounds of cases that only compute: when, how far off, and which case."""
    for number, case in enumerate(report.document.measurements):
        samples = case.quantity("cpu_s")
        if case.group not in _COMPUTE or case.threads != 1 or case.core_class or not samples:
            continue
        rounds = _split(case, samples.values)
        if len(rounds) < _FEWEST_ROUNDS:
            continue
        # The mean over the rounds takes a part of each: so much is put back.
        widening = math.sqrt(len(rounds) / (len(rounds) - 1))
        middle = float(np.mean([np.log(values).mean() for _, values in rounds]))
        for at_s, values in rounds:
            ends_s = at_s + np.cumsum(values) * (case.iterations_per_sample or 1)
            for times, logs in zip(
                np.array_split(ends_s, _PARTS), np.array_split(np.log(values), _PARTS), strict=True
            ):
                if logs.size:
                    yield float(times.mean()), widening * (float(logs.mean()) - middle), number


def _split(case: Measurement, values: Sequence[float] | None) -> list[tuple[float, Array]]:
    """Return when each round began and its samples; nothing where they are not told apart."""
    counts = [each.samples for each in case.rounds]
    if values is None or sum(counts) != len(values) or min(values) <= 0 or 0 in counts:
        return []
    parts = np.split(np.array(values), np.cumsum(counts)[:-1])
    return [(each.at_s, part) for each, part in zip(case.rounds, parts, strict=True)]


def _fitted(known: Sequence[Covariances]) -> tuple[float, float]:
    """Return sigma and time of the least squares, weighted by pairs; sigma 0 of none."""
    pairs = np.sum([one.pairs for one in known], axis=0)
    products = np.sum([one.products for one in known], axis=0)
    there = pairs > 0
    weights, apart_s = pairs[there], known[0].apart_s[there]
    means = products[there] / weights
    shapes = np.exp(-apart_s / _TIMES_S[:, None])
    variances = np.maximum(0.0, shapes @ (weights * means) / (shapes**2 @ weights))
    left = ((means - variances[:, None] * shapes) ** 2) @ weights
    best = int(np.argmin(left))
    return math.sqrt(float(variances[best])), float(_TIMES_S[best])


def _by_chance(known: Sequence[Covariances], time_s: float) -> float:
    """Return the standard error of a variance that is fitted where there are no phases.

    What a case has alone is alike in all parts of its round, so that pairs of those count as one.
    """
    pairs = np.sum([one.pairs for one in known], axis=0) / _PARTS**2
    squares = np.sum([one.pairs * one.variance**2 for one in known], axis=0) / _PARTS**2
    shape = np.exp(-known[0].apart_s / time_s)
    return math.sqrt(float(shape**2 @ squares)) / float(shape**2 @ pairs)


def _jackknifed(left_out: Array) -> tuple[float, float]:
    """Return the standard errors by what was found without each report in turn."""
    count = len(left_out)
    spread = np.sqrt((count - 1) / count * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    return float(spread[0]), float(spread[1])


def _of_one(one: Covariances, found: tuple[float, float]) -> tuple[float, float]:
    """Return the standard errors of one report.

    It has seen as many phases as fit into the time of its parts, `_PASS_S` in each round, one for
    each two times; a deviation of so many is known to `1 / sqrt(2 n)`, a time to `sqrt(2 / n)`.
    """
    sigma, time_s = found
    phases = max(1.0, _PASS_S / (2 * time_s)) if one.parts else 1.0
    return sigma / math.sqrt(2 * phases), time_s * math.sqrt(2 / phases)


_COMPUTE = {"crypto", "serialisation"}
_PARTS = 4  # of a round: some 50 ms each
_FEWEST_ROUNDS = 2
_PASS_S = 10.0  # of computing kernels in a quick report
_APART_S = np.geomspace(0.05, 6.0, 11)
"""Classes of pairs by how far apart they are, s: less than between two rounds."""
_TIMES_S = np.geomspace(0.05, 10.0, 60)
"""Correlation times that are tried, s."""
_SURE = 3.0  # standard errors from none: the time of the largest is chosen
