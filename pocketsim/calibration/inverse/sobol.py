"""Sobol' indices of a few numbers: which share of a row's variance is whose, alone and together.

Each number is drawn log-uniformly from half to twice its value (Saltelli's design on scipy's Sobol'
points); scenarios keep their seeds. The first-order index is what a number does alone, the total
one what goes when it is held (`sim.base.designs`).
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pocketsim.calibration.inverse.doubling import Played, by_repetition, is_part
from pocketsim.sim.base import designs
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.streams import stream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pocketsim.calibration.inverse.document import Place
    from pocketsim.calibration.inverse.doubling import Number
    from pocketsim.calibration.inverse.journal import Journal
    from pocketsim.calibration.validate import published
    from pocketsim.calibration.validate.answers import RungKey
    from pocketsim.sim.run.forks import Forks
    from pocketsim.sim.scenario.resolved import Resolved

    Floats = npt.NDArray[np.float64]


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
    answers: Mapping[str, Sequence[published.Row]],
    samples: int,
    forks: Forks,
    journal: Journal,
    told: Callable[[int, int], None],
) -> list[Index]:
    """Return the indices of each number for each of `answers`, which name rows they are made of.

    `samples` is a power of 2; samples * (numbers + 2) points are simulated, each the same few
    repetitions. Where one number alone is part of an answer, all of its variance is that number's.
    An answer that never changes, or is no number somewhere, has no indices. `told` gets how many
    points are done, and of how many.
    """
    study = _Study(numbers, answers, forks, journal)
    alone = {name: places[0] for name, places in study.parts.items() if len(places) == 1}
    exact = [
        Index(name, number.documents[0], number.key, *([1.0 if place == own else 0.0] * 6))
        for name, own in alone.items()
        for place, number in enumerate(numbers)
    ]
    study.parts = {name: places for name, places in study.parts.items() if len(places) > 1}
    if not study.parts:
        return exact
    values = _values(study, len(numbers), samples, told)
    usable = [place for place in range(len(study.parts)) if _varies(values[:, place])]
    names = [list(study.parts)[place] for place in usable]
    return exact + (_estimated(numbers, names, values[:, usable], samples) if usable else [])


def _values(study: _Study, count: int, samples: int, told: Callable[[int, int], None]) -> Floats:
    """Return answers at the points of Saltelli's design, each from half to twice the number."""
    from scipy.stats import loguniform

    points = designs.saltelli(samples, count, stream(_SEED, "sensitivity/points"))
    return study.at(loguniform(0.5, 2.0).ppf(points), told)


def _estimated(
    numbers: Sequence[Number], names: Sequence[str], values: Floats, samples: int
) -> list[Index]:
    draws = stream(_SEED, "sensitivity/bootstrap")
    both = designs.sobol_indices(values, samples, draws)
    return [
        Index(
            name,
            number.documents[0],
            number.key,
            *(
                float(part[row, column])
                for found in both
                for part in (found.value, found.low, found.high)
            ),
        )
        for row, name in enumerate(names)
        for column, number in enumerate(numbers)
    ]


def _varies(values: Floats) -> bool:
    return bool(np.isfinite(values).all() and np.ptp(values) > 0)


class _Study:
    """Answers at points, each simulated once for all points that only differ in what is not paid.

    Of most answers most numbers are no part: the cost of what is never done. Such a number changes
    nothing, to the last bit, when it alone is halved or doubled; it stays as it is written then.
    """

    def __init__(
        self,
        numbers: Sequence[Number],
        answers: Mapping[str, Sequence[published.Row]],
        forks: Forks,
        journal: Journal,
    ) -> None:
        every = {row.id: row for rows in answers.values() for row in rows}
        self._numbers, self._answers, self._journal = numbers, answers, journal
        self._played = Played(list(every.values()), _REPETITIONS, 0, forks, more_often=1)
        count = len(numbers)
        self.parts = {name: list(range(count)) for name in answers}
        alone = np.ones((count, count))
        as_is, halved, doubled = (
            self.at(points, _nobody)
            for points in (alone[:1], alone - np.eye(count) / 2, alone + np.eye(count))
        )
        moves = (halved != as_is) | (doubled != as_is)
        self.parts = {
            name: np.flatnonzero(moves[:, place]).tolist() for place, name in enumerate(answers)
        }
        """By answer, the places of the numbers that have a part in it."""

    def at(self, points: Floats, told: Callable[[int, int], None]) -> Floats:
        """Return each answer at each point; one that is gone is 0, one that is refused nan."""
        found = []
        for first in range(0, len(points), _AT_ONCE):
            several = [self._asked(point) for point in points[first : first + _AT_ONCE]]
            self._answer({one.made_from: one for asked in several for one in asked})
            found += [[self._journal.kept(one.made_from) for one in asked] for asked in several]
            told(len(found), len(points))
        return np.array(found, dtype=np.float64)

    def _asked(self, factors: Floats) -> list[_Asked]:
        return [
            _Asked(name, [(self._numbers[part], float(factors[part])) for part in parts])
            for name, parts in self.parts.items()
        ]

    def _answer(self, asked: Mapping[str, _Asked]) -> None:
        """Simulate what is not kept, the rungs of all points at once, and keep it."""
        several: dict[tuple[str, RungKey], Resolved] = {}
        missing = {}
        for made_from, one in asked.items():
            if self._journal.kept(made_from) is not None:
                continue
            try:
                changed = self._played.changed(one.placed(), self._answers[one.name])
            except ScenarioError:  # several numbers together that a document refuses
                self._journal.keep(made_from, math.nan)
                continue
            several |= {(made_from, key): at for key, at in changed.items()}
            missing[made_from] = one
        measured: dict[str, dict[RungKey, Mapping[str, Any]]] = {}
        for (made_from, key), found in self._played.simulated(several).items():
            measured.setdefault(made_from, {})[key] = found
        for made_from, one in missing.items():
            rows = self._answers[one.name]
            keys = [key for key in self._played.as_resolved if _is_of(key, rows)]
            rungs = {**self._played.as_is(keys), **measured.get(made_from, {})}
            _, values = by_repetition(rows, rungs).get(one.name, (None, ()))
            known = [value for value in values if value is not None]
            self._journal.keep(made_from, statistics.fmean(known) if known else 0.0)


class _Asked(NamedTuple):
    """An answer, with some numbers so many times as large as they are written."""

    name: str
    factors: Sequence[tuple[Number, float]]

    @property
    def made_from(self) -> str:
        # By what is written, as counts are rounded.
        several = [(place.document, place.key, value) for place, value in self.placed()]
        return f"{_REPETITIONS} of {self.name} at {several}"

    def placed(self) -> list[tuple[Place, Any]]:
        return [place for number, factor in self.factors for place in number.at(factor)]


def _is_of(key: RungKey, rows: Sequence[published.Row]) -> bool:
    return any(is_part(key, row) for row in rows)


def _nobody(_done: int, _count: int) -> None:
    """Be told how far it is, and tell nobody."""


_SEED = 1  # of the design and of resampling; scenarios keep theirs
_REPETITIONS = 2  # of each point, with random numbers that all points share
_AT_ONCE = 32  # points, so that no core waits long for another
