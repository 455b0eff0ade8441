"""Ids of a source as numbers of phones.

Who is in a file that is written has a number. Numbers are given in order of the ids: as numbers if
all of them are whole numbers, else as text, as a scenario numbers the people of `tij` itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.arrow import numbers, texts
from pocketsim.sim.importing.source_data import Rows, is_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    Codes = npt.NDArray[np.int64]


class Names:
    """The ids of a source in order, each once; the place of one among them is its code."""

    def __init__(self, several: Sequence[Rows]) -> None:
        """Gather the ids of all rows."""
        import pyarrow as pa

        chunks = [
            chunk for rows in several for column in rows.ids.values() for chunk in column.chunks
        ]
        self.sorted = in_order(pa.chunked_array(chunks, pa.string()).unique().to_pylist())
        self._known = texts(self.sorted)

    def codes(self, column: pa.ChunkedArray) -> Codes:
        """Return a column of ids as codes."""
        import pyarrow.compute as pc

        return numbers(pc.index_in(column, value_set=self._known)).astype(np.int64)


def in_order(ids: Sequence[str]) -> list[str]:
    """Return ids sorted as numbers if all are, else as text."""
    return sorted(ids, key=int) if is_whole(ids) else sorted(ids)


def numbered(
    names: Names, columns: Mapping[str, Mapping[str, npt.NDArray[Any]]], whose: Sequence[str]
) -> tuple[list[str], dict[str, dict[str, npt.NDArray[Any]]]]:
    """Return the ids that stand in tables of codes, and the tables with numbers in their place.

    `whose` are the columns that hold codes.
    """
    codes = [table[name] for table in columns.values() for name in whose if name in table]
    used = np.unique(np.concatenate(codes)) if codes else np.empty(0, np.int64)
    tables = {
        kind: {
            name: np.searchsorted(used, values) if name in whose else values
            for name, values in table.items()
        }
        for kind, table in columns.items()
    }
    return [names.sorted[code] for code in used.tolist()], tables
