"""Tables of quantiles in documents: `{ p5 = 1.0, p50 = 4.0, p95 = 40.0 }`.

What a law makes of one is in `sim.plan.quantile_law`.
"""

from __future__ import annotations

import math
import re
from typing import Annotated

from pydantic import AfterValidator, Field


def _checked(table: dict[str, float]) -> dict[str, float]:
    """Return a table in order of its probabilities, or raise ValueError for what is no law."""
    for key in table:
        if not _KEY.fullmatch(key) or not 0 < float(key[1:]) < _CERTAIN:
            raise ValueError(f"{key} is no percentile; keys are like p5, p50 or p99.9")
    ordered = dict(sorted(table.items(), key=lambda item: float(item[0][1:])))
    before = 0.0
    for key, value in ordered.items():
        if not math.isfinite(value) or value <= 0:
            raise ValueError(f"{key} is {value:g}; values are above 0 and finite")
        if value < before:
            raise ValueError(f"{key} is {value:g}, less than a lower percentile")
        before = value
    return ordered


QuantileTable = Annotated[dict[str, float], Field(min_length=2), AfterValidator(_checked)]
"""Values by percentile: above 0, not decreasing, of two percentiles or more."""
_KEY = re.compile(r"p\d{1,2}(\.\d{1,3})?")
_CERTAIN = 100.0
