"""What tables say of themselves as Parquet: each column its unit and meaning, the file its run.

Names, types, units and meanings of columns are declared once, beside what writes a table;
docs/metrics.md is made of the same declarations. What a file says of its run is
`sim.scenario.resolved.identity`: nothing in it depends on when or where it was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

Kind = Literal["int32", "int64", "float64", "bool", "text", "bytes"]
"""Types as pages call them; text is words of which a table has few."""

FORMAT = "1"
"""The format of our tables, raised when a column changes its name, its type or its meaning."""


class Column(NamedTuple):
    """A column: `unit` is "1" for counts and ratios, and "" for names and numbers of things."""

    kind: Kind
    unit: str
    meaning: str


def schema(columns: Mapping[str, Column]) -> pa.Schema:
    """Return the schema of a table, whose fields say what their columns are."""
    import pyarrow as pa

    types = {
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "text": pa.dictionary(pa.int32(), pa.string()),
        "bytes": pa.large_binary(),
    }
    return pa.schema(
        [
            pa.field(name, types[one.kind], metadata=said(one.unit, one.meaning))
            for name, one in columns.items()
        ]
    )


def said(unit: str, meaning: str) -> dict[str, str]:
    """Return the metadata of a field."""
    return {"unit": unit, "description": meaning}


def with_about(table: pa.Table, about: Mapping[str, str]) -> pa.Table:
    """Return a table whose file says what it is about, and the format of our tables."""
    return table.replace_schema_metadata({"pocketsim.format": FORMAT, **about})
