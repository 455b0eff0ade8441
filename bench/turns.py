"""Ratios within a turn: they travel between machines and minutes, rates do not."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Spread(NamedTuple):
    """The least, the median and the largest of what turns came to."""

    low: float
    median: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Return how values spread."""
    return Spread(min(values), statistics.median(values), max(values))


def ratios(turns: Sequence[Mapping[str, float]], name: str, to: str) -> Spread:
    """Return how the ratio of one rate to another, each of one turn, spreads over turns."""
    return spread([turn[name] / turn[to] for turn in turns])
