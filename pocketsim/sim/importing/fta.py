"""Event traces of the Failure Trace Archive, `event_trace.tab`: when a node is available.

A line is event_id, component_id, node_id, platform_id, node_name, event_type, event_start_time,
event_stop_time and mostly event_end_reason, with tabs between. A node is on in its events of type
1; where several of its components have such, while any has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base.arrow import numbers
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.importing.lines import Block, Form, Head, blocks
from pocketsim.sim.importing.source_data import ColumnBlocks, Options, Rows, SourceData, units_per_s

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


def read(path: Path, options: Options) -> SourceData:
    """Return when nodes are available; raises ScenarioError with the first row that is no event."""
    head, gathered = Head([], []), ColumnBlocks()
    found = SourceData("event_trace.tab", per_s=units_per_s(options.time_unit or "s"))
    last, platforms = -np.inf, set[str]()
    for block in blocks(path, _FORM, head):
        kind = block.numbers(_TYPE, "event_type")
        begin, end = block.numbers(_START, "event_start_time"), _ends(block)
        block.refuse(end < begin, "stops before it starts")
        last = max(last, float(begin.max()), float(np.where(np.isinf(end), -np.inf, end).max()))
        found.rows += begin.size
        kept = found.drop(kind == 0, "type 0, unavailable: what lies between")
        kept &= found.drop((kind != 0) & (kind != 1), "type neither 0 nor 1: of the data set's own")
        chosen = block.select(kept)
        platforms.update(chosen.values[_PLATFORM].unique().to_pylist())
        node, platform = chosen.names(_NODE, "node_id"), chosen.values[_PLATFORM]
        gathered.add(
            {"phone": node, "platform": platform}, {"begin": begin[kept], "end": end[kept]}
        )
    rows = gathered.rows()
    if rows is None:
        raise ScenarioError(path, "", "has no event of type 1, when a node is available")
    open_ended = np.isinf(rows.numbers["end"])
    if open_ended.any():
        rows.numbers["end"][open_ended] = last
        found.changed["without a stop: until the last event"] = int(open_ended.sum())
    nodes = _nodes(rows) if len(platforms) > 1 else rows.ids["phone"]
    found.presence = Rows({"phone": nodes}, rows.numbers)
    return found


def _ends(block: Block) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return when events stop, infinity where it is not known."""
    import pyarrow.compute as pc

    texts = block.values[_STOP]
    unknown = numbers(pc.is_in(pc.utf8_upper(texts), value_set=_texts(("", "NULL", "\\N"))))
    end = np.full(unknown.size, np.inf)
    if not unknown.all():
        end[~unknown] = block.select(~unknown).numbers(_STOP, "event_stop_time")
    return end


def _nodes(rows: Rows) -> pa.ChunkedArray:
    """Return nodes with their platforms, as each platform numbers its own."""
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(rows.ids["platform"], rows.ids["phone"], "/")


def _texts(words: tuple[str, ...]) -> pa.Array:
    from pocketsim.sim.base.arrow import texts

    return texts(words)


_NODE, _PLATFORM, _TYPE, _START, _STOP = 2, 3, 5, 6, 7
_FORM = Form(
    8,
    10,
    "a line of event_trace.tab has 8 to 10, with tabs between",
    b"\t",
    keeps_empty=True,
    number=_START,
)
