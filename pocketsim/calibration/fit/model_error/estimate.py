"""From published rows and runs that predict them to a deviation of log ratios; plays nothing.

Each session of measurements is left out in turn. What is off at all its rows is the session's own,
so degrees of freedom are sessions, not rows. Rows that a fit has seen even so have no part in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.calibration.host.discrepancy import Discrepancy, variance_left
from pocketsim.sim.base.model_error import half_log, widened
from pocketsim.sim.metrics.intervals import Z_95

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Predicted:
    """A published figure beside the repetitions that predict it, both in one unit.

    `half95` is half the printed interval of 95 %, 0 where none is printed, `resolution` the step
    that it was rounded to. `is_fitted` says that a fit has seen the row, though its session was
    left out where that is possible.
    """

    row: str
    session: str
    published: float
    half95: float
    values: tuple[float, ...]
    is_fitted: bool = False
    resolution: float = 0.0

    @property
    def middle(self) -> float:
        """The median of the repetitions."""
        return float(np.median(self.values))

    @property
    def drawn(self) -> tuple[float, float]:
        """Where 90 % of the repetitions are, without any error of the model."""
        low, high = np.quantile(self.values, (0.05, 0.95))
        return float(low), float(high)

    def is_held(self, error: Discrepancy) -> bool:
        """Return whether what was printed may be within the interval of 90 % with this error."""
        half = half_log(error.sigma, error.degrees_of_freedom)
        low, high = widened(self.drawn[0], self.middle, self.drawn[1], half)
        rounded = self.resolution / 2
        return low - rounded <= self.published <= high + rounded


def estimated(rows: Iterable[Predicted]) -> Discrepancy:
    """Return the deviation that rows which no fit has seen tell, with one freedom per session.

    Sessions weigh alike, and in a session its rows. What explains a row is the width of its
    repetitions, its printed interval and its rounding. Rows with a bound at 0 have no log ratio and
    tell nothing.
    """
    by_session: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if not row.is_fitted and row.drawn[0] > 0 and row.published > 0:
            by_session.setdefault(row.session, []).append(_square(row))
    if not by_session:
        return Discrepancy(0.0, 0)
    known = [pair for pairs in by_session.values() for pair in pairs]
    weights = [1 / len(pairs) for pairs in by_session.values() for _ in pairs]
    return Discrepancy(math.sqrt(variance_left(known, weights)), len(by_session))


@dataclass(frozen=True)
class Held:
    """How many published figures are in their interval of 90 %, of one session left out."""

    session: str
    error: Discrepancy
    rows: int
    without: int
    """Within what repetitions are alone."""
    held: int
    """With the error in it that the other sessions tell."""


def left_out(rows: Sequence[Predicted]) -> list[Held]:
    """Return for each session how many of its rows the others' error holds; no fitted rows."""
    predicted = [row for row in rows if not row.is_fitted]
    found = []
    for session in dict.fromkeys(row.session for row in predicted):
        error = estimated(row for row in predicted if row.session != session)
        own = [row for row in predicted if row.session == session]
        without = sum(row.is_held(Discrepancy(0.0, 0)) for row in own)
        held = sum(row.is_held(error) for row in own)
        found.append(Held(session, error, len(own), without, held))
    return found


def _square(row: Predicted) -> tuple[float, float]:
    """Return a row's squared log ratio, and the variance that the row itself explains."""
    low, high = row.drawn
    own = (math.log(high / low) / _WIDTH_SIGMAS) ** 2
    own += (row.half95 / Z_95 / row.published) ** 2
    own += (row.resolution / row.published) ** 2 / 12  # of a uniform error
    return math.log(row.published / row.middle) ** 2, own


_WIDTH_SIGMAS = 2 * 1.6449  # of a normal law, between its 5 and 95 %
