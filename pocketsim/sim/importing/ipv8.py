"""The database of blocks of IPv8, SQLite with a table `blocks`: each proposal is a trade.

A block whose link_sequence_number is 0 proposes; another agrees to the proposal that it links to.
Of a pair of which only the agreement is there, the agreement says who proposed, and its time is
taken. Phones are known by their public keys, in hex. The file is opened to be read only.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from pocketsim.sim.base.arrow import texts
from pocketsim.sim.base.errors import ScenarioError, shown
from pocketsim.sim.importing.source import unpacked
from pocketsim.sim.importing.source_data import Options, Rows, SourceData, units_per_s

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path, options: Options) -> SourceData:
    """Return trades in order of time; raises ScenarioError where a block cannot be read."""
    found = SourceData("IPv8 blocks", per_s=units_per_s(options.time_unit or "ms"))
    trades: dict[tuple[str, int], tuple[float, str, int]] = {}
    halves: dict[tuple[str, int], tuple[float, str, int]] = {}
    with closing(_connected(path)) as connection:
        try:
            _check_columns(path, connection)
            for row, values in enumerate(connection.execute(_QUERY), 1):
                found.rows += 1
                _add(_Block(path, row, values), found, trades, halves)
        except sqlite3.Error as error:
            raise ScenarioError(
                path, "", f"is no database of blocks: {shown(str(error))}"
            ) from None
    answered = len(trades.keys() & halves.keys())
    found.dropped["agreement: the other half of a proposal"] += answered
    for key in halves.keys() - trades.keys():
        found.changed["agreement without its proposal: a trade at its own time"] += 1
        trades[key] = halves[key]
    if not trades:
        raise ScenarioError(path, "", "has no block of two")
    found.changed["proposal without an agreement: a trade all the same"] += len(trades) - len(
        halves
    )
    found.trades = _rows(trades)
    return found


class _Block:
    """A row of the table, with its types checked."""

    def __init__(self, path: Path, row: int, values: tuple[Any, ...]) -> None:
        self.path, self.row = path, row
        key, sequence, link_key, link_sequence, time, size = values
        self.key, self.link_key = self._key(key), self._key(link_key)
        self.sequence = self._whole("sequence_number", sequence)
        self.link_sequence = self._whole("link_sequence_number", link_sequence)
        self.size = self._whole("tx", size)
        if not isinstance(time, int | float):
            raise self._error(f"block_timestamp is {shown(repr(time))}, no number")
        self.time = float(time)

    def _key(self, value: Any) -> str:
        if isinstance(value, bytes) and value:
            return value.hex()
        if isinstance(value, str) and value:
            return value
        raise self._error("has no public key")

    def _whole(self, name: str, value: Any) -> int:
        if not isinstance(value, int) or value < 0:
            raise self._error(f"{name} is {shown(repr(value))}")
        return value

    def _error(self, reason: str) -> ScenarioError:
        return ScenarioError(self.path, f"row {self.row} of blocks", reason)


def _add(
    block: _Block,
    found: SourceData,
    trades: dict[tuple[str, int], tuple[float, str, int]],
    halves: dict[tuple[str, int], tuple[float, str, int]],
) -> None:
    if block.link_key in {block.key, "00" * (len(block.link_key) // 2)}:
        found.dropped["with nobody but its owner"] += 1
    elif block.link_sequence == 0:
        key = (block.key, block.sequence)
        if key in trades:
            found.dropped["a second block of one sequence number: a fork"] += 1
        else:
            trades[key] = (block.time, block.link_key, block.size)
    elif (block.link_key, block.link_sequence) in halves:
        found.dropped["a second agreement to one proposal"] += 1
    else:
        halves[block.link_key, block.link_sequence] = (block.time, block.key, block.size)


def _rows(trades: dict[tuple[str, int], tuple[float, str, int]]) -> Rows:
    import pyarrow as pa

    time, peers, size = zip(*trades.values(), strict=True)
    ids = {"from": [key for key, _ in trades], "to": peers}
    numbers = {"time": np.array(time, float), "payload_bytes": np.array(size, float)}
    return Rows({name: pa.chunked_array([texts(values)]) for name, values in ids.items()}, numbers)


def _connected(path: Path) -> sqlite3.Connection:
    with unpacked(path) as file:
        start = file.read(len(_MAGIC))
        if start != _MAGIC:
            raise ScenarioError(path, "", "is no SQLite database")
        with path.open("rb") as plain:
            if plain.read(len(_MAGIC)) == _MAGIC:
                return sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)
        connection = sqlite3.connect(":memory:")
        connection.deserialize(start + file.read())
        return connection


def _check_columns(path: Path, connection: sqlite3.Connection) -> None:
    there = {row[1] for row in connection.execute("PRAGMA table_info(blocks)")}
    if not there:
        raise ScenarioError(path, "", "has no table blocks")
    for name in _COLUMNS:
        if name not in there:
            raise ScenarioError(path, "table blocks", f"has no column {name}")


_MAGIC = b"SQLite format 3\0"
_COLUMNS = (
    *("public_key", "sequence_number", "link_public_key", "link_sequence_number"),
    *("block_timestamp", "tx"),
)
_QUERY = (
    "SELECT public_key, sequence_number, link_public_key, link_sequence_number, block_timestamp, "
    "length(CAST(tx AS BLOB)) FROM blocks ORDER BY block_timestamp, public_key, sequence_number"
)
