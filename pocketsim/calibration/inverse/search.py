"""Searches for the least loss on scales from 0 to 1, a generation of trials at a time.

One number is searched in brackets, several by CMA-ES (cmaes's), which a quadratic surface through
its trials then polishes; choices are all tried. Asked, made and told in order, a search with the
same seed and losses is the same search.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pocketsim.calibration.inverse.document import Parameter
    from pocketsim.calibration.inverse.key_paths import Unit
    from pocketsim.calibration.inverse.priors import Scale
    from pocketsim.calibration.inverse.trials import Trial, Trials, Values

At = tuple[float, ...]
"""Where a trial lies: for each parameter that is no choice, on its scale."""


@dataclass(frozen=True)
class Space:
    """The parameters of a fit; `scales` of those that are no choice, by name."""

    parameters: Sequence[Parameter]
    units: Mapping[str, Unit]
    scales: Mapping[str, Scale]

    def values(self, at: At, chosen: Sequence[Any]) -> Values:
        """Return the parameters' values in their order: scaled ones, and the choices made."""
        scaled, choices = iter(at), iter(chosen)
        return tuple(
            self.scales[parameter.name].value(next(scaled))
            if parameter.name in self.scales
            else next(choices)
            for parameter in self.parameters
        )

    def at(self, values: Values) -> At:
        """Return where values lie."""
        return tuple(
            self.scales[parameter.name].at(value)
            for parameter, value in zip(self.parameters, values, strict=True)
            if parameter.name in self.scales
        )

    def chosen(self, values: Values) -> Values:
        """Return the values of the choices."""
        pairs = zip(self.parameters, values, strict=True)
        return tuple(value for parameter, value in pairs if parameter.name not in self.scales)

    def choices(self) -> Iterable[Values]:
        """Return every combination of what is chosen; one, of nothing, where nothing is."""
        lists = [
            parameter.prior.values
            for parameter in self.parameters
            if parameter.prior.kind == "choice"
        ]
        return itertools.product(*lists)


@dataclass(frozen=True)
class Search:
    """A search over a space: how many trials, under which seed, and what of a trial counts."""

    space: Space
    trials: Trials
    budget: int
    seed: int
    loss: Callable[[Trial], float]

    def best(self, today: Values, free: Sequence[bool] | None = None) -> Trial:
        """Return the trial of least loss; of equals that with `today`'s choices.

        What is not `free` stays where it is today.
        """
        start = self.space.at(today)
        loose = [number for number, one in enumerate(free or [True] * len(start)) if one]
        found: list[Trial] = []
        for chosen in self.space.choices() if free is None else [self.space.chosen(today)]:
            found += self._over(start, loose, chosen)
        return min(
            found,
            key=lambda trial: (
                self.loss(trial),
                self.space.chosen(trial.values) != self.space.chosen(today),
            ),
        )

    def make(self, several: Sequence[At], chosen: Sequence[Any]) -> list[Trial]:
        """Return trials of places on the scales."""
        return self.trials.make([self.space.values(at, chosen) for at in several])

    def _over(self, start: At, loose: Sequence[int], chosen: Values) -> list[Trial]:
        def make(several: Sequence[At]) -> list[Trial]:
            full = []
            for at in several:
                place = list(start)
                for number, value in zip(loose, at, strict=True):
                    place[number] = value
                full.append(tuple(place))
            return self.make(full, chosen)

        if not loose:
            return make([()])
        if len(loose) == 1:
            return self._bracketed(make)
        return self._evolved(make, len(loose), start, loose, chosen)

    def _bracketed(self, make: Callable[[Sequence[At]], list[Trial]]) -> list[Trial]:
        """Look at places evenly over a bracket, go on between the neighbours of the best."""
        found: list[Trial] = []
        low, high = 0.0, 1.0
        while len(found) < self.budget:
            inside = np.linspace(low, high, _INSIDE + 2)
            made = make([(float(at),) for at in inside])
            found += made
            best = int(np.argmin([self.loss(trial) for trial in made]))
            low = float(inside[max(best - 1, 0)])
            high = float(inside[min(best + 1, _INSIDE + 1)])
        return found

    def _evolved(
        self,
        make: Callable[[Sequence[At]], list[Trial]],
        size: int,
        start: At,
        loose: Sequence[int],
        chosen: Values,
    ) -> list[Trial]:
        """Search by CMA-ES from the middle of the priors, and polish what it finds."""
        try:
            from cmaes import CMA
        except ImportError:
            raise EnvironmentMissingError(_NO_CMAES) from None

        middle, bounds = np.full(size, 0.5), np.tile((0.0, 1.0), (size, 1))
        search = CMA(middle, _SIGMA, bounds, seed=self.seed)
        found = make([tuple(middle.tolist())])
        while len(found) < self.budget:
            asked = [search.ask() for _ in range(search.population_size)]
            made = make([tuple(at.tolist()) for at in asked])
            search.tell([(at, self.loss(one)) for at, one in zip(asked, made, strict=True)])
            found += made
        for _ in range(_POLISHES):
            surface = self.surface(found)
            bottom = surface.bottom({}, loose, start) if surface else None
            if bottom is None:
                break
            found += self.make([bottom], chosen)
        return found

    def surface(self, trials: Sequence[Trial]) -> Surface | None:
        """Return a quadratic through the losses of the better trials; None of too few."""
        ordered = sorted(trials, key=self.loss)
        size = len(self.space.scales)
        needed = 1 + size + size * (size + 1) // 2
        if len(ordered) < needed:
            return None
        least = self.loss(ordered[0])
        width = max(_NEAR, self.loss(ordered[: 2 * needed][-1]) - least)
        near = [trial for trial in ordered if self.loss(trial) <= least + width]
        places = np.array([self.space.at(trial.values) for trial in near])
        losses = np.array([self.loss(trial) for trial in near])
        varied = [n for n in range(size) if np.ptp(places[:, n]) > 0]
        return Surface.through(places, losses, width, varied) if varied else None


