"""Errors that are estimates themselves: quantiles of Student's t, and the freedom of their sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def quantile(degrees: float) -> float:
    """Return below what 97.5 % of Student's t are: half an interval of 95 %, in its errors."""
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


_ONE_SIGMA = 0.8413447460685429
