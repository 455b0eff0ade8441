"""Quantiles of durations that were only counted by bucket, as the engine's ledger has them.

A bucket stands for its middle, which is off by at most half its width: `quantile_error` of a
statement, as a share of the duration (sim/engine/src/histogram.rs). Nothing here reads a trace.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.sim.base.told import Spread

    Array = np.ndarray[Any, Any]


def count(spread: Spread) -> int:
    """Return how many durations there are."""
    return sum(spread["count"])


def mean_s(spread: Spread) -> float:
    """Return their mean in seconds, from their sum and not from buckets; NaN of none."""
    return spread["sum_s"] / count(spread) if spread["count"] else math.nan


def percentiles_s(spreads: Sequence[Spread], percents: Sequence[float] | Array) -> Array:
    """Return percentiles of all durations of some spreads, in seconds; NaN of none.

    Between two ranks one is on the line between their durations, as numpy's percentile is.
    """
    middles_s = np.concatenate([(np.add(one["from_s"], one["to_s"])) / 2 for one in spreads])
    order = np.argsort(middles_s, kind="stable")
    counts = np.concatenate([np.asarray(one["count"], dtype=np.int64) for one in spreads])
    ends = np.cumsum(counts[order])
    if not ends.size:
        return np.full(len(percents), math.nan)
    rank = np.asarray(percents) / 100 * (ends[-1] - 1)
    below, above = np.floor(rank), np.ceil(rank)
    below_s, above_s = (
        middles_s[order][np.searchsorted(ends, at, side="right")] for at in (below, above)
    )
    found: Array = below_s + (above_s - below_s) * (rank - below)
    return found