@dataclass(frozen=True)
class Surface:
    """A quadratic in the places `varied`, with its centre at the least of its trials."""

    centre: np.ndarray[Any, Any]
    varied: Sequence[int]
    slope: np.ndarray[Any, Any]
    curve: np.ndarray[Any, Any]

    @classmethod
    def through(
        cls,
        places: np.ndarray[Any, Any],
        losses: np.ndarray[Any, Any],
        width: float,
        varied: Sequence[int],
    ) -> Surface:
        """Return the quadratic of least squares, that of better trials weighing more."""
        centre = places[int(np.argmin(losses))]
        moved = (places - centre)[:, varied]
        pairs = list(itertools.combinations_with_replacement(range(len(varied)), 2))
        columns = [np.ones(len(moved)), *moved.T, *(moved[:, i] * moved[:, j] for i, j in pairs)]
        weights = np.exp(-2 * (losses - losses.min()) / width)
        matrix = np.stack(columns, axis=1) * weights[:, None]
        solved, *_ = np.linalg.lstsq(matrix, losses * weights, rcond=1e-9)
        curve = np.zeros((len(varied), len(varied)))
        for (i, j), value in zip(pairs, solved[1 + len(varied) :], strict=True):
            curve[i, j] += value
            curve[j, i] += value
        return cls(centre, varied, solved[1 : 1 + len(varied)], curve)

    def bottom(self, fixed: Mapping[int, float], loose: Sequence[int], start: At) -> At | None:
        """Return where the surface is least with `fixed` places; None where it has no bottom.

        Places that are not `loose` stay at `start`.
        """
        place = np.array(start, dtype=float)
        place[list(loose)] = self.centre[list(loose)]
        for number, value in fixed.items():
            place[number] = value
        free = [k for k, number in enumerate(self.varied) if number not in fixed]
        held = [k for k, number in enumerate(self.varied) if number in fixed]
        if not free:
            return tuple(float(one) for one in place)
        moved = np.array([fixed[self.varied[k]] - self.centre[self.varied[k]] for k in held])
        inner = self.curve[np.ix_(free, free)]
        pull = self.slope[free] + (self.curve[np.ix_(free, held)] @ moved if held else 0.0)
        if np.linalg.eigvalsh(inner).min() <= _FLAT:
            return None
        step = -np.linalg.solve(inner, pull)
        for k, change in zip(free, step, strict=True):
            number = self.varied[k]
            place[number] = self.centre[number] + change
        return tuple(float(one) for one in np.clip(place, 0.0, 1.0))


_NO_CMAES = (
    "cmaes is missing, with which fits are searched: run `make setup`, or install pocketsim with "
    "the extra `fit`"
)
_INSIDE = 5  # places inside a bracket, a third of which is left each time
_SIGMA = 0.2  # of the scale: the priors' bulk, a fifth of it from the middle
_POLISHES = 5
_NEAR = 8.0  # of the loss: what a 95 % interval of four parameters spans, nearly twice
_FLAT = 1e-6
