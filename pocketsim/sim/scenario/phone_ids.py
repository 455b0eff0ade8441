"""The phone of each id: one numbering of the ids in all files of a scenario.

Contacts in `tij` and graphs of partners name people by ids. Where all ids of a file are numbers of
phones (0 to n - 1, none written in another way), they stay as they are. The ids of all other files
are put together and sorted, as numbers if all of them are numbers, else as texts: the first is
phone 0. Trades, payments, churn of the scenario and contacts in columns may have these ids, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pocketsim.sim.base.errors import ScenarioError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pocketsim.sim.base.tables import Table

    Named = Mapping[Path, Iterable[str]]
    """The ids in each file."""


def together(naming: Named, others: Callable[[], Named], phones: int) -> tuple[str, ...]:
    """Return the ids of people in order of their phones' numbers; none where all ids are numbers.

    `naming` are files that name people. `others` returns those that may have the same ids, and is
    not called where nobody is named. Raises ScenarioError where there are more people than phones,
    and for a file whose ids are numbers of phones and only partly ids of people.
    """
    if all(_are_numbers(ids, phones) for ids in naming.values()):
        return ()
    found: set[str] = set()
    files = {**naming, **others()}
    by_number = {path: set(ids) for path, ids in files.items() if _are_numbers(ids, phones)}
    for path, ids in files.items():
        if path not in by_number:
            found |= set(ids)
            if len(found) > phones:
                others_too = ", with those of other files" if len(set(ids)) < len(found) else ""
                reason = f"is about {len(found)} people{others_too}; there are {phones} phones"
                raise ScenarioError(path, "", reason)
    for path, ids in by_number.items():
        if not (ids <= found or ids.isdisjoint(found)):
            _refuse_both(path, ids, found)
    return tuple(sorted(found, key=int if all(map(_is_decimal, found)) else None))


def numbered(table: Table, people: Sequence[str]) -> Table:
    """Return a table whose columns of names are numbers of phones."""
    import numpy as np

    if not table.names:
        return table
    lookup = np.array(numbers_of(table.names, people), np.uint32)
    columns = {
        name: lookup[values] if name in table.named else values
        for name, values in table.columns.items()
    }
    return replace(table, columns=columns, names=(), named=frozenset())


def numbers_of(ids: Sequence[str], people: Sequence[str]) -> list[int]:
    """Return the number of each phone of a file, by all of the ids in it."""
    place = {one: number for number, one in enumerate(people)}
    if all(one in place for one in ids):
        return [place[one] for one in ids]
    return [int(one) for one in ids]


def _are_numbers(ids: Iterable[str], phones: int) -> bool:
    return all(_is_decimal(one) and int(one) < phones and one == str(int(one)) for one in ids)


def _is_decimal(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS


def _refuse_both(path: Path, ids: set[str], people: set[str]) -> None:
    other = shown(repr(min(ids - people, key=int)))
    reason = f"has {other}, which is the number of a phone and nobody's id in other files, and "
    reason += f"{shown(repr(min(ids & people, key=int)))}, which is both; say the same of all files"
    raise ScenarioError(path, "", reason)


_DIGITS = 18  # of a number that 64 bits hold
