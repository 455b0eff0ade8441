"""One line for each group of published rows: its errors, its bar, and what the line rests on.

Pure. A bar is applied to all rows of a group; beside its verdict stand the errors of the rows that
a fit has seen and of those that are predicted, each alone, and those of models without a mechanism.
"""

from __future__ import annotations

import functools
import statistics
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pocketsim.calibration.validate import counts, published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pocketsim.calibration.validate.answers import Comparison


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

    `independent` counts rows but once where several are read off the same runs. `met` is the bar's
    verdict on all rows; None for a group without a bar. `known_missed` when the bar is missed for
    a reason that is written down, by no more than its ceiling, so that this miss is no news.
    `p_value` is that of all counts of outcomes together. `nulls` are the errors of models without
    a mechanism, over the predicted rows or, where there are none, all; `best_null` names the one
    that comes closest. `standing` says what the group is worth: "validated", "described", "not
    validated", or "" without a bar.
    """

    group: str
    title: str
    bar: str
    unanswered: int
    independent: int
    by_basis: dict[str, Errors]
    met: bool | None
    known_missed: bool = False
    p_value: float | None = None
    nulls: dict[str, Errors] = field(default_factory=dict)
    best_null: str = ""
    standing: str = ""

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
    if not _bar(group)[1] or _is_known(row, group.known_missed) is not known:
        return False
    if row.simulated is None or group.comparison in _CLAIMS:
        return not row.holds
    if group.row_error_ratio_max is not None:
        return not _near(row, group.row_error_ratio_max, group)
    most = group.worst_error_ratio_max
    return most is not None and row.error_ratio is not None and abs(row.error_ratio) > most


def has_bar(name: str) -> bool:
    """Return whether a group of rows has a bar that it may miss."""
    return bool(_bar(_groups()[name])[1])


def _is_known(row: Comparison, ceiling: published.Ceiling | None) -> bool:
    """Return whether a miss of this row is within what is known."""
    if ceiling is None or row.simulated is None:
        return False
    off = max(abs(row.error_ratio or 0.0), row.claim_error_ratio or 0.0)
    return ceiling.metric not in {_WORST, _CLAIM} or off <= ceiling.ceiling_ratio


def independent(rows: Iterable[Comparison]) -> int:
    """Return how many rows there are if those that are read off the same runs count once."""
    return len({row.reading or row.id for row in rows})


def _summary(group: published.Group, rows: Sequence[Comparison]) -> Summary:
    bar, checks = _bar(group)
    bases = sorted({row.basis for row in rows})
    met = _met(rows, checks) if checks and any(map(_is_judged, rows)) else None
    judged = [row for row in rows if row.basis == "predicted"] or list(rows)
    beside = _baseline_errors(judged)
    best = min(beside, key=lambda name: _rank(beside[name]), default="")
    return Summary(
        **vars(_errors_of(rows)),
        group=group.name,
        title=group.title,
        bar=bar,
        unanswered=sum(row.simulated is None for row in rows),
        independent=independent(rows),
        by_basis={
            basis: _errors_of([row for row in rows if row.basis == basis]) for basis in bases
        },
        met=met,
        known_missed=met is False and _is_known_miss(group, rows, checks),
        p_value=_p_value(rows, 1.0) if any(row.outcomes for row in rows) else None,
        nulls=beside,
        best_null=best,
        standing=""
        if met is None
        else _standing(
            _errors_of(judged), beside.get(best), fitted="predicted" not in bases, met=met
        ),
    )


def _is_judged(row: Comparison) -> bool:
    """Return whether a row has any part in a verdict; the mean of a mixture has none."""
    verdicts = (row.error_ratio, row.holds, row.outcomes)
    return row.simulated is None or any(verdict is not None for verdict in verdicts)


def _baseline_errors(rows: Sequence[Comparison]) -> dict[str, Errors]:
    """Return the errors of each baseline that answers every row that is judged."""
    judged = [row for row in rows if row.error_ratio is not None or row.holds is not None]
    names = {name for row in judged for name in row.nulls}
    whole = sorted(name for name in names if all(name in row.nulls for row in judged))
    return {name: _errors_of([_as_baseline(row, name) for row in judged]) for name in whole}


def _as_baseline(row: Comparison, name: str) -> Comparison:
    baseline = row.nulls[name]
    return replace(row, error_ratio=baseline.error_ratio, holds=baseline.holds, agrees=None)


def _rank(errors: Errors) -> float:
    """Return how far rows are off: the median error or, of claims, how many fail."""
    if errors.median_error_ratio is not None and not errors.claims:
        return errors.median_error_ratio
    return errors.claims - errors.held


def _standing(own: Errors, baseline: Errors | None, *, fitted: bool, met: bool) -> str:
    """Return what a group with a bar is worth.

    Rows that were fitted, or made the format, describe. Predictions count as validation where
    their bar is met and they are off by at most half of what the best baseline is.
    """
    if fitted:
        return "described"
    beats = baseline is not None and 0.0 < _rank(baseline) >= _TIMES_BETTER * _rank(own)
    return "validated" if met and beats else "not validated"


def _is_known_miss(
    group: published.Group, rows: Sequence[Comparison], checks: Sequence[_Check]
) -> bool:
    """Return whether a miss is of the kind that is known, and no worse than when it became so."""
    ceiling = group.known_missed
    if ceiling is None or any(row.simulated is None for row in rows):
        return False
    if any(check.kind != ceiling.metric and not check.holds(rows) for check in checks):
        return False
    short = 1 - _p_value(rows, without=1.0) / group.outcomes.p_min if group.outcomes else None
    claims = [row.claim_error_ratio for row in rows if row.claim_error_ratio is not None]
    # What differs by chance alone may be as far off as it is.
    off = [row for row in rows if not (group.ci95_suffices and row.agrees)]
    how_far = {
        _MEDIAN: _errors_of(rows).median_error_ratio,
        _WORST: _errors_of(off).worst_error_ratio,
        _CLAIM: max(claims, default=None),
        _P_SHORTFALL: short,
    }[ceiling.metric]
    return how_far is not None and how_far <= ceiling.ceiling_ratio


def _p_value(rows: Iterable[Comparison], without: float) -> float:
    """Return the p-value of all counts of outcomes together, or `without` where there are none."""
    counted = [row.outcomes for row in rows if row.outcomes is not None]
    pairs = [(found.published, found.simulated) for found in counted]
    return counts.joint_p_value(pairs) if pairs else without


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


@dataclass(frozen=True)
class _Check:
    """One condition of a bar, and the kind of error that it bounds."""

    kind: str
    holds: Callable[[Sequence[Comparison]], bool]


def _met(rows: Sequence[Comparison], checks: Sequence[_Check]) -> bool:
    answered = all(row.simulated is not None for row in rows)
    return answered and all(check.holds(rows) for check in checks)


def _bar(group: published.Group) -> tuple[str, list[_Check]]:
    """Return the group's bar in words and as checks; both empty for none."""
    words: list[str] = []
    checks: list[_Check] = []
    if (most := group.median_error_ratio_max) is not None:
        words.append(f"median error <= {most:.0%}")
        checks.append(_Check(_MEDIAN, lambda rows: _median(rows) <= most))
    if (worst := group.worst_error_ratio_max) is not None:
        words.append(f"worst <= {worst:.0%}")
        checks.append(_Check(_WORST, lambda rows: max(_errors(rows), default=0.0) <= worst))
    if (each := group.row_error_ratio_max) is not None:
        words.append(f"each <= {each:.0%}" + (" or agrees" if group.ci95_suffices else ""))
        checks.append(_Check(_WORST, lambda rows: all(_near(row, each, group) for row in rows)))
    if (judged := group.outcomes) is not None:
        least = judged.p_min
        words.append(f"counts p >= {least:.0%}")
        checks.append(_Check(_P_SHORTFALL, lambda rows: _p_value(rows, without=1.0) >= least))
    if group.comparison in _CLAIMS and not group.reported_only:
        words.append(_CLAIMS[group.comparison])
        checks.append(_Check(_CLAIM, lambda rows: all(row.holds for row in rows)))
    if (most_known := group.known_missed) is not None:
        words.append(f"known to be missed by up to {100 * most_known.ceiling_ratio:.3g}%")
    return ", ".join(words), checks


def _median(rows: Iterable[Comparison]) -> float:
    errors = _errors(rows)
    return statistics.median(errors) if errors else 0.0


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
    "above": "holds",
    "below": "holds",
    "above_other": "holds",
    "no_gain": "holds",
}
_TIMES_BETTER = 2
_MEDIAN, _WORST = "median_error_ratio", "worst_error_ratio"
_CLAIM, _P_SHORTFALL = "claim_error_ratio", "p_shortfall_ratio"
