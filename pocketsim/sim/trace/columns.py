"""Rows of one repetition's trace as numpy columns, and how rows of two kinds find each other.

What reads results starts here, and shares two statistics; nothing here says what a row means for a
figure.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base.arrow import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Columns:
    """The columns of one repetition as arrays of one length, in order of time."""

    time_s: Array
    node: Array
    kind: Array  # codes into kinds
    message: Array
    peer: Array  # -1 for none
    size_bytes: Array
    reason: Array  # codes into reasons, -1 for none
    logged: Array
    kinds: tuple[str, ...]
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, table: pa.Table) -> Columns:
        """Return the columns of a table of one repetition."""
        kind, kinds = _codes(table["kind"])
        reason, reasons = _codes(table["reason"])
        return cls(
            time_s=numbers(table["time_s"]),
            node=numbers(table["node"]),
            kind=kind,
            message=numbers(table["message_id"]),
            peer=numbers(table["peer"]),
            size_bytes=numbers(table["message_size"]),
            reason=reason,
            logged=numbers(table["logged"]),
            kinds=kinds,
            reasons=reasons,
        )

    def where(self, mask: Array) -> Columns:
        """Return the rows that `mask` picks."""
        if mask.all():
            return self
        return self._rows(np.flatnonzero(mask))  # six times faster than as many masks

    def between(self, from_s: float, until_s: float) -> Columns:
        """Return the rows from a time up to and with another; nothing is copied."""
        first = int(np.searchsorted(self.time_s, from_s, side="left"))
        return self._rows(slice(first, int(np.searchsorted(self.time_s, until_s, side="right"))))

    def of_kind(self, name: str) -> Columns:
        """Return the rows of one kind of event."""
        code = self.kinds.index(name) if name in self.kinds else -1
        return self.where(self.kind == code)

    def of_kinds(self, *names: str) -> Columns:
        """Return the rows of several kinds."""
        return self.where(self.is_any(*names))

    def is_any(self, *names: str) -> Array:
        """Return of each row whether it is of one of these kinds."""
        found: Array = np.isin(
            self.kind, [self.kinds.index(one) for one in names if one in self.kinds]
        )
        return found

    def measured(self, duration_s: float) -> Columns:
        """Return what the app's log holds at the end of the measurement."""
        return self.where(self.logged & (self.time_s <= duration_s))

    def _rows(self, place: Array | slice) -> Columns:
        names = ("time_s", "node", "kind", "message", "peer", "size_bytes", "reason", "logged")
        return replace(self, **{name: getattr(self, name)[place] for name in names})


def split(events: pa.Table, repetitions: int) -> list[pa.Table]:
    """Return the rows of each repetition."""
    edges = np.searchsorted(numbers(events["repetition"]), np.arange(repetitions + 1))
    pairs = itertools.pairwise(edges.tolist())
    return [events.slice(start, end - start) for start, end in pairs]


def times_by_message(found: Columns, wanted: Columns) -> Array:
    """Return for each row of `wanted` the time of the first row of `found` on its transaction."""
    if not found.message.size:
        return np.full(wanted.message.shape, np.nan)
    # A stable sort keeps the earliest of equal messages first, where searchsorted looks.
    order = np.argsort(found.message, kind="stable")
    messages = found.message[order]
    place = np.minimum(np.searchsorted(messages, wanted.message), messages.size - 1)
    return np.where(messages[place] == wanted.message, found.time_s[order][place], np.nan)


def next_after(found: Sequence[Array], wanted: Sequence[Array]) -> Array:
    """Return for each row of `wanted` when the next of `found` on the same is; infinite for never.

    Both are columns: whole numbers that say what a row is on, and last its time. What is at the
    same time comes next too.
    """
    keys, asked = _in_order(found), _keys(wanted)
    place = np.searchsorted(keys, asked)
    return np.where(_are_on(keys, place, asked), _times_at(keys, place), math.inf)


def last_before(found: Sequence[Array], wanted: Sequence[Array]) -> Array:
    """Return for each row of `wanted` when the last of `found` on the same was; NaN for never.

    Columns are those of `next_after`; what is at the same time came before too.
    """
    keys, asked = _in_order(found), _keys(wanted)
    place = np.searchsorted(keys, asked, side="right") - 1
    return np.where(_are_on(keys, place, asked), _times_at(keys, place), math.nan)


def ratio(part: float, whole: float) -> float:
    """Return `part` of `whole`; NaN of nothing."""
    return part / whole if whole > 0 else math.nan


def percentile(values: Array, percent: float) -> float:
    """Return a percentile of what is finite among `values`; NaN if nothing is."""
    known = values[np.isfinite(values)]
    return float(np.percentile(known, percent)) if known.size else math.nan


def _keys(columns: Sequence[Array]) -> Array:
    """Return columns as records, which compare by their columns in turn."""
    *on, time_s = columns
    whole = [np.asarray(column, dtype=np.int64) for column in on]
    keys: Array = np.rec.fromarrays([*whole, np.asarray(time_s, dtype=np.float64)])
    return keys


def _in_order(columns: Sequence[Array]) -> Array:
    ordered: Array = _keys(columns)[np.lexsort(tuple(columns)[::-1])]
    return ordered


def _are_on(keys: Array, place: Array, asked: Array) -> Array:
    """Tell whether the keys at these places, some beyond the ends, are on what is asked for."""
    same: Array = (place >= 0) & (place < keys.size)
    for name in _names(keys)[:-1]:
        known = np.flatnonzero(same)
        same[known] = keys[name][place[known]] == asked[name][known]
    return same


def _times_at(keys: Array, place: Array) -> Array:
    time_s = np.append(keys[_names(keys)[-1]], math.nan)
    found: Array = time_s[np.clip(place, 0, keys.size)]
    return found


def _names(keys: Array) -> list[str]:
    return list(keys.dtype.names or ())


def _codes(column: pa.ChunkedArray) -> tuple[Array, tuple[str, ...]]:
    array = column.unify_dictionaries().combine_chunks()
    return numbers(array.indices, absent=-1), tuple(array.dictionary.to_pylist())
