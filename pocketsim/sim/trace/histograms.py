"""What a run has that keeps no events: what a ledger comes to, and its histograms as a table.

What deliberately does not live here: what is made of them; `sim.metrics.histograms` does.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from pocketsim.sim.base.engine_facts import EVENT_KINDS
from pocketsim.sim.trace import fields
from pocketsim.sim.trace import table as trace
from pocketsim.sim.trace.fields import Column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from pocketsim.sim.base.engine_output import AggregateSummary, Spread

    Array = np.ndarray[Any, Any]

COLUMNS = {
    "repetition": Column("int32", "", "which repetition, from 0"),
    "duration": Column("text", "", "`rtt`, T3 - T1, or `processing`, T3 - T2"),
    "from_s": Column("float64", "s", "where the bucket begins, seconds"),
    "to_s": Column("float64", "s", "where the bucket ends, seconds"),
    "count": Column("int64", "1", "how many durations it has"),
}
"""Its columns, in their order."""
NAMES: tuple[Literal["rtt", "processing"], ...] = ("rtt", "processing")


def schema() -> pa.Schema:
    """Return the columns and types of histograms.parquet."""
    return fields.schema(COLUMNS)


def from_engine(result: Mapping[str, Any]) -> AggregateSummary:
    """Return the ledger's statement of what `sim._engine.run` returned, with names for numbers."""
    names = result["event_kinds"][len(EVENT_KINDS) :]
    counted = zip(names, result["ledger"]["observed"], strict=False)  # not all were observed
    observed = {name: told for name, told in counted if told[0]}
    return cast("AggregateSummary", {**result["ledger"], "observed": observed})


def from_statements(statements: Sequence[AggregateSummary]) -> pa.Table:
    """Return the table of all repetitions, in their order, from what their ledgers come to."""
    import pyarrow as pa

    spreads = [statement[name] for statement in statements for name in NAMES]
    sizes = [len(spread["count"]) for spread in spreads]
    numbers = np.repeat(np.arange(len(statements), dtype=np.int32), len(NAMES))
    codes = np.tile(np.arange(len(NAMES), dtype=np.int32), len(statements))
    from_s, to_s = (_joined([one[edge] for one in spreads], np.float64) for edge in _EDGES)
    columns = [
        trace.numbers(pa.int32(), np.repeat(numbers, sizes)),
        trace.words(np.repeat(codes, sizes), NAMES),
        trace.numbers(pa.float64(), from_s),
        trace.numbers(pa.float64(), to_s),
        trace.numbers(pa.int64(), _joined([one["count"] for one in spreads], np.int64)),
    ]
    return pa.Table.from_arrays(columns, schema=schema())


def spreads(table: pa.Table, name: str, repetitions: int) -> list[Spread]:
    """Return the buckets of one duration in each repetition; their sum is not in a table."""
    rows = [row for row in table.to_pylist() if row["duration"] == name]
    parts = [[row for row in rows if row["repetition"] == each] for each in range(repetitions)]
    return [
        {
            "sum_s": math.nan,
            "from_s": [row["from_s"] for row in part],
            "to_s": [row["to_s"] for row in part],
            "count": [row["count"] for row in part],
        }
        for part in parts
    ]


def _joined(columns: Sequence[Sequence[float]], kind: type[np.generic]) -> Array:
    return np.array(list(itertools.chain.from_iterable(columns)), dtype=kind)


_EDGES: tuple[Literal["from_s", "to_s"], ...] = ("from_s", "to_s")
