"""What was found, as the tables that a scenario reads: seconds from 0 on, phones by number."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.engine_facts import PAYLOAD_BYTES_MIN
from pocketsim.sim.base.errors import ScenarioError, shown
from pocketsim.sim.base.units import MONEY, SIZE
from pocketsim.sim.importing import graphs, intervals
from pocketsim.sim.importing.numbering import Names, numbered

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.importing.source_data import Options, Rows, SourceData

    Table = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Written:
    """Tables by kind, the ids of their phones in order, and the origin in the source's time.

    `first_s` and `last_s` are the least and the largest time in them. Graphs have no times.
    """

    tables: dict[str, Table]
    ids: list[str]
    origin: float | None
    first_s: float | None
    last_s: float | None


def written(path: Path, found: SourceData, options: Options) -> Written:
    """Return the tables of what was found in the source at `path`.

    Raises ScenarioError where nothing is left, or for values that no table of ours takes.
    """
    kinds = {
        kind: rows
        for kind in ("contacts", "churn", "trades", "payments", "partners")
        if (rows := getattr(found, _FOUND.get(kind, kind))) is not None
    }
    names = Names(list(kinds.values()))
    origin = None if "partners" in kinds else _origin(options, list(kinds.values()))
    tables: dict[str, Table] = {}
    for kind, rows in kinds.items():
        codes = {name: names.codes(column) for name, column in rows.ids.items()}
        if kind == "partners":
            found.is_directed &= not options.undirected
            one, other = graphs.joined(found, codes["from"], codes["to"], len(names.sorted))
            table: Table = {"from": one, "to": other}
            _check_leads(path, found, table, names)
        else:
            assert origin is not None, "what is no graph has times"
            table = _MAKERS[kind](path, found, codes, _since(rows, origin, found.per_s), options)
        if next(iter(table.values())).size:
            tables[kind] = table
    if not tables:
        dropped = "; ".join(f"{count} {reason}" for reason, count in found.dropped.items())
        raise ScenarioError(path, "", f"nothing of it is left: {dropped}")
    ids, tables = numbered(names, tables, _WHOSE)
    times = [
        values for table in tables.values() for name, values in table.items() if name in _TIMES
    ]
    first_s = min((float(values.min()) for values in times), default=None)
    last_s = max((float(values.max()) for values in times), default=None)
    return Written(tables, ids, origin, first_s, last_s)


def _check_leads(path: Path, found: SourceData, table: Table, names: Names) -> None:
    """Refuse a directed graph in which no edge leads from a node: its phone has no partner."""
    alone = np.setdiff1d(table["to"], table["from"])
    if found.is_directed and alone.size:
        node = shown(repr(names.sorted[int(alone[0])]))
        reason = (
            f"no edge leads from node {node}, and from {alone.size} nodes in all, which would have "
            "no partner; --undirected lets edges lead both ways"
        )
        raise ScenarioError(path, "", reason)


def _origin(options: Options, several: list[Rows]) -> float:
    if options.origin is None:
        firsts = [rows.numbers.get("begin", rows.numbers.get("time")) for rows in several]
        return min(float(first.min()) for first in firsts if first is not None)
    try:
        if options.time_unit == "iso":
            time = datetime.fromisoformat(options.origin)
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        found = float(options.origin)
    except ValueError:
        found = np.nan
    if not np.isfinite(found):
        reason = f"{shown(repr(options.origin))} is no time of the source's"
        raise ScenarioError("--origin", "", reason)
    return found


def _since(rows: Rows, origin: float, per_s: float) -> Table:
    """Return numbers with times in seconds since the origin."""
    return {
        name: (values - origin) / per_s if name in {"begin", "end", "time"} else values
        for name, values in rows.numbers.items()
    }


def _contacts(
    path: Path, found: SourceData, codes: Table, numbers: Table, options: Options
) -> Table:
    del path
    one, other, begin, end = codes["phone_a"], codes["phone_b"], numbers["begin"], numbers["end"]
    kept = found.drop(one == other, "near itself")
    one, other, begin, end = one[kept], other[kept], begin[kept], end[kept]
    at_once = end == begin
    if options.window_s:
        if at_once.any():
            reason = f"ends when it begins: lasts {options.window_s:.15g} s"
            found.changed[reason] += int(at_once.sum())
        end = np.where(at_once, begin + options.window_s, end)
    people = int(max(one.max(initial=0), other.max(initial=0))) + 1
    pair, begin, end = _intervals(found, intervals.pairs(one, other, people), begin, end)
    order = np.lexsort((pair, begin))
    low, high = intervals.apart(pair[order], people)
    return {"phone_a": low, "phone_b": high, "begin_s": begin[order], "end_s": end[order]}


def _churn(path: Path, found: SourceData, codes: Table, numbers: Table, options: Options) -> Table:
    del path, options
    phone, on, off = _intervals(found, codes["phone"], numbers["begin"], numbers["end"])
    return {"phone": phone, "on_s": on, "off_s": off}


def _intervals(
    found: SourceData, who: npt.NDArray[Any], begin: npt.NDArray[Any], end: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    kept = found.drop(end == begin, "ends when it begins")
    kept &= found.drop((end <= 0) & (end > begin), "over before the origin")
    cut = kept & (begin < 0)
    if cut.any():
        found.changed["begins before the origin: cut there"] += int(cut.sum())
    who, begin, end = who[kept], np.maximum(begin[kept], 0.0), end[kept]
    before = who.size
    who, begin, end = intervals.merged(who, begin, end)
    if who.size < before:
        found.changed["overlaps or touches another: one interval"] += before - who.size
    return who, begin, end


def _paid(path: Path, found: SourceData, codes: Table, numbers: Table, options: Options) -> Table:
    del options
    name = next(column for column in numbers if column != "time")
    time, value, one, other = numbers["time"], numbers[name], codes["from"], codes["to"]
    most = MONEY.maximum if name == "amount_cents" else SIZE.maximum
    if (value > most).any():
        reason = f"{name} of {value.max():.15g} is more than {most:,.0f}"
        raise ScenarioError(path, "", reason)
    kept = found.drop(one == other, "to itself")
    kept &= found.drop((time < 0) & (one != other), "before the origin")
    if name == "amount_cents":
        kept &= found.drop(kept & (value < 1), "of nothing")
    elif (kept & (value < PAYLOAD_BYTES_MIN)).any():
        reason = f"payload below {PAYLOAD_BYTES_MIN} B, the least: has that"
        found.changed[reason] += int((kept & (value < PAYLOAD_BYTES_MIN)).sum())
        value = np.maximum(value, PAYLOAD_BYTES_MIN)
    order = np.flatnonzero(kept)[np.argsort(time[kept], kind="stable")]
    return {
        "time_s": time[order],
        "from": one[order],
        "to": other[order],
        name: value[order].astype(np.int64),
    }


_FOUND = {"churn": "presence", "partners": "edges"}
_MAKERS = {"contacts": _contacts, "churn": _churn, "trades": _paid, "payments": _paid}
_WHOSE = ("phone_a", "phone_b", "phone", "from", "to")
_TIMES = ("begin_s", "end_s", "on_s", "off_s", "time_s")
