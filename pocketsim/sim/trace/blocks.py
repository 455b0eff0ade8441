"""The blocks that phones have stored at the end of a run, as a table.

A row is a block on the chain of one phone, so a trade that both parties stored has two. What
deliberately does not live here: signatures and links, which `sim.export.block_check` verifies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.trace import fields, tables
from pocketsim.sim.trace import table as trace
from pocketsim.sim.trace.fields import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa


COLUMNS = {
    "repetition": Column("int32", "", "which repetition, from 0"),
    "node": Column("int32", "", "the phone that stored it"),
    "place": Column("int32", "", "which of the blocks that this phone stored, from 1"),
    "peer": Column("int32", "", "the other party"),
    "message_id": Column("int64", "", "the transaction, as in events; its origin proposed"),
    "block": Column("bytes", "", "the block as it goes over the air"),
}
"""Its columns, in their order."""


def schema() -> pa.Schema:
    """Return the columns and types of blocks.parquet."""
    return fields.schema(COLUMNS)


def from_engine(result: Mapping[str, Any], repetition: int) -> pa.Table:
    """Return the table of one repetition from the `blocks` of what `sim._engine.run` returned."""
    import pyarrow as pa

    kept = result["blocks"]
    numbers = {"repetition": [repetition] * len(kept["node"]), **kept}
    columns = [
        *(
            trace.numbers(pa.int32(), np.array(numbers[name], np.int32))
            for name in ("repetition", "node", "place", "peer")
        ),
        trace.numbers(pa.int64(), np.array(kept["message"], np.int64)),
        tables.contents(kept["block"]),
    ]
    return pa.Table.from_arrays(columns, schema=schema())
