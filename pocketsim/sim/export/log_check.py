"""What no log can say without contradicting itself: the order and the number of a trade's events.

A transaction is sent once, its block comes back after that, and it is stored once, after both. All
of that is observed by its proposer, on one clock. A log that says otherwise has several phones or
runs in it, or its clock was set meanwhile; no rate and no latency of it would mean anything. In
what order rows stand says nothing: several threads write them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base.units import DURATION
from pocketsim.sim.export.log_columns import WrongLineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rows:
    """Events of a log as columns of one length, in the order of the file.

    `time_s` is since the begin of the repetition. `number` says which proposal of its phone a row
    is about, -1 where nothing does.
    """

    line: Array
    repetition: Array
    time_s: Array
    node: Array
    kind: Array
    message: Array
    peer: Array
    number: Array

    @classmethod
    def of(cls, columns: Mapping[str, Array]) -> Rows:
        """Return the rows of columns of a trace that have `line` and `number` beside them."""
        return cls(
            columns["line"],
            columns["repetition"],
            columns["time_s"],
            columns["node"],
            columns["kind"],
            columns["message_id"],
            columns["peer"],
            columns["number"],
        )


def check(rows: Rows) -> None:
    """Raise WrongLineError for the first line that contradicts another one, or itself."""
    if not rows.line.size:
        return
    trades = _Trades(rows)
    found = [
        *_repeated(trades),
        *_out_of_order(trades),
        *_unsent(trades),
        *_of_others(trades),
        *_of_clocks(rows),
    ]
    if found:
        raise WrongLineError(*min(found, key=lambda mistake: mistake[0]))


class _Trades:
    """The rows of a log by transaction and kind."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        order = np.lexsort((rows.message, rows.repetition))
        message, repetition = rows.message[order], rows.repetition[order]
        is_new = (message[1:] != message[:-1]) | (repetition[1:] != repetition[:-1])
        self._transaction = np.empty(order.size, np.int64)
        self._transaction[order] = np.cumsum(np.r_[False, is_new])

    def of(self, kind: str) -> Array:
        """Return the places of the rows of a kind."""
        return np.flatnonzero(self.rows.kind == kind)

    def first(self, kind: str, places: Array) -> Array:
        """Return where the earliest row of a kind on the transaction of each place is, else -1."""
        some = self.of(kind)
        some = some[np.argsort(-self.rows.time_s[some], kind="stable")]
        first = np.full(self.rows.line.size, -1)
        first[self._transaction[some]] = some  # of equal ones the last is kept
        found: Array = first[self._transaction[places]]
        return found

    def again(self, kind: str) -> Iterator[tuple[int, int]]:
        """Yield the first line of a kind whose transaction had one before, and that line."""
        places = self.of(kind)
        order = places[np.lexsort((self.rows.line[places], self._transaction[places]))]
        same = self._transaction[order][1:] == self._transaction[order][:-1]
        if same.any():
            lines = self.rows.line[order]
            earlier, later = lines[:-1][same], lines[1:][same]
            place = int(later.argmin())
            yield int(later[place]), int(earlier[place])


def _repeated(trades: _Trades) -> Iterator[tuple[int, str]]:
    for kind, says in (("send", "sent"), ("store", "stored")):
        for line, earlier in trades.again(kind):
            yield line, f"the transaction is {says} in line {earlier}, too; {_ONE_LOG}"


def _out_of_order(trades: _Trades) -> Iterator[tuple[int, str]]:
    """Yield of each pair of kinds the first line that is before what it follows from."""
    rows = trades.rows
    for kind, says, before, has_been in _FOLLOWS:
        places = trades.of(kind)
        cause = trades.first(before, places)
        known = cause >= 0
        if kind == "process":  # a phone that has sent one with this id processes another's
            known &= rows.node[cause] != rows.node[places]
        early_s = rows.time_s[cause] - rows.time_s[places]
        wrong = np.flatnonzero(known & (early_s > 0))
        if wrong.size:
            first = wrong[rows.line[places[wrong]].argmin()]
            reason = f"{says} {early_s[first]:.6g} s before it {has_been} in line "
            reason += f"{rows.line[cause[first]]}; {_CLOCK}"
            yield int(rows.line[places[first]]), reason


