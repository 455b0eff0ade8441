"""The blocks that phones have stored at the end of a run, as a table.

A row is a block on the chain of one phone, so a trade that both parties stored has two. What
deliberately does not live here: signatures and links, which `sim.export.block_check` verifies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.trace import table as trace
from pocketsim.sim.trace import tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa


def schema() -> pa.Schema:
    """Return the columns and types of blocks.parquet.

    `place` counts the blocks that `node` stored, from 1; `peer` is the other party, `message_id`
    that of the trace, whose origin proposed; `block` is what goes over the air.
    """
    import pyarrow as pa

    names = ("repetition", "node", "place", "peer", "message_id", "block")
    types = (*(pa.int32() for _ in range(4)), pa.int64(), pa.large_binary())
    return pa.schema(list(zip(names, types, strict=True)))


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
