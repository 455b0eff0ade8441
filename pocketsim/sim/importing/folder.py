"""The folder of what was imported: tables, who is which phone, and a note of where it is from.

It appears whole or not at all: it is written beside, and renamed last. Into a folder that an
earlier import made, files are renamed one by one, if that is asked for.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from pocketsim.sim import __version__
from pocketsim.sim.base.arrow import texts
from pocketsim.sim.base.errors import ScenarioError, room_for
from pocketsim.sim.base.files import aside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from pocketsim.sim.importing.columns import Written
    from pocketsim.sim.importing.source_data import SourceData

NOTE, PHONES = "import.json", "phones.csv"


def check(folder: Path, *, force: bool) -> None:
    """Refuse a folder that holds anything, unless it is an earlier import's and `force` says so."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise ScenarioError(folder, "", "is no folder")
    if not folder.name:
        raise ScenarioError(folder, "", "names no new folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / NOTE).is_file():
            raise ScenarioError(
                folder, "", f"is there already, and has no {NOTE}; name a new folder"
            )
        if not force:
            raise ScenarioError(folder, "", "is there already; --force makes it again")


def write(folder: Path, note: dict[str, Any], found: SourceData, made: Written) -> dict[str, Any]:
    """Write all files of an import, and return its note as it is written."""
    with room_for(folder), aside(folder) as built:
        note = _fill(built, note, found, made)
        _place(built, folder)
    return note


def _fill(aside: Path, note: dict[str, Any], found: SourceData, made: Written) -> dict[str, Any]:
    files: dict[str, int] = {}
    for kind, table in made.tables.items():
        rows = next(iter(table.values())).size
        if kind == "partners":
            files[_write_graph(aside, table, made.ids, found)] = rows
        else:
            _write_table(aside / f"{kind}.csv", table)
            files[f"{kind}.csv"] = rows
    _write_phones(aside / PHONES, made.ids)
    whole = {
        **note,
        "pocketsim": __version__,
        "dialect": found.dialect,
        "phones": len(made.ids),
        "rows_read": found.rows,
        "rows_written": files,
        "rows_dropped": {why: count for why, count in sorted(found.dropped.items()) if count},
        "rows_changed": {how: count for how, count in sorted(found.changed.items()) if count},
        "origin": made.origin,
        "origin_s": None if made.origin is None else made.origin / found.per_s,
        "first_s": made.first_s,
        "last_s": made.last_s,
    }
    (aside / NOTE).write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return whole


def _place(aside: Path, folder: Path) -> None:
    """Rename the folder into place, or its files into a folder that an earlier import made."""
    if not folder.is_dir() or not any(folder.iterdir()):
        aside.replace(folder)
        return
    earlier = set(_earlier(folder))
    made = {path.name for path in aside.iterdir()}
    for name in sorted(made, key=lambda name: name == NOTE):
        (aside / name).replace(folder / name)
    for name in earlier - made:
        (folder / name).unlink(missing_ok=True)


def _earlier(folder: Path) -> list[str]:
    """Return the tables of the import that made a folder."""
    try:
        told = json.loads((folder / NOTE).read_text("utf-8"))["rows_written"]
        return [name for name in told if name in TABLES]
    except (ValueError, KeyError, TypeError):
        return []


def _write_table(path: Path, table: Mapping[str, npt.NDArray[Any]]) -> None:
    import pyarrow as pa
    from pyarrow import csv

    columns = {name: _column(values) for name, values in table.items()}
    csv.write_csv(pa.table(columns), path, csv.WriteOptions(quoting_style="none"))


def _column(values: npt.NDArray[Any]) -> Any:
    import pyarrow as pa

    kind = pa.float64() if values.dtype.kind == "f" else pa.int64()
    flat = values.astype("<f8" if values.dtype.kind == "f" else "<i8", copy=False)
    return pa.Array.from_buffers(kind, flat.size, [None, pa.py_buffer(flat.tobytes())])


def _write_phones(path: Path, ids: Sequence[str]) -> None:
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table({"number": _column(np.arange(len(ids))), "id": texts(ids)})
    csv.write_csv(table, path, csv.WriteOptions(quoting_style="needed"))


def _write_graph(
    aside: Path, table: Mapping[str, npt.NDArray[np.int64]], ids: Sequence[str], found: SourceData
) -> str:
    """Write partners as pairs, or as GraphML where edges lead one way; return the file's name."""
    pairs = zip(table["from"].tolist(), table["to"].tolist(), strict=True)
    if not found.is_directed:
        with (aside / EDGES).open("w", encoding="utf-8") as file:
            file.writelines(f"{one} {other}\n" for one, other in pairs)
        return EDGES
    with (aside / GRAPH).open("w", encoding="utf-8") as file:
        file.write(_GRAPHML)
        file.writelines(f'<node id="{number}"/>\n' for number in range(len(ids)))
        file.writelines(f'<edge source="{one}" target="{other}"/>\n' for one, other in pairs)
        file.write("</graph></graphml>\n")
    return GRAPH


EDGES, GRAPH = "partners.edgelist", "partners.graphml"
TABLES = ("contacts.csv", "churn.csv", "trades.csv", "payments.csv", EDGES, GRAPH)
_GRAPHML = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n<graph edgedefault="directed">\n'
)
