"""What the runs of a sweep found, as one tidy table: a row for each run and repetition.

A row's point is that of the sweep, not that of the run's files: the run may have been made by
another route. Nothing here runs anything, and nothing is judged.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from pocketsim.sim import __version__
from pocketsim.sim.run import results, sweep
from pocketsim.sim.run.csv_cells import cell
from pocketsim.sim.scenario import point_values
from pocketsim.sim.trace import fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from pocketsim.sim.run.results import Metrics


def table(of_sweep: sweep.Sweep) -> tuple[pa.Table, list[Path]]:
    """Return the table of all runs of a sweep that are there, and the directories of the others.

    Its columns are `scenario`, `directory` and `repetition`; `transport`, `payload_bytes` and
    `rate_per_s` of the rung; every key of a run's point, with its unit last
    (`point_values.column`); every metric, core seconds (`cpu_s.<operation>`) and joules
    (`energy_j.<component>`, `energy_by_network_j.<component>.<network>`), with the value of that
    repetition; the transactions `sent`, `stored`, `in_flight` and `lost`, in all and by reason
    (`lost.<reason>`). What a run does not have is null. A run that two points share has rows for
    each of them, if they differ.
    """
    missing: dict[Path, None] = {}
    there = []
    seen = set()
    for run in of_sweep.runs():
        which = (run.directory, json.dumps(run.place, sort_keys=True))
        if run.state != "there":
            missing[run.directory] = None
        elif which not in seen:
            seen.add(which)
            there.append(run)
    rows = (
        row
        for run in there
        for row in _rows(run.directory, run.metrics(), run.place, run.first_repetition)
    )
    return _table(list(rows), _said_of(run.place for run in there)), list(missing)


def rows_of(runs: Iterable[tuple[Path, Mapping[str, point_values.Value]]]) -> pa.Table:
    """Return that table of finished runs, each with where it lies among the others.

    Raises ScenarioError for a directory that is damaged.
    """
    found = list(runs)
    rows = (
        row
        for directory, place in found
        for row in _rows(directory, results.read_metrics(directory), place)
    )
    return _table(list(rows), _said_of(place for _, place in found))


def write(found: pa.Table, file: Path, *, as_csv: bool) -> None:
    """Write `found` to `file`, as CSV, in which no text is a formula, or as Parquet."""
    if as_csv:
        import pyarrow.csv as pc

        pc.write_csv(_without_formulas(found), file)
    else:
        import pyarrow.parquet as pq

        pq.write_table(fields.with_about(found, {"pocketsim.version": __version__}), file)


def _without_formulas(found: pa.Table) -> pa.Table:
    import pyarrow as pa

    columns = [
        pa.array([None if text is None else cell(text) for text in column.to_pylist()])
        if pa.types.is_string(column.type)
        else column
        for column in found.columns
    ]
    return pa.table(columns, names=[cell(name) for name in found.column_names])


def _rows(
    directory: Path, found: Metrics, place: Mapping[str, point_values.Value], first: int = 0
) -> Iterator[dict[str, Any]]:
    at = {point_values.column(key, value["unit"]): value["value"] for key, value in place.items()}
    rung = {key: value for key, value in found["rung"].items() if key != "axes"}
    families = {"": found["metrics"]}
    for name in _SPENT:
        if name in found:
            families[f"{name}."] = found[name]
    for repetition, fate in enumerate(found["fates"]):
        yield {
            "scenario": directory.parent.name,
            "directory": str(directory),
            "repetition": first + repetition,
            **rung,
            **at,
            **{
                f"{family}{name}": summary["values"][repetition]
                for family, summaries in families.items()
                for name, summary in summaries.items()
            },
            **{key: fate[key] for key in ("sent", "stored", "in_flight")},
            "lost": sum(fate["lost"].values()),
            **{f"lost.{reason}": number for reason, number in sorted(fate["lost"].items())},
        }


def _table(rows: Sequence[Mapping[str, Any]], said: Mapping[str, tuple[str, str]]) -> pa.Table:
    """Return rows as a table, whose fields say their unit and what they are."""
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [_column([row.get(name) for row in rows]) for name in names]
    layout = [
        pa.field(name, column.type, metadata=fields.said(*(said.get(name) or _said(name))))
        for name, column in zip(names, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(layout))


def _said_of(places: Iterable[Mapping[str, point_values.Value]]) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of each value of points, by its name as a column."""
    return {
        point_values.column(key, value["unit"]): (
            "1/s" if value["unit"] == "/s" else value["unit"],
            f"`{key}` of the scenario",
        )
        for place in places
        for key, value in place.items()
    }


def _said(name: str) -> tuple[str, str]:
    """Return unit and meaning of a column that is no value of a point."""
    from pocketsim.sim.metrics.reference import METRICS

    if name in METRICS:
        return METRICS[name].unit, METRICS[name].meaning
    family, _, member = name.partition(".")
    if member and family in _FAMILIES:
        unit, meaning = _FAMILIES[family]
        return unit, meaning.format(member)
    return _COLUMNS.get(name, ("", "a metric of the scenario's own"))


def _column(values: Sequence[Any]) -> pa.Array:
    """Return `values` as one type: what is numbers here and words there becomes words."""
    import pyarrow as pa

    try:
        found = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        words = [
            value if value is None or isinstance(value, str) else json.dumps(value)
            for value in values
        ]
        return pa.array(words)
    return found.cast(pa.float64()) if pa.types.is_null(found.type) else found


_SPENT: Final = ("cpu_s", "energy_j", "energy_by_network_j")
_COLUMNS = {
    "scenario": ("", "name of the scenario"),
    "directory": ("", "the run directory"),
    "repetition": ("", "which repetition, from 0"),
    "transport": ("", "the transport of the run"),
    "payload_bytes": ("B", "payload of a transaction"),
    "rate_per_s": ("1/s", "rate of transactions that was asked for"),
    "sent": ("1", "transactions sent"),
    "stored": ("1", "transactions stored"),
    "in_flight": ("1", "transactions neither stored nor lost at the end"),
    "lost": ("1", "transactions lost, for whatever reason"),
}
_FAMILIES = {
    "cpu_s": ("s", "core seconds of all phones spent on {}"),
    "energy_j": ("J", "joules of all phones spent by {}"),
    "energy_by_network_j": ("J", "joules of all phones spent by {}"),
    "lost": ("1", "transactions lost for the reason {}"),
}
"""Columns that there are several of, by what stands before the dot."""
