"""What became of transactions: stored, lost with a reason, or in flight at the end.

Fates are those of ARCHITECTURE.md ("What must stay true"): every transaction has one, and they add
up. Rates, ratios and latencies are in `sim.metrics.trades`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.sim.trace.columns import Columns

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Fated:
    """Transactions by what became of them; those that are lost by the reason."""

    stored: Array
    lost: dict[str, Array]
    in_flight: Array


def of(part: Columns, messages: Array) -> dict[str, Any]:
    """Return how many of the transactions `messages` came to what, as `each` says."""
    found = each(part, messages)
    lost = {reason: some.size for reason, some in found.lost.items()}
    stored, in_flight = found.stored.size, found.in_flight.size
    sent = stored + sum(lost.values()) + in_flight
    return {"sent": sent, "stored": stored, "lost": lost, "in_flight": in_flight}


def each(part: Columns, messages: Array) -> Fated:
    """Return what became of the transactions `messages` in the rows of one repetition.

    Of what happened to one, in whatever order of time, the first of these counts: stored; given up;
    a datagram dropped; refused.
    """
    lost: dict[str, list[Array]] = {}
    sent = _distinct(messages)
    is_stored = _among(sent, _distinct(part.of_kind("store").message))
    stored, left = sent[is_stored], sent[~is_stored]
    for kind in ("lose", "drop", "refuse"):
        left = _take_lost(part.of_kind(kind), left, lost)
    joined = {reason: np.concatenate(some) for reason, some in lost.items()}
    known = stored.size + sum(some.size for some in joined.values()) + left.size
    assert known == sent.size, "a transaction has no fate"
    return Fated(stored, joined, left)


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


def _take_lost(rows: Columns, left: Array, lost: dict[str, list[Array]]) -> Array:
    """Put into `lost`, by reason, which of `left` `rows` explain; return the others."""
    # A duplicate was refused because the transaction itself is on its way.
    harmless = [code for code, name in enumerate(rows.reasons) if name == "duplicate"]
    rows = rows.where(_among(rows.message, left) & ~np.isin(rows.reason, harmless))
    # The last word counts: reversed, unique's first index is the latest row.
    taken, latest = np.unique(rows.message[::-1], return_index=True)
    reason = rows.reason[::-1][latest]
    for code in _distinct(reason).tolist():
        name = rows.reasons[code] if code >= 0 else "unknown"
        lost.setdefault(name, []).append(taken[reason == code])
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
