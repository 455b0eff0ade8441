"""Payments or trades in a CSV of somebody's own columns, by a mapping of these to ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base.arrow import numbers
from pocketsim.sim.base.delimited import Kinds, of_csv
from pocketsim.sim.base.errors import ScenarioError, nearest, shown
from pocketsim.sim.importing.lines import Block, first_spoiled
from pocketsim.sim.importing.source import unpacked
from pocketsim.sim.importing.source_data import ColumnBlocks, Options, SourceData, units_per_s

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

ROLES = ("payer", "payee", "time", "amount", "payload")
"""What a column may be for us."""


def read(path: Path, options: Options) -> SourceData:
    """Return payments, or trades where a column is their payload.

    Raises ScenarioError for a mapping that does not fit the header, and with the first row that
    cannot be read.
    """
    columns = _mapping(options.columns)
    gathered = ColumnBlocks()
    found = SourceData("CSV: " + ", ".join(f"{role} is {name}" for role, name in columns.items()))
    unit = options.time_unit or "s"
    found.per_s = units_per_s("s" if unit == "iso" else unit)
    value = "amount" if "amount" in columns else "payload"
    for block in _blocks(path, columns, is_iso=unit == "iso"):
        place = {role: number for number, role in enumerate(columns)}
        time = _iso(block, place["time"]) if unit == "iso" else block.numbers(place["time"], "time")
        ids = {
            "from": block.names(place["payer"], "payer"),
            "to": block.names(place["payee"], "payee"),
        }
        said = block.numbers(place[value], value)
        if value == "amount":
            gathered.add(ids, {"time": time, "amount_cents": _cents(block, said, options)})
        else:
            block.refuse((said < 0) | (said != np.floor(said)), "payload is no whole number")
            gathered.add(ids, {"time": time, "payload_bytes": said})
        found.rows += time.size
    rows = gathered.rows()
    if rows is None:
        raise ScenarioError(path, "", "has no rows")
    found.payments, found.trades = (rows, None) if value == "amount" else (None, rows)
    return found


def _mapping(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the source's columns by role; a payer is called payer where nothing else is said."""
    for role in columns:
        if role not in ROLES:
            reason = f"{shown(repr(role))} is none of {', '.join(ROLES)}"
            raise ScenarioError("--columns", "", reason, nearest(role, ROLES))
    if "amount" in columns and "payload" in columns:
        raise ScenarioError("--columns", "", "a row is of an amount or of a payload, not of both")
    value = "payload" if "payload" in columns else "amount"
    return {role: columns.get(role, role) for role in ("payer", "payee", "time", value)}


def _blocks(path: Path, columns: Mapping[str, str], *, is_iso: bool) -> Iterator[Block]:
    """Yield columns in the order of `columns`; those of ISO times and of names are texts."""
    import pyarrow.compute as pc

    told = {"payer", "payee", *(["time"] if is_iso else [])}
    texts = [name for role, name in columns.items() if role in told]
    numbers = [name for name in columns.values() if name not in texts]

    def check(place: str, names: Sequence[str]) -> None:
        _check_header(path, place, names, columns)

    with unpacked(path) as file:
        for row, table in of_csv(path, file, Kinds(numbers, texts), check):
            found = ((name, table[name].combine_chunks()) for name in columns.values())
            values = [pc.fill_null(one, "") if name in texts else one for name, one in found]
            yield Block(path, row, np.full(row.size, len(columns)), values)


def _check_header(path: Path, place: str, names: Sequence[str], columns: Mapping[str, str]) -> None:
    for role, name in columns.items():
        if name not in names:
            reason = (
                f"has no column {shown(repr(name))} for {role}; it has {shown(', '.join(names))}"
            )
            hint = nearest(name, list(names)) or f"--columns {role}="
            raise ScenarioError(path, place, reason, hint)
        if list(names).count(name) > 1:
            raise ScenarioError(path, place, f"has several columns {shown(repr(name))}")


def _cents(block: Block, said: npt.NDArray[np.float64], options: Options) -> npt.NDArray[Any]:
    cents = said * _CENTS[options.amount_unit]
    whole = np.round(cents)
    block.refuse(cents < 0, "amount is negative")
    block.refuse(
        np.abs(cents - whole) > _ROUNDING, "amount is no whole number of cents (--amount-unit)"
    )
    return whole


def _iso(block: Block, column: int) -> npt.NDArray[np.float64]:
    """Return ISO 8601 times in seconds of the Unix clock; without a zone they are taken as UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = block.names(column, "time")
    zoned = numbers(pc.match_substring_regex(values, r"(Z|[+-]\d\d:?\d\d)$"))
    block.refuse(zoned != zoned[0], "has a time zone, or none, unlike the rows before")
    kind = pa.timestamp("us", "UTC") if zoned[0] else pa.timestamp("us")
    try:
        found = pc.cast(pc.cast(values, kind), pa.int64())
    except pa.ArrowInvalid:
        place = first_spoiled(values, kind)
        word = shown(repr(values[place].as_py()))
        raise block.error(
            place, f"time is {word}, no ISO 8601 such as 2024-05-01T12:00:00"
        ) from None
    return numbers(found) / 1e6


_CENTS = {"ct": 1.0, "EUR": 100.0}
_ROUNDING = 1e-6  # of cents: what a decimal fraction is off in binary is far less
