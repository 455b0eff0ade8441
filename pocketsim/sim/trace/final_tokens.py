"""The tokens that phones have at the end of a run: as a table, and as files for other programs.

The files are those of the prototype and of `probe tokens`: a batch is tokens one after the other.
What deliberately does not live here: proofs. Whoever gets the files can verify them.
"""

from __future__ import annotations

import csv
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base import files
from pocketsim.sim.trace import fields, tables
from pocketsim.sim.trace import table as trace
from pocketsim.sim.trace.fields import Column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

STATES = ("held", "pending", "disputed", "signed_away")
"""To spend; with the authority; to submit, not to spend; a payee's, kept to be sent again."""

INDEX_COLUMNS = (*("file", "node", "state", "serial", "value_cents", "recipients", "token_bytes"),)


COLUMNS = {
    "repetition": Column("int32", "", "which repetition, from 0"),
    "node": Column("int32", "", "the phone that has it"),
    "state": Column("text", "", f"what the phone has it for: {', '.join(STATES)}"),
    "serial": Column("int64", "", "its serial, the `message_id` of events on it"),
    "token": Column("bytes", "", "the token as it goes over the air"),
}
"""Its columns, in their order."""


def schema() -> pa.Schema:
    """Return the columns and types of tokens.parquet."""
    return fields.schema(COLUMNS)


def from_engine(result: Mapping[str, Any], repetition: int) -> pa.Table:
    """Return the table of one repetition from the `tokens` of what `sim._engine.run` returned.

    Like `trace.from_engine` it never imports pandas.
    """
    import pyarrow as pa

    kept = result["tokens"]
    tokens = kept["token"]
    states = np.array([STATES.index(state) for state in kept["state"]], np.int32)
    serials = b"".join(token[_SERIAL] for token in tokens)
    columns = [
        trace.numbers(pa.int32(), np.full(len(tokens), repetition, np.int32)),
        trace.numbers(pa.int32(), np.array(kept["node"], np.int32)),
        trace.words(states, STATES),
        trace.numbers(pa.int64(), np.frombuffer(serials, ">u8").astype("<u8")),
        tables.contents(tokens),
    ]
    return pa.Table.from_arrays(columns, schema=schema())


def write_batches(rows: Sequence[Mapping[str, Any]], authority_key: str, folder: Path) -> None:
    """Make `folder` of a repetition's `rows`: batches, their index, and the authority's key.

    One file for each phone and state, `phone-0007-held.tokens`; `tokens.csv` says what is in it, in
    order; `authority.pub` is the key in hexadecimal digits. The folder appears whole or not at all.
    """
    digits = max(_DIGITS, *(len(str(row["node"])) for row in rows)) if rows else _DIGITS
    with files.aside(folder) as aside:
        (aside / "authority.pub").write_text(f"{authority_key}\n", encoding="ascii")
        with (aside / "tokens.csv").open("w", encoding="ascii", newline="") as file:
            index = csv.writer(file, lineterminator="\n")
            index.writerow(INDEX_COLUMNS)
            for (node, state), batch in itertools.groupby(rows, _place):
                name = f"phone-{node:0{digits}}-{state}.tokens"
                tokens = [row["token"] for row in batch]
                (aside / name).write_bytes(b"".join(tokens))
                index.writerows((name, node, state, *_described(token)) for token in tokens)
        aside.rename(folder)


def _place(row: Mapping[str, Any]) -> tuple[int, str]:
    return row["node"], row["state"]


def _described(token: bytes) -> tuple[str, int, int, int]:
    recipients = int.from_bytes(token[_COUNT]) & _RECIPIENTS
    return token[_SERIAL].hex(), _CENTS[token[_VALUE] - 1], recipients, len(token)


_DIGITS = 4
# The head of a token (sim/protocols/src/token/layout.rs): the top bit of the count marks a layout.
_COUNT, _SERIAL, _VALUE = slice(0, 2), slice(2, 10), 10
_RECIPIENTS = 0x7FFF
# Euro cash, by the value byte from 1 on (sim/protocols/src/token/denomination.rs).
_CENTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
