"""The table of what matters: every number doubled, and Sobol' indices of those that move most.

The same documents, rows, options and build give the same bytes. What was made lies in a journal, so
that an interruption costs one number.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sim
from calibration.fit.inverse import sobol
from calibration.fit.inverse.doubling import Doubling, Number, numbers
from calibration.validate import published
from calibration.validate.comparison import needs_simulation
from calibration.validate.sensitivity import MOVES, MOVES_VALIDATED, Entry, as_table, from_table
from calibration.validate.validation import scenarios, select
from sim.base.build import build_digest
from sim.base.errors import UserError, nearest
from sim.run.forks import Forks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from calibration.fit.inverse.sobol import Index


@dataclass(frozen=True)
class Options:
    """What is asked for: patterns of numbers and of rows (all, if None), and how much of it."""

    only: tuple[str, ...] | None
    subset: tuple[str, ...] | None
    repetitions: int
    samples: int


@dataclass(frozen=True)
class Table:
    """What each number moves, the groups that stand validated, and indices of the largest."""

    options: Options
    validated: tuple[str, ...]
    entries: tuple[Entry, ...]
    indices: tuple[Index, ...]


def make(
    options: Options, journal: Path, jobs: int, told: Callable[[Entry, int, int], None]
) -> Table:
    """Double each number and return what that moves, with `jobs` repetitions at a time.

    `told` gets each entry, its place and how many there are. Raises UserError where nothing is
    selected.
    """
    rows = [row for row in select(published.rows(), options.subset) if needs_simulation(row)]
    chosen = _chosen(numbers(scenarios(rows)), options.only)
    with Forks(jobs) as forks:
        doubling = Doubling(rows, options.repetitions, forks)
        kept = _Journal(journal, rows, options)
        entries = []
        for place, number in enumerate(chosen, start=1):
            entry = kept.entry(number, doubling)
            entries.append(entry)
            told(entry, place, len(chosen))
        found = _indices(entries, chosen, rows, options.samples, forks)
        return Table(options, doubling.validated, tuple(entries), tuple(found))


def as_toml(table: Table) -> str:
    """Return the table as a TOML document."""
    import tomli_w

    options = table.options
    head = {
        "version": sim.__version__,
        "build": build_digest(),
        "repetitions": options.repetitions,
        "samples": options.samples,
        "validated_groups": list(table.validated),
        **({"only": list(options.only)} if options.only else {}),
        **({"subset": list(options.subset)} if options.subset else {}),
    }
    lists = {
        "numbers": [as_table(entry) for entry in table.entries],
        "indices": [_short(index._asdict()) for index in table.indices],
    }
    return f"{_HEAD}\n{tomli_w.dumps(head | lists)}"


def _chosen(every: Sequence[Number], only: Sequence[str] | None) -> list[Number]:
    for pattern in only or ():
        if not any(fnmatch.fnmatchcase(number.name, pattern) for number in every):
            near = nearest(pattern, [number.name for number in every])
            hint = f"; the nearest is {near!r}" if near else ""
            raise UserError(f"no number is called {pattern!r}{hint}")
    return [
        number
        for number in every
        if only is None or any(fnmatch.fnmatchcase(number.name, pattern) for pattern in only)
    ]


def _indices(
    entries: Sequence[Entry],
    numbers: Sequence[Number],
    rows: Sequence[published.Row],
    samples: int,
    forks: Forks,
) -> list[Index]:
    """Return the indices of the numbers that move most, for the rows that each moves most."""
    ids = {row.id for row in rows}
    moved = [
        (abs(entry.change.ratio), number, entry.change.row)
        for entry, number in zip(entries, numbers, strict=True)
        if entry.verdict in {MOVES, MOVES_VALIDATED} and entry.change and entry.change.row in ids
    ]
    largest = sorted(moved, key=lambda one: one[0], reverse=True)[:_LARGEST]
    if not samples or not largest:
        return []
    names = list(dict.fromkeys(name for _, _, name in largest))
    asked = [row for row in rows if row.id in names]
    return sobol.indices([number for _, number, _ in largest], asked, names, samples, forks)


class _Journal:
    """Entries of one build, one set of documents and options, a line of JSON each."""

    def __init__(self, path: Path, rows: Sequence[published.Row], options: Options) -> None:
        self._path = path
        said = [build_digest(), options.repetitions, [row.id for row in rows], _documents(rows)]
        self._common = json.dumps(said)
        self._kept: dict[str, Any] = {}
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            self._kept = {line["made_from"]: line["entry"] for line in map(_read, lines) if line}

    def entry(self, number: Number, doubling: Doubling) -> Entry:
        """Return what is kept of a number, or double it and keep that."""
        said = f"{self._common} {number.documents} {number.key} {number.written}"
        name = hashlib.sha256(said.encode()).hexdigest()
        if name in self._kept:
            return from_table(self._kept[name])
        entry = doubling.entry(number)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"made_from": name, "entry": as_table(entry)}) + "\n")
        return from_table(as_table(entry))  # as short as it will be the next time


def _read(line: str) -> Any:
    """Return what a line of the journal holds; nothing of one that was cut."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def _documents(rows: Sequence[published.Row]) -> list[str]:
    """Return the digest of each document that a simulation of `rows` reads."""
    from calibration.fit.inverse.places import ROOT
    from sim.devices.profile import PROFILES, digest

    files = [ROOT / name for name in scenarios(rows)]
    return [digest(path) for path in [*sorted(PROFILES.glob("*/*.toml")), *files]]


def _short(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: float(f"{value:.3g}") if isinstance(value, float) else value
        for key, value in table.items()
    }


_HEAD = "# Made by `pocketsim calibrate sensitivity`; docs/sensitivity.md says how to read it."
_LARGEST = 10  # of which indices are made
