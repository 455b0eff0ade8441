"""Files that say which phones are on when, and which are near each other when.

A scenario names them. They are read and checked with the scenario, and again by each child process,
which refuses a file that has changed since. Columns are unsorted, as they stand in the file. What a
plan makes of them is in `sim.plan.churn` and `sim.plan.contacts`. Who checks a scenario has its
models; a child has not, and no import here loads them.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base import tables
from pocketsim.sim.base.files import beside, check_same
from pocketsim.sim.base.tables import Column, Lines, Names, Table
from pocketsim.sim.scenario import phone_ids, rows_used

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from pocketsim.sim.scenario.churn import ChurnFile
    from pocketsim.sim.scenario.contacts import ContactsFile
    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.resolved import Resolved
    from pocketsim.sim.scenario.rows_used import Used

    PresenceTables = Mapping[str, Table]
    """Tables by the key path of their file; of contacts with the columns of `CONTACT`."""
    Cache = dict[tuple[Path, str, bool], Table]

CHURN, CONTACTS = "churn.file", "contacts.file"


def churn_of(group: int) -> str:
    """Return the key path of the file of churn of a group of phones."""
    return f"devices[{group}].{CHURN}"


def naming(scenario: Scenario, path: Path, cache: Cache) -> dict[Path, tuple[str, ...]]:
    """Return the ids in contacts that name people, by file."""
    from pocketsim.sim.scenario.contacts import ContactsFile

    law = scenario.contacts
    if not isinstance(law, ContactsFile) or law.format != _TIJ_FORMAT:
        return {}
    file = beside(path, CONTACTS, law.file)
    return {file: _cached(file, law.format, cache, by_id=True).names}


def others(scenario: Scenario, path: Path, cache: Cache) -> dict[Path, tuple[str, ...]]:
    """Return the ids in files of contacts in columns and of all phones' churn, by file."""
    found = {}
    for place, law in _named(scenario).items():
        form = getattr(law, "format", _PRESENCE)
        if place in _WITH_IDS and form != _TIJ_FORMAT:
            file = beside(path, place, law.file)
            found[file] = _cached(file, form, cache, by_id=True).names
    return found


def read(
    scenario: Scenario, path: Path, cache: Cache, people: Sequence[str] = ()
) -> PresenceTables:
    """Return the tables of the files that the scenario at `path` names.

    Those that may have them have the ids of `people`, in order of their phones. What is in `cache`
    is not read again, what is read is added to it. Raises ScenarioError, with the row where there
    is one, for the first thing that is wrong with a file.
    """
    found: dict[str, Table] = {}
    for place, law in _named(scenario).items():
        form = getattr(law, "format", _PRESENCE)
        by_id = _has_ids(place, form, people)
        told = _cached(beside(path, place, law.file), form, cache, by_id=by_id)
        found[place] = table = phone_ids.numbered(told, people)
        if place == CONTACTS:
            _check_contacts(scenario, table, form)
        else:
            _check_presence(scenario, table, place)
    return found


def used(scenario: Scenario, tables: PresenceTables) -> dict[str, Used]:
    """Return what the run uses of each of the tables that `read` returned for a scenario.

    Raises ScenarioError for a table of which the run uses nothing.
    """
    found, duration_s = {}, scenario.run.duration
    for place, law in _named(scenario).items():
        table = tables[place]
        begin_s, end_s = list(table.columns.values())[-2:]
        found[place] = rows_used.of(table, begin_s, end_s, law.origin, duration_s)
        rows_used.check(found[place], table, duration_s)
    return found


def again(resolved: Resolved, files: Mapping[str, str]) -> PresenceTables:
    """Return the tables of a resolved scenario, whose files lie at paths by their digests.

    Raises ScenarioError for a file that is not what it was when the scenario was resolved.
    """
    groups = (group.get("churn") for group in resolved["devices"])
    laws = {
        CHURN: resolved["churn"],
        CONTACTS: resolved["contacts"],
        **{churn_of(number): law for number, law in enumerate(groups)},
    }
    found: dict[str, Table] = {}
    people = resolved.get("people", ())
    for place, law in laws.items():
        if law is not None and law["kind"] == "file":
            assert law["digest"] in files, "whoever builds a plan says where its files lie"
            path = Path(files[law["digest"]])
            form = str(law.get("format", _PRESENCE))
            told = _table(path, form, by_id=_has_ids(place, form, people))
            found[place] = phone_ids.numbered(told, people)
            check_same(path, found[place].digest, law["digest"])
    return found


def contacts(path: Path, form: str) -> Table:
    """Return a file of contacts that no scenario names; phones are places among its sorted ids.

    Raises ScenarioError, with the row where there is one, for the first thing that is wrong.
    """
    return _table(path, form, by_id=True)


def _named(scenario: Scenario) -> dict[str, ChurnFile | ContactsFile]:
    """Return the sections that name a file, by the file's key path."""
    from pocketsim.sim.scenario.churn import ChurnFile
    from pocketsim.sim.scenario.contacts import ContactsFile

    groups = {churn_of(number): group.churn for number, group in enumerate(scenario.devices)}
    laws = {CHURN: scenario.churn, **groups, CONTACTS: scenario.contacts}
    return {place: law for place, law in laws.items() if isinstance(law, ChurnFile | ContactsFile)}


