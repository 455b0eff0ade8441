"""The transactions of a repetition, each with its round trip and its fate, and which are telling.

A transaction is called "3:17": the 17th of phone 3, counted from 0.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim import trace
from pocketsim.sim.metrics import fates
from pocketsim.sim.trace.columns import times_by_message
from pocketsim.view.recorded import activity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pocketsim.view.recorded.repetition import Repetition

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Transactions:
    """What was sent in a repetition, as columns in order of time.

    `round_trip_s` is NaN of what was not stored; `fate` is "stored", "in flight", or the reason of
    a loss.
    """

    message: Array
    node: Array
    peer: Array
    sent_s: Array
    round_trip_s: Array
    fate: Array

    def place(self, message: int) -> int | None:
        """Return which row a message is, None if it is none of them."""
        found = np.flatnonzero(self.message == message)
        return int(found[0]) if found.size else None


@functools.lru_cache(maxsize=2)
def of(recorded: Repetition) -> Transactions:
    """Return every transaction of a repetition."""
    sent = recorded.events.of_kinds(*activity.ASKED)
    _, first = np.unique(sent.message, return_index=True)
    is_first = np.zeros(sent.message.size, dtype=bool)
    is_first[first] = True  # a proposal that is sent again is one
    sent = sent.where(is_first)
    stored = recorded.events.of_kinds(*activity.DONE)
    found = fates.each(recorded.events, sent.message)
    fate = np.full(sent.message.size, STORED, dtype=object)
    for name, some in ((IN_FLIGHT, found.in_flight), *found.lost.items()):
        fate[np.isin(sent.message, some)] = name
    round_trip_s = times_by_message(stored, sent) - sent.time_s
    return Transactions(sent.message, sent.node, sent.peer, sent.time_s, round_trip_s, fate)


def telling(some: Transactions) -> Iterator[tuple[str, int]]:
    """Yield why a transaction is worth a look, and its row: slow, usual, or lost by each reason."""
    stored = np.flatnonzero(np.isfinite(some.round_trip_s))
    by_time = stored[np.argsort(some.round_trip_s[stored], kind="stable")]
    for number, row in enumerate(by_time[::-1][:_EACH]):
        yield ("slowest" if number == 0 else f"slowest, {number + 1}."), int(row)
    if by_time.size:
        yield "median", int(by_time[(by_time.size - 1) // 2])
        yield "quickest", int(by_time[0])
    for fate in sorted(set(some.fate) - {STORED}):
        for row in np.flatnonzero(some.fate == fate)[:_EACH]:
            yield (fate if fate == IN_FLIGHT else f"lost: {fate}"), int(row)


def name(message: int) -> str:
    """Return what a transaction is called."""
    one = np.array([message])
    return f"{trace.origin(one)[0]}:{trace.sequence_number(one)[0]}"


def message(said: str) -> int | None:
    """Return the number of a transaction that is called so; None if nothing could be."""
    match = _NAME.fullmatch(said)
    return int(match[1]) << 32 | int(match[2]) if match else None


STORED, IN_FLIGHT = "stored", "in flight"
_NAME = re.compile(r"(\d{1,9}):(\d{1,9})", re.ASCII)
_EACH = 3
"""Transactions shown of each kind."""
