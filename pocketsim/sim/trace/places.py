"""Where phones were drawn to be, as a table: waypoints, places, when they were on and on what.

What deliberately does not live here: who draws it (`sim.plan.whereabouts`), and how it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pocketsim.sim.trace import fields
from pocketsim.sim.trace import table as trace
from pocketsim.sim.trace.fields import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pyarrow as pa

    Floats = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.int64]

KINDS = ("waypoint", "place", "off", "on", "access")
"""What rows are: where a phone turns, a place, and that a phone goes off, on, or to a network."""
WIDTH, HEIGHT = "pocketsim.width_m", "pocketsim.height_m"
"""By which names the file says how large the rectangle is."""

COLUMNS = {
    "repetition": Column("int32", "", "which repetition, from 0: the run's first alone is kept"),
    "kind": Column("text", "", f"what the row is: {', '.join(KINDS)}"),
    "phone": Column("int32", "", "the phone, the `node` of events; -1 for a place"),
    "time_s": Column("float64", "s", "seconds since the start; 0 for a place"),
    "x_m": Column("float64", "m", "of waypoints and places: how far to the right; null for others"),
    "y_m": Column("float64", "m", "of waypoints and places: how far up; null for others"),
    "name": Column(
        "text",
        "",
        "of a place home, work, shop or stand, of access the network; null for other rows",
    ),
}
"""Its columns, in their order."""


def schema() -> pa.Schema:
    """Return the columns and types of map.parquet."""
    return fields.schema(COLUMNS)


class Rows(NamedTuple):
    """Rows of one kind: phones and times, places of those that have them, numbers of names."""

    kind: str
    phone: Indices
    time_s: Floats
    x_m: Floats | None = None
    y_m: Floats | None = None
    name: Indices | None = None


def build(repetition: int, parts: Sequence[Rows], names: Sequence[str]) -> pa.Table:
    """Return the table of several kinds of rows; `names` are those that rows number.

    It never imports pandas.
    """
    import pyarrow as pa

    sizes = [rows.phone.size for rows in parts]
    columns = [
        trace.numbers(pa.int32(), np.full(sum(sizes), repetition, np.int32)),
        trace.words(np.repeat([KINDS.index(rows.kind) for rows in parts], sizes), KINDS),
        trace.numbers(pa.int32(), np.concatenate([rows.phone for rows in parts]).astype(np.int32)),
        trace.numbers(pa.float64(), np.concatenate([rows.time_s for rows in parts])),
    ]
    for values in ([rows.x_m for rows in parts], [rows.y_m for rows in parts]):
        whole, known = _joined(values, sizes)
        columns.append(trace.numbers(pa.float64(), whole, known))
    name, known = _joined([rows.name for rows in parts], sizes)
    columns.append(trace.words(name, names, known))
    return pa.Table.from_arrays(columns, schema=schema())


def _joined(
    parts: Sequence[Floats | Indices | None], sizes: Sequence[int]
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return a column of parts, with 0 for those that have nothing, and which rows have it."""
    filled = [
        np.zeros(size) if part is None else part for part, size in zip(parts, sizes, strict=True)
    ]
    return np.concatenate(filled), np.repeat([part is not None for part in parts], sizes)