def _has_ids(place: str, form: str, people: Sequence[str]) -> bool:
    """Tell whether phones are called by what may be ids in the file at a key path."""
    return form == _TIJ_FORMAT or (bool(people) and place in _WITH_IDS)


def _cached(path: Path, form: str, cache: Cache, *, by_id: bool) -> Table:
    key = (path, form, by_id)
    if key not in cache:
        cache[key] = _table(path, form, by_id=by_id)
    return cache[key]


def _table(path: Path, form: str, *, by_id: bool) -> Table:
    if form != _TIJ_FORMAT:
        asked, check = (PRESENCE, _check_on) if form == _PRESENCE else (CONTACT, _check_near)
        takes = [Names(one.name) if by_id and one.is_whole else one for one in asked]
        return tables.read(path, takes, check=check)
    # A line says that two people were near each other in the 20 s before its time.
    told = tables.read(path, _TIJ, _TIJ_LINES)
    end_s, one, other = told.columns.values()
    columns = (one, other, end_s - _TIJ_S, end_s)
    names = (column.name for column in CONTACT)
    named = frozenset({"phone_a", "phone_b"})
    return replace(told, columns=dict(zip(names, columns, strict=True)), named=named)


def _check_on(table: Table) -> None:
    """Refuse what no scenario can have in a file of churn, or in some of its rows."""
    phone, on_s, off_s = (table.columns[column.name] for column in PRESENCE)
    table.refuse(off_s <= on_s, "off_s is {off_s:.15g}, which is not after on_s")
    _check_apart(table, (phone,), on_s, off_s, "phone")


def _check_near(table: Table) -> None:
    """Refuse what no scenario can have in columns of contacts, or in some of their rows."""
    import numpy as np

    one, other, begin_s, end_s = (table.columns[column.name] for column in CONTACT)
    table.refuse(end_s <= begin_s, "end_s is {end_s:.15g}, which is not after begin_s")
    pair = (np.minimum(one, other), np.maximum(one, other))
    _check_apart(table, pair, begin_s, end_s, "pair")


def _check_presence(scenario: Scenario, table: Table, place: str) -> None:
    whose = {CHURN: (scenario.phone_count(), "phones")}
    for number, group in enumerate(scenario.devices):
        whose[churn_of(number)] = group.count, f"phones of devices[{number}]"
    _check_phones(table, "phone", *whose[place])
    if place == CHURN:
        _check_nobody_elses(scenario, table)
    _check_on(table)


def _check_nobody_elses(scenario: Scenario, table: Table) -> None:
    """Refuse rows of phones whose churn is not that of the scenario's file."""
    phone, first = table.columns["phone"], 0
    for number, group in enumerate(scenario.devices):
        inside = (phone >= first) & (phone < first + group.count)
        if group.role == "authority":
            table.refuse(inside, "phone is {phone}, the tokens' authority, which is always on")
        if group.churn is not None:
            table.refuse(inside, f"phone is {{phone}}, whose churn devices[{number}].churn says")
        first += group.count


def _check_contacts(scenario: Scenario, table: Table, form: str) -> None:
    if form != _TIJ_FORMAT:
        for name in ("phone_a", "phone_b"):
            _check_phones(table, name, scenario.phone_count(), "phones")
    near_itself = table.columns["phone_a"] == table.columns["phone_b"]
    table.refuse(near_itself, "says that a phone is near itself")
    if form != _TIJ_FORMAT:  # whose lines are one contact where they touch or overlap
        _check_near(table)


def _check_phones(table: Table, column: str, count: int, who: str) -> None:
    reason = f"{column} is {{{column}}}; {who} are numbered from 0 to {count - 1}"
    table.refuse(table.columns[column] >= count, reason)


def _check_apart(
    table: Table,
    who: Sequence[npt.NDArray[Any]],
    begin_s: npt.NDArray[Any],
    end_s: npt.NDArray[Any],
    what: str,
) -> None:
    """Refuse two intervals of the same that overlap; those that touch do not."""
    import numpy as np

    order = np.lexsort((begin_s, *who))
    before, after = order[:-1], order[1:]
    wrong = begin_s[after] < end_s[before]
    for key in who:
        wrong &= key[before] == key[after]
    if wrong.any():
        pairs = np.sort(np.stack([before[wrong], after[wrong]]), axis=0)
        earlier, later = pairs[:, np.argmin(pairs[1])]
        raise table.error(int(later), f"overlaps row {table.row(int(earlier))}, of the same {what}")


def _phone(name: str) -> Column:
    # How many there are, a scenario says, and a table serves several.
    return Column(name, 0, 2**32 - 1, "phones are numbered from 0 on", is_whole=True)


def _time(name: str) -> Column:
    return Column(name, 0, sys.float_info.max, "a time is 0 or more, and finite", is_time=True)


PRESENCE = (_phone("phone"), _time("on_s"), _time("off_s"))
CONTACT = (_phone("phone_a"), _phone("phone_b"), _time("begin_s"), _time("end_s"))
_TIJ_FORMAT = "tij"
_WITH_IDS = (CHURN, CONTACTS)  # in a group's churn its phones have numbers of their own
_PRESENCE = "presence"  # beside the formats of contacts
_TIJ = (_time("t"), Names("i"), Names("j"))
_TIJ_LINES = Lines(
    (3, 5),
    "a line is t i j, or t i j and the groups of i and j (of The ONE, `pocketsim import one` reads "
    "its logs)",
)
_TIJ_S = 20.0  # the window of a line, sociopatterns.org