def _unsent(trades: _Trades) -> Iterator[tuple[int, str]]:
    """Yield the first lines that are about what was never sent."""
    for kind, says in _ENDS.items():
        places = trades.of(kind)
        unsent = places[trades.first("send", places) < 0]
        if unsent.size:
            reason = f"the transaction {says} and no line says that it was sent; {_ONE_LOG}"
            yield int(trades.rows.line[unsent].min()), reason


def _of_others(trades: _Trades) -> Iterator[tuple[int, str]]:
    """Yield the first lines that say of another phone what only the proposer can tell.

    Whom the proposer sent it to may store it in its place, and then names the proposer as peer.
    """
    rows = trades.rows
    for kind, says in _ENDS.items():
        places = trades.of(kind)
        cause = trades.first("send", places)
        is_own = (rows.node[places] == rows.node[cause]) | (rows.peer[places] == rows.node[cause])
        wrong = np.flatnonzero((cause >= 0) & ~is_own)
        if wrong.size:
            first = wrong[rows.line[places[wrong]].argmin()]
            reason = f"the transaction {says} at another phone than that which sent it in line "
            reason += f"{rows.line[cause[first]]}; {_ONE_LOG}"
            yield int(rows.line[places[first]]), reason
    sent = trades.of("send")
    to_itself = sent[rows.peer[sent] == rows.node[sent]]
    if to_itself.size:
        yield int(rows.line[to_itself].min()), "is sent by a phone to itself"


def _of_clocks(rows: Rows) -> Iterator[tuple[int, str]]:
    """Yield the first line that is absurdly late, and those where a phone's proposals go back."""
    absurd = np.flatnonzero(rows.time_s > DURATION.maximum)
    if absurd.size:
        place = absurd[rows.line[absurd].argmin()]
        days = rows.time_s[place] / _DAY_S
        yield int(rows.line[place]), f"is {days:.6g} days after the first line; {_CLOCK}"
    before, after = _successive_proposals(rows)
    is_again = rows.number[before] == rows.number[after]
    back_s = rows.time_s[before] - rows.time_s[after]
    for wrong, says in (
        (is_again, "is proposal {number} of the phone, as line {other} is; {one_log}"),
        (
            ~is_again & (back_s > _THREADS_S),
            "is sent {back_s:.6g} s before line {other}, an earlier proposal of the phone; {clock}",
        ),
    ):
        if wrong.any():
            lines = np.where(wrong, np.maximum(rows.line[before], rows.line[after]), _NO_LINE)
            first = int(lines.argmin())
            yield (
                int(lines[first]),
                says.format(
                    number=rows.number[after[first]],
                    other=min(rows.line[before[first]], rows.line[after[first]]),
                    back_s=back_s[first],
                    one_log=_ONE_LOG,
                    clock=_CLOCK,
                ),
            )


def _successive_proposals(rows: Rows) -> tuple[Array, Array]:
    """Return the places of proposals and those of the next of the same phone, by their numbers.

    Phones all of whose proposals have one number are left out: those say nothing.
    """
    sent = np.flatnonzero((rows.kind == "send") & (rows.number >= 0))
    if not sent.size:
        return sent, sent
    keys = (rows.line, rows.number, rows.node, rows.repetition)
    sent = sent[np.lexsort(tuple(key[sent] for key in keys))]
    node, repetition, number = rows.node[sent], rows.repetition[sent], rows.number[sent]
    is_first = np.r_[True, (node[1:] != node[:-1]) | (repetition[1:] != repetition[:-1])]
    first = np.flatnonzero(is_first)
    last = np.r_[first[1:], sent.size] - 1
    counts = (number[last] > number[first])[np.cumsum(is_first) - 1]
    pairs = np.flatnonzero(~is_first[1:] & counts[1:])
    return sent[pairs], sent[pairs + 1]


_FOLLOWS = (
    ("receive_back", "the block came back", "send", "was sent"),
    ("store", "the transaction is stored", "send", "was sent"),
    ("store", "the transaction is stored", "receive_back", "came back"),
    ("process", "the transaction is processed", "send", "was sent"),
    ("lose", "the transaction is given up", "send", "was sent"),
)
_ENDS = {"receive_back": "came back", "store": "is stored"}
_ONE_LOG = (
    "a log is of the phone that proposes, and where ids begin anew, each run has a tag, or a "
    "repetition, of its own"
)
_CLOCK = "a clock was set meanwhile, or these are clocks of two phones"
_THREADS_S = 1.0
"""Two threads may note two proposals the other way round; so much apart they do not."""
_DAY_S = 86_400.0
_NO_LINE = np.iinfo(np.int64).max
