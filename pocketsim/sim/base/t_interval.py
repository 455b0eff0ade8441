"""Student's t: its quantiles, and the degrees of freedom of sums of estimated errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def quantile(degrees: float) -> float:
    """Return the 97.5 % quantile of Student's t: half a 95 % interval, in standard errors."""
    from scipy import special  # scipy.stats.t.ppf is this, and takes three times as long to import

    return float(special.stdtrit(degrees, 0.975))


def one_sigma(degrees: float) -> float:
    """Return the quantile of Student's t that one standard deviation is of a normal: 84.1 %."""
    from scipy import special

    return float(special.stdtrit(degrees, _ONE_SIGMA))


def satterthwaite(variances: Sequence[float], freedoms: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of variances (Biometrics Bulletin 2, 1946, 110)."""
    total = sum(variances)
    doubt = sum(one**2 / freedom for one, freedom in zip(variances, freedoms, strict=True))
    return total**2 / doubt if doubt > 0 else math.inf


def freedom_of_sum(variances: Sequence[float], freedoms: Sequence[float]) -> float:
    """Return the degrees of freedom at which Student's 95 % interval has the width of a sum's.

    The halves of the parts' intervals add up as their errors do. Satterthwaite's rule goes by the
    variances alone: where one of few degrees of freedom is small by chance, it takes the sum to be
    as good as known, or as unknown as the other part.
    """
    from scipy import special

    total = sum(variances)
    if total <= 0:
        return math.inf
    parts = zip(variances, freedoms, strict=True)
    half = math.sqrt(sum(one * quantile(freedom) ** 2 for one, freedom in parts) / total)
    return float(special.stdtridf(0.975, half)) if half > quantile(_MANY) else math.inf


_MANY = 1e6  # degrees of freedom: as good as normal
_ONE_SIGMA = 0.8413447460685429
