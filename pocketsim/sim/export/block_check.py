"""Verifies the blocks of one repetition: signatures, links, sequence numbers, both parties' copies.

A phone's chain is the blocks that it stored, in order. It countersigns on the head of its chain; it
proposes on what was the head then, so several proposals may stand on one block, but never on an
older one than the proposal before. Bytes are read by `sim.export.trade_block`, so nothing here
trusts the engine that wrote them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pocketsim.sim.export import trade_block
from pocketsim.sim.export.findings import Findings, Keys, MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pocketsim.sim.export.trade_block import Block


def check(rows: Iterable[Mapping[str, Any]], *, continued: bool) -> Findings:
    """Verify blocks: rows as blocks.parquet has them, by phone, then by place.

    Where a run is `continued`, a chain may begin on blocks of earlier repetitions, which are not
    kept; the phone's key stands for their head.
    """
    findings, keys, copies = Findings("blocks"), Keys(), _Copies()
    chain = _Chain(-1, continued=continued)
    for row in rows:
        if row["node"] != chain.phone:
            chain.compare(findings)
            chain = _Chain(row["node"], continued=continued)
        findings.count(chain.phone, "blocks", "proposed" if _proposed(row) else "countersigned")
        try:
            block = trade_block.decode(row["block"])
            trade_block.verify(block)
            _check_parties(block, row, keys)
            copies.add(block, row)
            chain.check(block, row)
        except MalformedError as error:
            findings.fail(chain.phone, _named(row), str(error))
        finally:
            chain.append(row["block"])
    chain.compare(findings)
    copies.compare(findings)
    return findings


def _check_parties(block: Block, row: Mapping[str, Any], keys: Keys) -> None:
    """Refuse a block that is not between the two phones that its row names."""
    proposer, countersigner = row["node"], row["peer"]
    if not _proposed(row):
        proposer, countersigner = countersigner, proposer
    if row["message_id"] != (proposer << 32) + block.number():
        raise MalformedError(f"its payload has number {block.number()}")
    for phone, name, key in (
        (proposer, "proposer", block.sender_pubkey),
        (countersigner, "countersigner", block.receiver_pubkey),
    ):
        wrong = keys.claim(phone, key)
        if wrong is not None:
            raise MalformedError(f"its {name} {wrong}")


class _Chain:
    """The blocks of one phone, as far as they were read."""

    def __init__(self, phone: int, *, continued: bool) -> None:
        self.phone = phone
        self._continued = continued
        self._length = 0
        self._head = b""
        # By hash; what is before the first block has place 0.
        self._places: dict[bytes, int] = {}
        # By index, the proposals that were stored and the places that they stand on.
        self._proposals: dict[int, tuple[int, Mapping[str, Any]]] = {}

    def append(self, data: bytes) -> None:
        """Take the bytes of the next block, whatever they are."""
        self._length += 1
        self._head = trade_block.digest(data)
        self._places[self._head] = self._length

    def check(self, block: Block, row: Mapping[str, Any]) -> None:
        """Refuse a block that cannot be the next one."""
        if row["place"] != self._length + 1:
            raise MalformedError(f"it should have place {self._length + 1}")
        if _proposed(row):
            on = self._place(block.prev_hash_sender, block.sender_pubkey)
            if self._proposals.setdefault(block.index, (on, row))[1] is not row:
                raise MalformedError(f"there is another proposal of index {block.index}")
            return
        on = self._place(block.prev_hash_receiver, block.receiver_pubkey)
        if on != self._length:
            raise MalformedError(f"it was countersigned on block {on}, not on {self._length}")

    def _place(self, previous: bytes, own_key: bytes) -> int:
        """Return the place of the block that has the hash `previous`."""
        if previous == b"" or (self._continued and previous == own_key):
            return 0
        if previous not in self._places:
            raise MalformedError("its previous hash is that of no block before it")
        return self._places[previous]

    def compare(self, findings: Findings) -> None:
        """Note proposals that stand on an older block than the one before, by the index."""
        for (before, (older, _)), (_, (on, row)) in pairwise(sorted(self._proposals.items())):
            if on < older:
                reason = f"it stands on block {on}, but proposal {before} on {older}"
                findings.fail(self.phone, _named(row), reason)


@dataclass
class _Place:
    """A proposer and an index: what was signed for it, and who keeps it."""

    proposal: bytes
    whole: bytes
    rows: list[Mapping[str, Any]]


class _Copies:
    """Blocks by what they are of, to compare the copies of both parties."""

    def __init__(self) -> None:
        self._places: dict[tuple[bytes, int], _Place] = {}

    def add(self, block: Block, row: Mapping[str, Any]) -> None:
        """Note a block, which is signed; refuse it where another was signed in its place."""
        new = _Place(block.proposal(), row["block"], [])
        known = self._places.setdefault((block.sender_pubkey, block.index), new)
        other = known.rows[0]["node"] if known.rows else -1
        if known.proposal != new.proposal:
            raise MalformedError(f"its proposer signed another of index {block.index}")
        if known.whole != new.whole:
            raise MalformedError(f"it is not countersigned like the copy of phone {other}")
        known.rows.append(row)

    def compare(self, findings: Findings) -> None:
        """Note what only one party keeps: that may only be the countersigner."""
        for place in self._places.values():
            keepers = {row["node"] for row in place.rows}
            for row in place.rows:
                if row["peer"] in keepers:
                    continue
                if _proposed(row):
                    reason = f"phone {row['peer']}, which signed it, does not keep it"
                    findings.fail(row["node"], _named(row), reason)
                else:
                    findings.count(row["node"], "unanswered")


def _proposed(row: Mapping[str, Any]) -> bool:
    """Tell whether a block is a proposal of the phone that keeps it."""
    origin, node = row["message_id"] >> 32, row["node"]
    return bool(origin == node)


def _named(row: Mapping[str, Any]) -> str:
    return f"block {row['place']} (with phone {row['peer']})"
