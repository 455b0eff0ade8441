"""The rows of a source, whatever its format, in the source's own ids and times.

Ids are columns of text, times are in the source's unit and of its clock. `sim.importing.numbering`
and `sim.importing.folder` make our files of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Options:
    """How to read a source where its format leaves that open.

    `time_unit` is "s", "ms", "us" or, of payments, "iso"; None is the format's own. `origin` is the
    time of the source at which our files begin; None is its first. `window_s` is how long, in
    seconds, a line of `tij` lasts, or a contact that ends when it begins; None is the format's own.
    `columns` has the source's columns by what they are for us.
    """

    time_unit: str | None = None
    origin: str | None = None
    window_s: float | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    amount_unit: str = "ct"
    undirected: bool = False


@dataclass(frozen=True)
class Rows:
    """Rows of one kind: ids by name of column, then numbers by name, all of one length."""

    ids: Mapping[str, pa.ChunkedArray]
    numbers: Mapping[str, npt.NDArray[Any]]


@dataclass
class SourceData:
    """All that was found in a source.

    `rows` counts its rows without comments and headers, `dropped` by reason those that are not in
    our files, `changed` by kind of change those that are there otherwise. A kind of rows that the
    source lacks is None. `times` are of the source's clock, `per_s` of its units are a second.
    """

    dialect: str
    rows: int = 0
    per_s: float = 1.0
    contacts: Rows | None = None
    presence: Rows | None = None
    trades: Rows | None = None
    payments: Rows | None = None
    edges: Rows | None = None
    is_directed: bool = False
    dropped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)

    def drop(self, rows: npt.NDArray[np.bool_], reason: str) -> npt.NDArray[np.bool_]:
        """Count rows that are dropped, and return which are kept."""
        if rows.any():
            self.dropped[reason] += int(rows.sum())
        return ~rows


class ColumnBlocks:
    """Columns that come in blocks."""

    def __init__(self) -> None:
        self._ids: dict[str, list[pa.Array]] = {}
        self._numbers: dict[str, list[npt.NDArray[Any]]] = {}

    def add(self, ids: Mapping[str, pa.Array], numbers: Mapping[str, npt.NDArray[Any]]) -> None:
        """Add the columns of some rows; they have the same names each time."""
        for name, column in ids.items():
            self._ids.setdefault(name, []).append(column)
        for name, values in numbers.items():
            self._numbers.setdefault(name, []).append(values)

    def rows(self) -> Rows | None:
        """Return all rows, None where there are none."""
        import pyarrow as pa

        ids = {name: pa.chunked_array(parts, pa.string()) for name, parts in self._ids.items()}
        if not any(len(column) for column in ids.values()):
            return None
        return Rows(ids, {name: np.concatenate(parts) for name, parts in self._numbers.items()})


def units_per_s(unit: str) -> float:
    """Return how many of a unit of time are a second."""
    return UNITS_PER_S[unit]


def is_whole(texts: Sequence[str]) -> bool:
    """Tell whether all of some ids are whole numbers, by which they are sorted then."""
    return all(text.isascii() and text.isdecimal() and len(text) <= _DIGITS for text in texts)


UNITS_PER_S = {"s": 1.0, "ms": 1e3, "us": 1e6}
_DIGITS = 18  # of a number that 64 bits hold
