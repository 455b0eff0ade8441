"""Quantiles of durations that were only counted by bucket, as the engine's ledger has them.

A bucket stands for its middle, which is off by at most half its width: `quantile_error` of a
statement, as a share of the duration (sim/engine/src/base/histogram.rs). Nothing here reads a
trace.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.sim.base.engine_output import Spread

    Array = np.ndarray[Any, Any]


def count(spread: Spread) -> int:
    """Return how many durations there are."""
    return sum(spread["count"])


def mean_s(spread: Spread) -> float:
    """Return their mean in seconds, from their sum and not from buckets; NaN of none."""
    return spread["sum_s"] / count(spread) if spread["count"] else math.nan


def percentiles_s(spreads: Sequence[Spread], percents: Sequence[float] | Array) -> Array:
    """Return percentiles of all durations of some spreads, in seconds; NaN of none."""
    middles = np.concatenate([middles_s(one) for one in spreads])
    counts = np.concatenate([np.asarray(one["count"], dtype=np.int64) for one in spreads])
    return percentiles(middles, counts, percents)


def middles_s(spread: Spread) -> Array:
    """Return what each bucket stands for, in seconds."""
    found: Array = np.add(spread["from_s"], spread["to_s"]) / 2
    return found


def percentiles(values: Array, counts: Array, percents: Sequence[float] | Array) -> Array:
    """Return percentiles of values, each of which is there `counts` times; NaN of none.

    Between two ranks one is on the line between their values, as numpy's percentile is.
    """
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(counts[order])
    if not ends.size:
        return np.full(len(percents), math.nan)
    rank = np.asarray(percents) / 100 * (ends[-1] - 1)
    below, above = np.floor(rank), np.ceil(rank)
    low, high = (values[order][np.searchsorted(ends, at, side="right")] for at in (below, above))
    found: Array = low + (high - low) * (rank - below)
    return found
