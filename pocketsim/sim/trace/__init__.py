"""What happened in a run, as columns. Nothing here says what it means: that is `sim.metrics`.

`from pocketsim.sim import trace` gives the table of events; the tokens that phones hold at the end
are in `sim.trace.final_tokens`, and how metrics read the table is `sim.trace.columns`.
"""

from pocketsim.sim.trace.table import (
    COLUMNS,
    build,
    concatenate,
    from_engine,
    join,
    numbers,
    origin,
    read,
    schema,
    sequence_number,
    words,
    write,
)

__all__ = [
    "COLUMNS",
    "build",
    "concatenate",
    "from_engine",
    "join",
    "numbers",
    "origin",
    "read",
    "schema",
    "sequence_number",
    "words",
    "write",
]
