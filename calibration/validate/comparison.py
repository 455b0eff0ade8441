"""Published rows beside simulated rungs: one comparison for each row or table of runs.

Pure: takes rows and the contents of metrics.json files, runs nothing.
`calibration.validate.validation` runs the scenarios and applies the bars.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from calibration.validate import block_sizes, outcomes, published
from calibration.validate.answers import (
    Comparison,
    Rungs,
    answer,
    blank,
    judged,
    matching,
    mean_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def compare(
    rows: Sequence[published.Row], rungs: Rungs, replay: block_sizes.Replay | None = None
) -> list[Comparison]:
    """Return the comparisons of `rows`, group by group.

    Rows of one table of runs become one comparison each for counts, outcomes or block sizes.
    `replay` is `sim._engine.replay_chain`; it is needed for block sizes only.
    """
    groups = published.groups()
    found: list[Comparison] = []
    for name, group in groups.items():
        own = [row for row in rows if row.group == name]
        if group.comparison == "replay":
            found += _replayed(own, replay)
        elif group.comparison == "outcomes":
            found += outcomes.compare(own, rungs)
        else:
            judge = _JUDGES[group.comparison]
            found += [judge(row, rungs) for row in _merge_runs(own)]
    return found


def needs_simulation(row: published.Row) -> bool:
    """Return whether a row is answered by runs, not by replaying a chain or not at all."""
    comparison = published.groups()[row.group].comparison
    return bool(row.target.metric) and comparison != "replay"


def _relative(row: published.Row, rungs: Rungs) -> Comparison:
    return judged(answer(row, rungs), row.resolution)


def _claim(holds: Callable[[float, float], bool]) -> Callable[[published.Row, Rungs], Comparison]:
    def judge(row: published.Row, rungs: Rungs) -> Comparison:
        found = answer(row, rungs)
        if found.simulated is None or row.value is None:
            return found
        return replace(found, holds=holds(found.simulated, row.value))

    return judge


def _no_gain(row: published.Row, rungs: Rungs) -> Comparison:
    found = answer(row, rungs)
    if found.simulated is None:
        return found
    return replace(found, holds=found.simulated < 1 + GAIN_RATIO)


def _above_other(row: published.Row, rungs: Rungs) -> Comparison:
    """Hold when this transport does better than the other at every rate that both ran.

    The figures are the lowest of this and, as the published side has none, of the margin's note.
    """
    other = row.target.statistic.removeprefix("versus_")
    mine, theirs = (
        {key[2:]: rung for key, rung in _of(row, name, rungs).items()}
        for name in (row.target.transport, other)
    )
    pairs = [(mine[at], theirs[at]) for at in sorted(mine.keys() & theirs.keys())]
    values = [tuple(rung["metrics"][row.target.metric]["mean"] for rung in pair) for pair in pairs]
    values = [pair for pair in values if None not in pair]
    if not values:
        return replace(blank(row), note=f"{row.note}; no simulated value")
    least = min(values, key=lambda pair: pair[0] - pair[1])
    note = f"{row.note}; closest pair: {least[0]:.3f} against {least[1]:.3f}"
    return replace(blank(row), simulated=least[0], holds=least[0] > least[1], note=note)


def _of(row: published.Row, transport: str, rungs: Rungs) -> Rungs:
    target = replace(row.target, transport=transport)
    wanted = [id(rung) for rung in matching(target, rungs)]
    return {key: rung for key, rung in rungs.items() if id(rung) in wanted}


def _merge_runs(rows: Iterable[published.Row]) -> list[published.Row]:
    """Return `rows` with the runs of one table as one row: their mean and its interval."""
    merged: dict[tuple[str, float, str], list[published.Row]] = {}
    for row in rows:
        place = (row.section, row.target.rate_min_per_s, row.quantity)
        merged.setdefault(place if row.target.statistic == "run" else (row.id, 0, ""), []).append(
            row
        )
    return [
        mean_of_runs(table) if table[0].run is not None else table[0] for table in merged.values()
    ]


def _replayed(own: Sequence[published.Row], replay: block_sizes.Replay | None) -> list[Comparison]:
    """Compare the three sizes of each run as one row, whose figures are the mean sizes."""
    if not own:
        return []
    sections = {row.section for row in own}
    tables = [row for row in published.rows() if row.section in sections]
    means = {
        (row.section, row.target.rate_min_per_s, row.run): row
        for row in own
        if row.target.metric == "stored_block_bytes_mean"
    }
    if replay is None:
        return [replace(blank(row), note="the engine is missing") for row in means.values()]
    return [
        _size(means[key], match)
        for match in block_sizes.matches(block_sizes.runs(tables), replay)
        if (key := (match.run.section, match.run.rate_per_s, match.run.run)) in means
    ]


def _size(row: published.Row, match: block_sizes.Match) -> Comparison:
    low, high, mean = match.replayed
    said = f"{match.run.printed[0]:g}..{match.run.printed[1]:g}"
    return replace(
        blank(row),
        id=row.id.replace("size_avg", "sizes"),
        what=row.what.replace(row.quantity, "stored block sizes"),
        simulated=mean,
        error_ratio=mean / match.run.printed[2] - 1,
        holds=match.exact,
        note=f"range {low:g}..{high:g} against {said}; {match.note}",
    )


_JUDGES: dict[str, Callable[[published.Row, Rungs], Comparison]] = {
    "relative": _relative,
    "at_least": _claim(lambda simulated, said: simulated >= said),
    "below": _claim(lambda simulated, said: simulated < said),
    "above_other": _above_other,
    "no_gain": _no_gain,
    "none": answer,
}
GAIN_RATIO = 0.05  # "no significant increase" has no figure; the bar of most rows here
