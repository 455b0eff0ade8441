"""The table of what matters: every number doubled, and Sobol' indices of those that move most.

The same documents, rows, options and build give the same bytes. What was made lies in a journal, so
that an interruption costs one number.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pocketsim import sim
from pocketsim.calibration.inverse import sobol
from pocketsim.calibration.inverse.doubling import Doubling, Number, behind, numbers
from pocketsim.calibration.inverse.journal import Journal
from pocketsim.calibration.inverse.key_paths import ROOT
from pocketsim.calibration.validate import published
from pocketsim.calibration.validate.comparison import needs_simulation
from pocketsim.calibration.validate.sensitivity import FILE, Entry, as_table, from_table
from pocketsim.calibration.validate.summaries import has_bar
from pocketsim.calibration.validate.validation import scenarios, select
from pocketsim.sim.base.build import build_digest
from pocketsim.sim.base.errors import UserError, nearest
from pocketsim.sim.run.forks import Forks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pocketsim.calibration.inverse.sobol import Index


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
    options: Options,
    journal: Path,
    jobs: int,
    told: Callable[[Entry, int, int], None],
    told_of_points: Callable[[int, int], None],
) -> Table:
    """Double each number and return what that moves, with `jobs` repetitions at a time.

    `told` gets each entry, its place and how many there are, `told_of_points` how many points of
    Sobol' indices are simulated, and of how many. Raises UserError where nothing is
    selected.
    """
    rows = [
        row
        for row in select(published.rows(), options.subset)
        if needs_simulation(row) and has_bar(row.group)
    ]
    if not rows:
        known = ", ".join(name for name in published.groups() if has_bar(name))
        said = ", ".join(options.subset or ())
        raise UserError(f"no row that has a bar and is simulated matches {said}; groups: {known}")
    chosen = _chosen(numbers(scenarios(rows)), options.only)
    with Forks(jobs) as forks:
        doubling = Doubling(rows, options.repetitions, forks)
        made_with = [build_digest(), _judges(), options.repetitions, [row.id for row in rows]]
        kept = Journal(journal, json.dumps(made_with))
        entries = []
        for place, number in enumerate(chosen, start=1):
            entry = _entry(number, doubling, kept)
            entries.append(entry)
            told(entry, place, len(chosen))
        found = _indices(entries, chosen, rows, options.samples, forks, kept, told_of_points)
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
        if not any(_is_called(number, pattern) for number in every):
            near = nearest(pattern, [number.name for number in every])
            hint = f"; the nearest is {near!r}" if near else ""
            raise UserError(f"no number is called {pattern!r}{hint}")
    return [
        number
        for number in every
        if only is None or any(_is_called(number, pattern) for pattern in only)
    ]


def _is_called(number: Number, pattern: str) -> bool:
    # A name may have brackets in it, which stand for other things in a pattern.
    return number.name == pattern or fnmatch.fnmatchcase(number.name, pattern)


def _indices(
    entries: Sequence[Entry],
    numbers: Sequence[Number],
    rows: Sequence[published.Row],
    samples: int,
    forks: Forks,
    journal: Journal,
    told: Callable[[int, int], None],
) -> list[Index]:
    """Return the indices of the numbers that move most, for the rows that each moves."""
    moved = [
        (abs(entry.change.ratio), number, entry.change)
        for entry, number in zip(entries, numbers, strict=True)
        if entry.change is not None
    ]
    largest = sorted(moved, key=lambda one: one[0], reverse=True)[:_LARGEST]
    if not samples or not largest:
        return []
    changes = list({change.row: change for _, _, change in largest}.values())
    answers = {change.row: behind(change, rows) for change in changes}
    several = [number for _, number, _ in largest]
    return sobol.indices(several, answers, samples, forks, journal, told)


def _entry(number: Number, doubling: Doubling, journal: Journal) -> Entry:
    """Return what is kept of a number, or double it and keep that."""
    made_from = f"{number.documents} {number.key} {number.written}"
    with contextlib.suppress(ValueError, LookupError, TypeError):
        return from_table(journal.kept(made_from))
    journal.keep(made_from, kept := as_table(doubling.entry(number)))
    return from_table(kept)  # as short as it will be the next time


def _judges() -> str:
    """Return a digest of what judges, and of all documents that a simulation may read."""
    every = sorted(
        path
        for folder in ("calibration", "scenarios")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".toml", ".csv"} and path != FILE
    )
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in every]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _short(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: float(f"{value:.3g}") if isinstance(value, float) else value
        for key, value in table.items()
    }


_HEAD = "# Made by `pocketsim calibrate sensitivity`; docs/sensitivity.md says how to read it."
_LARGEST = 10  # of which indices are made
