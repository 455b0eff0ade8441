"""The steps of one transaction: its events, and where a timeline is kept, datagrams and work.

A timeline says of datagrams which transaction they are for, and of work only which lane did it. So
all work that its phones did meanwhile is shown, for other transactions, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.sim.trace.columns import Columns
    from pocketsim.view.recorded.repetition import Repetition

    Row = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """Something that happened to it, or a phone of it that went on or off."""

    time_s: float
    node: int
    kind: str
    reason: str
    size_bytes: int


@dataclass(frozen=True)
class Datagram:
    """A datagram between its phones; `is_own` if its loss would be the transaction's.

    `end_s` is None where it had not arrived when the repetition ended.
    """

    begin_s: float
    end_s: float | None
    node: int
    peer: int
    size_bytes: int
    reason: str
    is_own: bool


@dataclass(frozen=True)
class Work:
    """An operation of a lane; `end_s` is None where it had not ended when the repetition did."""

    begin_s: float
    end_s: float | None
    node: int
    lane: int
    operation: str
    size_bytes: int
    reason: str


@dataclass(frozen=True)
class Steps:
    """What happened to a transaction from `begin_s` to `end_s`, at `phones` in order of their part.

    `others` are phones that had a part and are left out, `left_out` steps that are.
    """

    begin_s: float
    end_s: float
    phones: tuple[int, ...]
    events: tuple[Event, ...]
    datagrams: tuple[Datagram, ...]
    work: tuple[Work, ...]
    others: int
    left_out: int


def of(recorded: Repetition, message: int) -> Steps:
    """Return the steps of a transaction that the repetition has."""
    own = _own(recorded.events, message)
    everybody = _phones(own)
    phones, begin_s, end_s = everybody[:_PHONES], float(own.time_s[0]), float(own.time_s[-1])
    kept = recorded.timeline(phones, begin_s - _BEFORE_S, end_s) if recorded.has_timeline else []
    begin_s = _begun_s(kept, phones[0], begin_s)
    kept = [row for row in kept if row["end_s"] is None or row["end_s"] > begin_s]
    nearby = recorded.switches.between(begin_s, end_s)
    switched = _events(nearby.where(np.isin(nearby.node, phones)))
    events = sorted([*_events(own), *switched], key=lambda event: event.time_s)
    # What is surely its own goes first where there is too much.
    datagrams = sorted(_datagrams(kept, message), key=lambda one: (not one.is_own, one.begin_s))
    work = _work(kept)
    left_out = [max(0, len(some) - _STEPS) for some in (events, datagrams, work)]
    return Steps(
        begin_s=begin_s,
        end_s=end_s,
        phones=phones,
        events=tuple(events[:_STEPS]),
        datagrams=tuple(sorted(datagrams[:_STEPS], key=lambda one: one.begin_s)),
        work=tuple(work[:_STEPS]),
        others=len(everybody) - len(phones),
        left_out=sum(left_out),
    )


def _own(events: Columns, message: int) -> Columns:
    """Return the rows of a transaction; those of tokens have serials there."""
    own = events.where(events.message == message)
    return own.where(~own.is_any(*_OF_TOKENS))


def _phones(own: Columns) -> tuple[int, ...]:
    """Return the phones that have a part in a transaction, in the order in which they take it."""
    pairs = zip(own.node.tolist(), own.peer.tolist(), strict=True)
    return tuple(dict.fromkeys(phone for pair in pairs for phone in pair if phone >= 0))


def _begun_s(kept: Sequence[Row], phone: int, sent_s: float) -> float:
    """Return when the work began that ended in sending: one piece without a break on its lane."""
    work = [row for row in kept if row["operation"] is not None and row["node"] == phone]
    begun_s = sent_s
    for row in reversed(work):
        if row["end_s"] is not None and abs(row["end_s"] - begun_s) < _SAME_S:
            begun_s = row["begin_s"]
            if row["operation"] == _FIRST:
                break
    return begun_s


def _events(some: Columns) -> list[Event]:
    columns = (some.time_s, some.node, some.kind, some.reason, some.size_bytes)
    return [
        Event(time_s, node, some.kinds[kind], some.reasons[reason] if reason >= 0 else "", size)
        for time_s, node, kind, reason, size in zip(*(c.tolist() for c in columns), strict=True)
    ]


def _datagrams(kept: Sequence[Row], message: int) -> list[Datagram]:
    return [
        Datagram(
            begin_s=row["begin_s"],
            end_s=row["end_s"],
            node=row["node"],
            peer=row["peer"],
            size_bytes=row["size_bytes"],
            reason=row["reason"] or "",
            is_own=row["message_id"] == message,
        )
        for row in kept
        if row["operation"] is None
    ]


def _work(kept: Sequence[Row]) -> list[Work]:
    return [
        Work(
            begin_s=row["begin_s"],
            end_s=row["end_s"],
            node=row["node"],
            lane=row["lane"],
            operation=row["operation"],
            size_bytes=row["size_bytes"],
            reason=row["reason"] or "",
        )
        for row in kept
        if row["operation"] is not None
    ]


_PHONES = 4
_STEPS = 80  # of each kind: more are no longer told apart
_BEFORE_S = 0.5  # how long before its sending the work for it may have begun
_SAME_S = 1e-9
_FIRST = "command"  # what a proposal begins with
_OF_TOKENS = ("take", "submit", "decide", "settle", "double_spend", "accuse")
