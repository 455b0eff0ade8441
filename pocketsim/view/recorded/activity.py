"""What phones do within a time of a repetition: who trades with whom, how much, who is on.

Everything is added up here, however many events there are; nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.metrics import fates

if TYPE_CHECKING:
    from pocketsim.sim.trace.columns import Columns
    from pocketsim.view.recorded.repetition import Repetition

    Array = np.ndarray[Any, Any]

DONE, FAILED, ASKED = ("store",), ("lose", "drop", "refuse"), ("send",)
"""Kinds of events that count as a transaction done, failed and asked for."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of phones that did something, as columns, those that did most first.

    `done` transactions of both, whoever asked for them, and `failed` events of them.
    """

    one: Array
    other: Array
    done: Array
    failed: Array

    def first(self, most: int) -> Pairs:
        """Return the `most` busiest."""
        return Pairs(self.one[:most], self.other[:most], self.done[:most], self.failed[:most])


@dataclass(frozen=True)
class Activity:
    """What happened from one time to another among so many phones.

    `is_on` is of the end; `sent`, `done` and `failed` are counts by phone. `kinds` are counts of
    events, `fates` what has become by the end of what was sent since the begin.
    """

    from_s: float
    until_s: float
    is_on: Array
    sent: Array
    done: Array
    failed: Array
    pairs: Pairs
    kinds: dict[str, int]
    fates: dict[str, Any]


def of(recorded: Repetition, phones: int, from_s: float, until_s: float) -> Activity:
    """Return what happened in a repetition between two times."""
    part = recorded.events.between(from_s, until_s)
    by_kind = np.bincount(part.kind, minlength=len(part.kinds))
    counted = {name: int(count) for name, count in zip(part.kinds, by_kind, strict=True) if count}
    return Activity(
        from_s=from_s,
        until_s=until_s,
        is_on=on_at(recorded.switches.between(0.0, until_s), phones),
        sent=_by_phone(part, ASKED, phones),
        done=_by_phone(part, DONE, phones),
        failed=_by_phone(part, FAILED, phones),
        pairs=pairs(part, phones),
        kinds=dict(sorted(counted.items(), key=lambda one: -one[1])),
        fates=fates.of(part, part.of_kinds(*ASKED).message),
    )


def on_at(switches: Columns, phones: int) -> Array:
    """Return which phones are on after they went on and off so; all are before."""
    found = np.ones(phones, dtype=bool)
    # Of several rows on one phone, numpy keeps the last.
    found[switches.node] = switches.is_any("phone_on")
    return found


def pairs(part: Columns, phones: int) -> Pairs:
    """Return which phones had to do with each other."""
    columns = part.of_kinds(*DONE, *FAILED)
    columns = columns.where((columns.peer >= 0) & (columns.peer != columns.node))
    low, high = np.minimum(columns.node, columns.peer), np.maximum(columns.node, columns.peer)
    known, place = np.unique(low.astype(np.int64) * phones + high, return_inverse=True)
    is_done = columns.is_any(*DONE)
    done = np.bincount(place[is_done], minlength=known.size)
    failed = np.bincount(place[~is_done], minlength=known.size)
    order = np.argsort(-(done + failed), kind="stable")
    found = Pairs(known // phones, known % phones, done, failed)
    return Pairs(found.one[order], found.other[order], done[order], failed[order])


def over_time(recorded: Repetition, duration_s: float) -> dict[str, Array]:
    """Return counts in equal parts of a repetition: `from_s` of each, `sent`, `done`, `failed`."""
    edges = np.linspace(0.0, duration_s, PARTS + 1)
    named = {"sent": ASKED, "done": DONE, "failed": FAILED}
    counts = {
        name: np.histogram(recorded.events.of_kinds(*kinds).time_s, edges)[0]
        for name, kinds in named.items()
    }
    return {"from_s": edges[:-1], **counts}


def _by_phone(part: Columns, kinds: tuple[str, ...], phones: int) -> Array:
    return np.bincount(part.of_kinds(*kinds).node, minlength=phones)


PARTS = 120
"""Parts of a repetition whose events are counted: as many as a chart's width shows."""
