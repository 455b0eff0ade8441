"""The files of a user that a scenario names: who is on when, and who is near whom when.

They are read with the scenario, which refuses what makes no sense in them, and again by each child
process, which refuses a file that has changed since. Columns are as they stand in the file, sorted
in no way; what a plan makes of them is `sim.plan.churn`'s and `sim.plan.contacts`'.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import check_same, nearest_file
from pocketsim.sim.scenario import intervals
from pocketsim.sim.scenario.churn import ChurnFile
from pocketsim.sim.scenario.contacts import ContactsFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.intervals import Kind, Table
    from pocketsim.sim.scenario.resolved import Resolved

    Own = Mapping[str, Table]
    """Tables by the key path of their file; of contacts with the columns of `CONTACT`."""
    Cache = dict[tuple[Path, str], Table]

CHURN, CONTACTS = "churn.file", "contacts.file"
PRESENCE: Mapping[str, Kind] = {"phone": "int", "on_s": "float", "off_s": "float"}
CONTACT: Mapping[str, Kind] = {
    "phone_a": "int",
    "phone_b": "int",
    "begin_s": "float",
    "end_s": "float",
}


def read(scenario: Scenario, path: Path, cache: Cache) -> Own:
    """Return the tables of the files that the scenario at `path` names.

    What is in `cache` is not read again, what is read is added to it. Raises ScenarioError, with
    the row where there is one, for the first thing that is wrong with a file.
    """
    found: dict[str, Table] = {}
    if isinstance(scenario.churn, ChurnFile):
        found[CHURN] = _cached(cache, _file(path, CHURN, scenario.churn.file), _PRESENCE)
        _check_presence(scenario, found[CHURN])
        _check_some(scenario, found[CHURN], scenario.churn.origin, "on_s", "off_s")
    if isinstance(scenario.contacts, ContactsFile):
        law = scenario.contacts
        found[CONTACTS] = _cached(cache, _file(path, CONTACTS, law.file), law.format)
        _check_contacts(scenario, found[CONTACTS], law.format)
        _check_some(scenario, found[CONTACTS], law.origin, "begin_s", "end_s")
    return found


def again(resolved: Resolved, files: Mapping[str, str]) -> Own:
    """Return the tables of a resolved scenario, whose files lie at paths by their digests.

    Raises ScenarioError for a file that is not what it was when the scenario was resolved.
    """
    churn, contacts = resolved["churn"], resolved["contacts"]
    found: dict[str, Table] = {}
    if churn is not None and churn["kind"] == "file":
        found[CHURN] = _same(files, churn["digest"], _PRESENCE)
    if contacts is not None and contacts["kind"] == "file":
        found[CONTACTS] = _same(files, contacts["digest"], contacts["format"])
    return found


def _same(files: Mapping[str, str], digest: str, form: str) -> Table:
    assert digest in files, "whoever builds a plan says where its files lie"
    path = Path(files[digest])
    table = _table(path, form)
    check_same(path, table.digest, digest)
    return table


def _file(path: Path, place: str, name: str) -> Path:
    file = (path.parent / name).absolute()
    try:
        if file.is_file():  # a pipe could be read only once
            return file
        suggestion = nearest_file(file)
    except (OSError, ValueError):  # nothing is called what nothing can be called
        suggestion = None
    raise ScenarioError(path, place, f"no such file {file}", suggestion)


def _cached(cache: Cache, path: Path, form: str) -> Table:
    key = (path, form)
    if key not in cache:
        cache[key] = _table(path, form)
    return cache[key]


def _table(path: Path, form: str) -> Table:
    if form == "tij":
        return _of_tij(path)
    return intervals.read_columns(path, PRESENCE if form == _PRESENCE else CONTACT)


def _of_tij(path: Path) -> Table:
    """Return the contacts of SocioPatterns' format, whose people are phones in order of their ids.

    A line says that two people were near each other in the 20 s before its time.
    """
    import pyarrow as pa

    read = intervals.read_bytes(path)
    first = read.partition(b"\n")[0]
    delimiter = "\t" if b"\t" in first else " "
    width = first.count(delimiter.encode()) + 1
    if width not in _TIJ_WIDTHS:
        reason = f"has {width} values; a line is t i j, or t i j and the groups of i and j"
        raise ScenarioError(path, "row 1", reason)
    names = ("t", "i", "j", "group_i", "group_j")[:width]
    lines = intervals.parsed(path, read, _TIJ, names, first_row=1, delimiter=delimiter)
    times = intervals.table(path, read, 1, lines.select(["t"]))
    end_s = times.columns["t"]
    times.refuse(end_s < 0, "t", "is {value}, a negative time")
    one, other = lines["i"], lines["j"]
    ids = _in_order(pa.chunked_array([*one.chunks, *other.chunks], pa.string()))
    columns = {
        "phone_a": _phones(one, ids),
        "phone_b": _phones(other, ids),
        "begin_s": end_s - _TIJ_S,
        "end_s": end_s,
    }
    return replace(times, columns=columns)


def _in_order(ids: pa.ChunkedArray) -> pa.Array:
    """Return each of `ids` once: numbers by size, if all are, else texts by letters."""
    import pyarrow as pa

    once = ids.unique().to_pylist()
    all_numbers = all(text.isascii() and text.isdecimal() for text in once)
    return pa.array(sorted(once, key=int) if all_numbers else sorted(once), pa.string())


def _phones(ids: pa.ChunkedArray, every: pa.Array) -> npt.NDArray[np.int64]:
    from pyarrow import compute

    places: npt.NDArray[np.int32] = compute.index_in(ids, value_set=every).to_numpy()
    return places.astype(np.int64)


def _check_presence(scenario: Scenario, table: Table) -> None:
    phone, on_s, off_s = (table.columns[name] for name in PRESENCE)
    _check_phones(scenario, table, "phone")
    _check_times(table, "on_s", "off_s")
    first = 0
    for number, group in enumerate(scenario.devices):
        last = first + group.count - 1
        inside = (phone >= first) & (phone <= last)
        if group.role == "authority":
            table.refuse(inside, "phone", "is {value}, the tokens' authority, which is always on")
        if group.churn is not None:
            reason = f"is {{value}}, whose churn devices[{number}].churn says"
            table.refuse(inside, "phone", reason)
        first = last + 1
    _check_apart(table, (phone,), on_s, off_s, "phone")


def _check_contacts(scenario: Scenario, table: Table, form: str) -> None:
    one, other, begin_s, end_s = (table.columns[name] for name in CONTACT)
    if form == "tij":
        people = int(max(one.max(), other.max())) + 1
        if people > scenario.phone_count():
            reason = f"is about {people} people; there are {scenario.phone_count()} phones"
            raise ScenarioError(table.path, "", reason)
    else:
        for name in ("phone_a", "phone_b"):
            _check_phones(scenario, table, name)
        _check_times(table, "begin_s", "end_s")
    alone = one == other
    if alone.any():
        raise table.error(int(np.argmax(alone)), "says that a phone is near itself")
    if form != "tij":  # whose lines are one contact where they touch or overlap
        pair = (np.minimum(one, other), np.maximum(one, other))
        _check_apart(table, pair, begin_s, end_s, "pair")


def _check_phones(scenario: Scenario, table: Table, column: str) -> None:
    phone, phones = table.columns[column], scenario.phone_count()
    reason = f"is {{value}}; phones are 0 to {phones - 1}"
    table.refuse((phone < 0) | (phone >= phones), column, reason)


def _check_times(table: Table, begin: str, end: str) -> None:
    begin_s, end_s = table.columns[begin], table.columns[end]
    table.refuse(begin_s < 0, begin, "is {value}, a negative time")
    table.refuse(end_s <= begin_s, end, f"is {{value}}, which is not after {begin}")


def _check_apart(
    table: Table,
    who: tuple[npt.NDArray[np.int64], ...],
    begin_s: npt.NDArray[np.float64],
    end_s: npt.NDArray[np.float64],
    what: str,
) -> None:
    """Refuse two intervals of the same that overlap; those that touch do not."""
    order = np.lexsort((begin_s, *who))
    before, after = order[:-1], order[1:]
    wrong = begin_s[after] < end_s[before]
    for key in who:
        wrong &= key[before] == key[after]
    if wrong.any():
        pairs = np.sort(np.stack([before[wrong], after[wrong]]), axis=0)
        earlier, later = pairs[:, np.argmin(pairs[1])]
        raise table.error(
            int(later), f"overlaps row {earlier + table.first_row}, of the same {what}"
        )


def _check_some(scenario: Scenario, table: Table, origin_s: float, begin: str, end: str) -> None:
    """Refuse a file that says nothing about the run: its times are mostly of another clock."""
    begin_s, end_s = table.columns[begin], table.columns[end]
    until_s = origin_s + scenario.run.duration
    if not ((end_s > origin_s) & (begin_s < until_s)).any():
        reason = (
            f"has nothing between {origin_s:.12g} s and {until_s:.12g} s, where the run is; its "
            f"times are from {begin_s.min():.12g} s to {end_s.max():.12g} s, and `origin` moves it"
        )
        raise ScenarioError(table.path, "", reason)


_PRESENCE = "presence"  # beside the formats of contacts
_TIJ: Mapping[str, Kind] = {"t": "float", "i": "text", "j": "text"}
_TIJ_S = 20.0  # the window of a line, sociopatterns.org
_TIJ_WIDTHS = (3, 5)
