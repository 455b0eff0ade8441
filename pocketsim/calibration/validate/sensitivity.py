"""What published rows say of each number: `calibration/sensitivity.toml`, made by doubling it.

`calibration.inverse.doubling` makes the table, docs/sensitivity.md says how to read it.
A number that no row depends on may be right or wrong: nothing that was published tells.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pocketsim.sim.base.documents import read_toml
from pocketsim.sim.base.units import DIMENSIONS
from pocketsim.sim.devices import implementation, numbers, profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE = Path(__file__).resolve().parents[1] / "sensitivity.toml"

MOVES_VALIDATED = "moves a validated metric"
MOVES = "moves a metric"
NOT_VALIDATED = "not validated by these rows"
ZERO = "is zero"
REFUSED = "cannot be doubled"


class Change(NamedTuple):
    """By how much a row's answer changes, as a ratio of what it was, with half an interval."""

    row: str
    group: str
    ratio: float
    half_ratio: float


class Entry(NamedTuple):
    """What doubling a number does: that many of the rungs that rows point to come out otherwise."""

    documents: list[str]
    key: str
    value: Any
    verdict: str
    doubled: Any = None
    rungs: int = 0
    change: Change | None = None
    validated_change: Change | None = None
    reason: str = ""


def as_table(entry: Entry) -> dict[str, Any]:
    """Return an entry as a table of TOML, without what it does not have."""
    changes = {
        name: {key: _short(value) for key, value in change._asdict().items()}
        for name, change in (
            ("change", entry.change),
            ("validated_change", entry.validated_change),
        )
        if change is not None
    }
    plain = {key: value for key, value in entry._asdict().items() if value not in (None, "")}
    return plain | changes


def from_table(table: Mapping[str, Any]) -> Entry:
    """Return the entry that `as_table` wrote."""
    changes = {
        name: Change(**table[name]) for name in ("change", "validated_change") if name in table
    }
    return Entry(**{**table, **changes})


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Return the committed table."""
    return tuple(from_table(table) for table in read_toml(FILE)[1]["numbers"])


def of_profile(stem: str, asked: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return by path what rows say of each number of a profile in SI units, where that is known.

    It is of a number that stands in the shipped profile of that name exactly so. Of several values
    that make a number (a cost's core time and its wait) the one counts that moves most; one that is
    zero does not count beside others.
    """
    known: dict[str, list[Entry]] = {}
    for entry in entries():
        path = Path(entry.documents[0])
        if path.stem == stem and path.parent.name in {"devices", "implementations"}:
            known.setdefault(entry.key.rpartition(".")[0], []).append(entry)
    shipped = _shipped(stem) if known else {}
    return {
        path: _said(several)
        for path, number in asked
        if number == shipped.get(path) and (several := known.get(_document_path(path)))
    }


@functools.cache
def _shipped(stem: str) -> dict[str, Mapping[str, Any]]:
    """Return the numbers of a shipped profile in SI units by path; of none, none."""
    if stem in profile.shipped(profile.DEVICES):
        device = profile.load(profile.DEVICES / f"{stem}.toml")
        return dict(numbers.numbers(profile.contents(device)))
    if stem in profile.shipped(profile.IMPLEMENTATIONS):
        program = implementation.load(profile.IMPLEMENTATIONS / f"{stem}.toml")
        return dict(numbers.numbers(implementation.contents(program)))
    return {}


def _said(several: list[Entry]) -> str:
    moved = [entry.change for entry in several if entry.change is not None]
    if moved:
        most = max(moved, key=lambda change: abs(change.ratio))
        return f"{most.row} {most.ratio:+.0%}"
    verdicts = {entry.verdict for entry in several}
    return next(verdict for verdict in (NOT_VALIDATED, REFUSED, ZERO) if verdict in verdicts)


def _document_path(path: str) -> str:
    """Return a number's key path in its document, whose last part lacks the unit of SI names."""
    for suffix in _SUFFIXES:
        if path.endswith(suffix):
            return path.removesuffix(suffix)
    return path


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


_SUFFIXES = sorted({f"_{dimension.si}" for dimension in DIMENSIONS}, key=len, reverse=True)
