"""How sure a fit is: profile likelihoods, whose 95 % interval is Wilks's.

A parameter is set to values further and further from the best on either side, up to its bounds;
for each, the others go where a quadratic surface through all trials so far is least, and, as
another trial, stay where they are best. The lesser loss of the two counts: both are simulated. The
interval ends where the loss is half of chi-squared's 95 % quantile above the least, found by
interpolation and one more value there. Where it never is, the rows do not say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.inverse.search import At, Search
    from pocketsim.calibration.inverse.trials import Trial


@dataclass(frozen=True)
class Interval:
    """95 % of a parameter, in SI units; an end that is `open` is where its prior ends."""

    low: float
    high: float
    low_open: bool
    high_open: bool

    @property
    def verdict(self) -> str:
        """In words, what the rows say of the parameter."""
        return _VERDICTS[self.low_open, self.high_open]


@dataclass
class _Side:
    """One side of the best: what is inside the interval so far, and how far it goes."""

    bound: float
    inside: tuple[float, float]
    end: float | None = None


def interval(search: Search, best: Trial, number: int, steps: int) -> Interval:
    """Return the interval of the scaled parameter `number`, after at most `steps` values a side."""
    places = search.space.at(best.values)
    here, least = places[number], search.loss(best)
    sides = [_Side(bound, (here, 0.0)) for bound in (0.0, 1.0)]
    for power in range(steps - 1, -1, -1):
        asked = [
            (side, here + (side.bound - here) * 2.0**-power)
            for side in sides
            if side.end is None and side.bound != here
        ]
        losses = _profile(search, best, number, [at for _, at in asked])
        for (side, at), loss in zip(asked, losses, strict=True):
            rise = max(loss - least, 0.0)
            if rise < THRESHOLD:
                side.inside = (at, rise)
            else:
                side.end = _between(side.inside, (at, rise))
                (again,) = _profile(search, best, number, [side.end])
                closer = (side.end, max(again - least, 0.0))
                pair = (side.inside, closer) if closer[1] >= THRESHOLD else (closer, (at, rise))
                side.end = _between(*pair)
    name = [one.name for one in search.space.parameters if one.name in search.space.scales][number]
    scale = search.space.scales[name]
    low, high = (side.bound if side.end is None else side.end for side in sides)
    return Interval(scale.value(low), scale.value(high), sides[0].end is None, sides[1].end is None)


def _profile(search: Search, best: Trial, number: int, values: Sequence[float]) -> list[float]:
    """Return the least loss known with a parameter at each of some places."""
    chosen = search.space.chosen(best.values)
    there = search.space.at(best.values)
    like = [
        trial
        for trial in search.trials.asked.values()
        if search.space.chosen(trial.values) == chosen
    ]
    surface = search.surface(like) if len(there) > 1 else None
    asked: list[At] = []
    for value in values:
        stay = tuple(value if n == number else at for n, at in enumerate(there))
        loose = range(len(there))
        ridge = surface.bottom({number: value}, loose, there) if surface else None
        asked += [stay, ridge or stay]
    made = search.make(asked, chosen)
    losses = [search.loss(trial) for trial in made]
    return [min(pair) for pair in zip(losses[::2], losses[1::2], strict=True)]


def _between(inside: tuple[float, float], outside: tuple[float, float]) -> float:
    """Return where the rise is the threshold, its root taken to be straight between two places."""
    near, far = math.sqrt(inside[1]), math.sqrt(outside[1])
    share = (math.sqrt(THRESHOLD) - near) / (far - near)
    return inside[0] + share * (outside[0] - inside[0])


THRESHOLD = 3.841458820694124 / 2  # of chi-squared with one degree of freedom (Wilks 1938)
_VERDICTS = {
    (False, False): "identified",
    (True, False): "bounded above only",
    (False, True): "bounded below only",
    (True, True): "not identified",
}
