"""One line for each group of published rows: its errors, its bar, and what the line rests on.

Pure. A bar is applied to all rows of a group; beside its verdict stand the errors of the rows that
a fit has seen and of those that are predicted, each alone.
"""

from __future__ import annotations

import functools
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calibration.validate import published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from calibration.validate.answers import Comparison


@dataclass(frozen=True)
class Errors:
    """Errors of some rows as ratios of the published values, without sign.

    `agreeing` counts rows that differ by no more than chance, out of the `with_ci` that print how
    much that is; `held` claims and exact figures out of `claims`.
    """

    rows: int
    median_error_ratio: float | None
    worst_error_ratio: float | None
    worst_id: str
    agreeing: int
    with_ci: int
    held: int
    claims: int


@dataclass(frozen=True)
class Summary(Errors):
    """One group: errors of all rows and, in `by_basis`, of the rows of each basis alone.

    `met` is the bar's verdict on all rows; None for a group without a bar. `known_missed` when the
    bar is missed for a reason that is written down, so that this miss is no news.
    """

    group: str
    title: str
    bar: str
    unanswered: int
    by_basis: dict[str, Errors]
    met: bool | None
    known_missed: bool = False

    @property
    def all_fitted(self) -> bool:
        """Whether a fit has seen every row."""
        return set(self.by_basis) == {"fitted"}


def summarise(comparisons: Sequence[Comparison]) -> list[Summary]:
    """Return one summary for each group that has comparisons, in order of bars.toml."""
    found = []
    for group in published.groups().values():
        own = [row for row in comparisons if row.group == group.name]
        if own:
            found.append(_summary(group, own))
    return found


def misses_bar(row: Comparison, *, known: bool = False) -> bool:
    """Return whether a row alone makes its group miss its bar; of `known` misses or of others.

    A bar on a median rests on no single row.
    """
    group = _groups()[row.group]
    if group.known_missed is not known or not _bar(group)[1]:
        return False
    if row.simulated is None or group.comparison in _CLAIMS:
        return not row.holds
    if group.row_error_ratio_max is not None:
        return not _near(row, group.row_error_ratio_max, group)
    most = group.worst_error_ratio_max
    return most is not None and row.error_ratio is not None and abs(row.error_ratio) > most


def _summary(group: published.Group, rows: Sequence[Comparison]) -> Summary:
    bar, checks = _bar(group)
    bases = sorted({row.basis for row in rows})
    met = _met(rows, checks) if checks else None
    return Summary(
        **vars(_errors_of(rows)),
        group=group.name,
        title=group.title,
        bar=bar,
        unanswered=sum(row.simulated is None for row in rows),
        by_basis={
            basis: _errors_of([row for row in rows if row.basis == basis]) for basis in bases
        },
        met=met,
        known_missed=group.known_missed and met is False,
    )


def _errors_of(rows: Sequence[Comparison]) -> Errors:
    errors = {row.id: abs(row.error_ratio) for row in rows if row.error_ratio is not None}
    agree = [row.agrees for row in rows if row.agrees is not None]
    holds = [row.holds for row in rows if row.holds is not None]
    worst_id = max(errors, key=lambda row: errors[row], default="")
    return Errors(
        rows=len(rows),
        median_error_ratio=statistics.median(errors.values()) if errors else None,
        worst_error_ratio=errors.get(worst_id),
        worst_id=worst_id,
        agreeing=sum(agree),
        with_ci=len(agree),
        held=sum(holds),
        claims=len(holds),
    )


def _met(
    rows: Sequence[Comparison], checks: Sequence[Callable[[Sequence[Comparison]], bool]]
) -> bool:
    return all(row.simulated is not None for row in rows) and all(check(rows) for check in checks)


def _bar(group: published.Group) -> tuple[str, list[Callable[[Sequence[Comparison]], bool]]]:
    """Return the group's bar in words and as checks; both empty for none."""
    words: list[str] = []
    checks: list[Callable[[Sequence[Comparison]], bool]] = []
    if (most := group.median_error_ratio_max) is not None:
        words.append(f"median error <= {most:.0%}")
        checks.append(lambda rows: statistics.median(_errors(rows)) <= most)
    if (worst := group.worst_error_ratio_max) is not None:
        words.append(f"worst <= {worst:.0%}")
        checks.append(lambda rows: max(_errors(rows)) <= worst)
    if (each := group.row_error_ratio_max) is not None:
        words.append(f"each <= {each:.0%}" + (" or agrees" if group.ci95_suffices else ""))
        checks.append(lambda rows: all(_near(row, each, group) for row in rows))
    if group.comparison in _CLAIMS and not group.reported_only:
        words.append(_CLAIMS[group.comparison])
        checks.append(lambda rows: all(row.holds for row in rows))
    return ", ".join(words), checks


def _errors(rows: Iterable[Comparison]) -> list[float]:
    return [abs(row.error_ratio) for row in rows if row.error_ratio is not None]


def _near(row: Comparison, most: float, group: published.Group) -> bool:
    if group.ci95_suffices and row.agrees:
        return True
    return row.error_ratio is not None and abs(row.error_ratio) <= most


_groups = functools.cache(published.groups)  # asked for once for each row
_CLAIMS = {
    "replay": "exact",
    "at_least": "holds",
    "below": "holds",
    "above_other": "holds",
    "no_gain": "holds",
}
