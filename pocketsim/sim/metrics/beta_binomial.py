"""How large a share may be that few repetitions showed any of, where a repetition's trials agree.

Each repetition has a chance of its own, drawn from a beta law, and its trials share it. Such shares
near 0 are skewed: most repetitions show next to nothing, and what they scatter says little of the
few that would show much. The likelihood of their counts does (Williams, Biometrics 31(4), 1975,
949-952). Nothing here reads a trace; `sim.metrics.intervals` is who asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]


def upper_bound(shares: Array | Sequence[float], trials: Array | Sequence[float]) -> float:
    """Return the 95 % upper bound of the mean of shares, each of so many trials of one repetition.

    It is the end of the profile likelihood's interval of two sides, `_DROP` below the largest. The
    intra-class correlation of trials is any up to 0.5, or to the likeliest where that is larger. So
    none of 5 times 400 bounds the share by 0.07; independent trials alone would bound it by 0.002,
    and trials that all share one fate by 0.32.
    """
    from scipy import optimize

    counts = _Counts(np.asarray(shares, dtype=float), np.asarray(trials, dtype=float))
    found = optimize.minimize_scalar(
        lambda logit: -counts.log_likelihoods(logit).max(), bounds=(-_FAR, _FAR), method="bounded"
    )
    at_best = counts.log_likelihoods(found.x)
    # Where no trial hit, nothing tells how alike trials are.
    likeliest = counts.correlations[at_best.argmax()] if np.any(shares) else 0.0
    allowed = counts.correlations <= max(_CORRELATION, likeliest)
    least = at_best.max() - _DROP

    def above(logit: float) -> float:
        return float(counts.log_likelihoods(logit)[allowed].max() - least)

    return 1.0 if above(_FAR) > 0 else _share(optimize.brentq(above, found.x, _FAR, xtol=1e-4))


class _Counts:
    """Counts of repetitions, equal ones together, and correlations that may have made them."""

    def __init__(self, shares: Array, trials: Array) -> None:
        pairs = np.stack([shares * trials, trials])
        ((self._hits, self._trials), self._times) = np.unique(pairs, axis=1, return_counts=True)
        usual = np.geomspace(_NEARLY_NONE / trials.max(), _CORRELATION, _CORRELATIONS)
        self.correlations = np.concatenate([usual, _HIGH])

    def log_likelihoods(self, logit: float) -> Array:
        """Return the log likelihood of a mean share, by its logit, at each correlation."""
        from scipy.special import betaln

        share, weight = _share(logit), 1 / self.correlations[:, None] - 1
        hit, missed = share * weight, _share(-logit) * weight
        each = betaln(self._hits + hit, self._trials - self._hits + missed) - betaln(hit, missed)
        found: Array = each @ self._times
        return found


def _share(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))


_CORRELATION = 0.5
# Half of chi-square's quantile is 1.92, and of 20 values Student's t ends 2.08 below the largest.
# By 1.92, shares of 0.02 with a correlation of 0.3 are covered in 1 to 2 of 100 studies less.
_DROP = 2.2
_CORRELATIONS = 20  # a factor of about two apart
_NEARLY_NONE = 0.01  # times as much variance of a repetition as independent trials have
_HIGH = (0.6, 0.7, 0.8, 0.9, 0.95)  # as repetitions have of which some fail as a whole
_FAR = 16.0  # a logit: shares of 1e-7 and 1 - 1e-7
