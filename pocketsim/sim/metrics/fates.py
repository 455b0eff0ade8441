"""What became of transactions: stored, lost with a reason, or in flight at the end.

Fates are those of ARCHITECTURE.md ("What must stay true"): every transaction has one, and they add
up. Rates, ratios and latencies are in `sim.metrics.trades`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.sim.trace.columns import Columns

    Array = np.ndarray[Any, Any]


def of(part: Columns, messages: Array) -> dict[str, Any]:
    """Return what became of the transactions `messages` in the rows of one repetition.

    Of what happened to one, in whatever order of time, the first of these counts: stored; given up;
    a datagram dropped; refused.
    """
    lost: dict[str, int] = {}
    left = _distinct(messages)
    sent = left.size
    left = left[~_among(left, _distinct(part.of_kind("store").message))]
    stored = sent - left.size
    for kind in ("lose", "drop", "refuse"):
        left = _take_lost(part.of_kind(kind), left, lost)
    assert stored + sum(lost.values()) + left.size == sent, "a transaction has no fate"
    return {"sent": sent, "stored": stored, "lost": lost, "in_flight": left.size}


def total(fates: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums over repetitions."""
    reasons = sorted({reason for fate in fates for reason in fate["lost"]})
    found: dict[str, Any] = {
        key: sum(int(fate[key]) for fate in fates) for key in ("sent", "stored", "in_flight")
    }
    found["lost"] = {
        reason: sum(int(fate["lost"].get(reason, 0)) for fate in fates) for reason in reasons
    }
    assert found["stored"] + found["in_flight"] + sum(found["lost"].values()) == found["sent"]
    return found


def _take_lost(rows: Columns, left: Array, lost: dict[str, int]) -> Array:
    """Count in `lost` by reason which of `left` `rows` explain; return the others."""
    # A duplicate was refused because the transaction itself is on its way.
    harmless = [code for code, name in enumerate(rows.reasons) if name == "duplicate"]
    rows = rows.where(_among(rows.message, left) & ~np.isin(rows.reason, harmless))
    # The last word counts: reversed, unique's first index is the latest row.
    taken, latest = np.unique(rows.message[::-1], return_index=True)
    codes, counts = np.unique(rows.reason[::-1][latest], return_counts=True)
    for code, count in zip(codes, counts, strict=True):
        name = rows.reasons[code] if code >= 0 else "unknown"
        lost[name] = lost.get(name, 0) + int(count)
    return left[~_among(left, taken)]


def _distinct(values: Array) -> Array:
    """Return the sorted distinct values; numpy's unique hashes, slowly for numbers in a row."""
    ordered = np.sort(values)
    first: Array = np.concatenate(([True], ordered[1:] != ordered[:-1]))[: ordered.size]
    distinct: Array = ordered[first]
    return distinct


def _among(values: Array, ordered: Array) -> Array:
    """Return which of `values` are in `ordered`, which is sorted."""
    if not ordered.size:
        return np.zeros(values.shape, dtype=bool)
    place = np.minimum(np.searchsorted(ordered, values), ordered.size - 1)
    found: Array = ordered[place] == values
    return found
