"""A positive law given by its quantiles: what a table of a trace says where no family fits.

Between two knots the logarithm of the value is linear in the normal score of the probability, so
that each piece is a lognormal of its own. Beyond the outer knots the law has their values. Means
and length-biased quantiles are exact: over a piece with x = exp(a + b z) the partial mean is
exp(a + b^2 / 2) times the normal probability of the piece shifted by b.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.base.streams import Floats


@dataclass(frozen=True)
class PiecewiseLognormal:
    """A law by its values at `probability`, both increasing and above 0; the latter below 1."""

    probability: tuple[float, ...]
    value: tuple[float, ...]

    @classmethod
    def of_table(cls, table: Mapping[str, float]) -> PiecewiseLognormal:
        """Return the law of a table by percent, as {"p5": 1.0, "p50": 4.0}."""
        found = sorted((float(key[1:]) / 100, value) for key, value in table.items())
        return cls(tuple(at for at, _ in found), tuple(value for _, value in found))

    def quantile(self, share: Floats, shift: Floats | float = 0.0, within: float = 1.0) -> Floats:
        """Return the inverse of the distribution function.

        Of somebody whose values lie higher or lower than those of all: `shift` moves the normal
        score, and `within` is the deviation of scores that is left around it. As shifts of
        deviation sqrt(1 - within^2) have it, all together follow the law.
        """
        from scipy import special

        return self.at_score(shift + within * special.ndtri(share))

    def at_score(self, score: Floats) -> Floats:
        """Return the value at a normal score: the quantile of the probability of that score."""
        value: Floats = np.exp(np.interp(score, self._score, np.log(self.value)))
        return value

    def mean(self, shift: Floats | float = 0.0, within: float = 1.0) -> Floats:
        """Return the mean, of everybody or at each shift of the score."""
        return self._cumulative(shift, within)[..., -1]

    def shift_of_mean(self, mean: Floats, within: float) -> Floats:
        """Return the shifts at which means are as wanted, as far as the table goes."""
        grid = np.linspace(-_SHIFT_MAX, _SHIFT_MAX, _SHIFTS)
        log_mean = np.log(self.mean(grid, within))
        shift: Floats = np.interp(np.log(mean), log_mean, grid)
        return shift

    def length_biased_quantile(
        self, share: Floats, shift: Floats | float = 0.0, within: float = 1.0
    ) -> Floats:
        """Return the same for a value met in proportion to its size, of density x f(x) / mean."""
        from scipy import special

        share = np.asarray(share)
        shift = np.broadcast_to(np.asarray(shift, dtype=np.float64), share.shape)
        cumulative = self._cumulative(shift, within)
        wanted = share * cumulative[..., -1]
        piece = (wanted[..., None] >= cumulative[..., 1:-1]).sum(axis=-1)
        slope = self._slope[piece] * within
        begins = special.ndtr((self._low[piece] - shift) / within - slope)
        below = np.take_along_axis(cumulative, piece[..., None], axis=-1)[..., 0]
        inside = begins + (wanted - below) / self._scale(shift, within, piece)
        # Rounding may leave the piece by the last digit of a probability next to 1.
        score = special.ndtri(np.clip(inside, begins, 1 - 2.0**-53)) + slope
        return self.at_score(shift + within * score)

    @cached_property
    def _score(self) -> Floats:
        from scipy import special

        score: Floats = special.ndtri(np.array(self.probability))
        return score

    @cached_property
    def _low(self) -> Floats:
        return np.concatenate(([-np.inf], self._score))

    @cached_property
    def _slope(self) -> Floats:
        """Return d log x / d score of each piece: none beyond the outer knots."""
        inside: Floats = np.diff(np.log(self.value)) / np.diff(self._score)
        return np.concatenate(([0.0], inside, [0.0]))

    @cached_property
    def _first(self) -> Floats:
        """Return log x at score 0 of each piece, were it to go there."""
        log_value = np.log(self.value)
        inside: Floats = log_value - self._slope[1:] * self._score
        return np.concatenate(([log_value[0]], inside))

    def _scale(
        self, shift: Floats | float, within: float, piece: npt.NDArray[np.int64] | slice
    ) -> Floats:
        """Return exp(a + b^2 / 2) of pieces, with what a shift and a deviation make of a and b."""
        slope = self._slope[piece]
        scale: Floats = np.exp(self._first[piece] + slope * shift + (slope * within) ** 2 / 2)
        return scale

    def _cumulative(self, shift: Floats | float, within: float) -> Floats:
        """Return the partial means below each piece, and the mean, along the last axis."""
        from scipy import special

        shift = np.asarray(shift, dtype=np.float64)[..., None]
        bounds = (np.concatenate((self._low, [np.inf])) - shift) / within
        slope = self._slope * within
        below = special.ndtr(bounds[..., 1:] - slope) - special.ndtr(bounds[..., :-1] - slope)
        parts = self._scale(shift, within, slice(None)) * below
        found: Floats = np.concatenate(
            (np.zeros((*shift.shape[:-1], 1)), np.cumsum(parts, axis=-1)), axis=-1
        )
        return found


_SHIFT_MAX, _SHIFTS = 10.0, 2001
