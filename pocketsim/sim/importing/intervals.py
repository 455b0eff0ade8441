"""Intervals of somebody, or of a pair: those that overlap or touch made one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def merged(who: Codes, begin: Floats, end: Floats) -> tuple[Codes, Floats, Floats]:
    """Return the union of each one's intervals, sorted by who and begin."""
    if not who.size:
        return who, begin, end
    order = np.lexsort((begin, who))
    who, begin, end = who[order], begin[order], end[order]
    is_other = np.r_[True, who[1:] != who[:-1]]
    latest = _latest(end, is_other)
    begins = is_other | np.r_[True, begin[1:] > latest[:-1]]
    last = np.r_[np.flatnonzero(begins)[1:] - 1, who.size - 1]
    return who[begins], begin[begins], latest[last]


def _latest(end: Floats, is_other: npt.NDArray[np.bool_]) -> Floats:
    """Return the latest end so far of the same, who begins anew where `is_other`."""
    if (is_other[1:] | (end[1:] >= end[:-1])).all():
        return end
    # Ranks of ends are whole, so that adding who is exact.
    ends, rank = np.unique(end, return_inverse=True)
    base = (np.cumsum(is_other) - 1) * ends.size
    latest: Floats = ends[np.maximum.accumulate(base + rank) - base]
    return latest


def pairs(one: Codes, other: Codes, people: int) -> Codes:
    """Return a code for each pair, whichever stands first."""
    return np.minimum(one, other) * people + np.maximum(one, other)


def apart(pair: Codes, people: int) -> tuple[Codes, Codes]:
    """Return whom a code of a pair is of."""
    one, other = np.divmod(pair, people)
    return one, other
