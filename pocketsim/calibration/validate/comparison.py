"""Published rows beside simulated rungs: one comparison for each row or table of runs.

Pure: takes rows and the contents of metrics.json files, runs nothing.
`calibration.validate.validation` runs the scenarios and applies the bars.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import replace
from typing import TYPE_CHECKING

from pocketsim.calibration.validate import baselines, block_sizes, outcomes, published
from pocketsim.calibration.validate.answers import (
    Baseline,
    Comparison,
    Rungs,
    answer,
    blank,
    judged,
    matching,
    mean_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Verdict = Callable[[float, float], bool]
    Distance = Callable[[float, float], float]


def compare(
    rows: Sequence[published.Row],
    rungs: Rungs,
    replay: block_sizes.Replay | None = None,
    settings: baselines.Settings | None = None,
) -> list[Comparison]:
    """Return the comparisons of `rows`, group by group, each beside what baselines say.

    Rows of one table of runs become one comparison each for counts, outcomes or block sizes.
    `replay` is `sim._engine.replay_chain`; it is needed for block sizes only. `settings` are the
    rungs' resolved scenarios, without which only a session's constants are baselines.
    """
    others = {
        name: _by_id(answered(rows, found))
        for name, found in baselines.rungs(settings or {}).items()
    }
    everything = answered(published.rows(), baselines.rungs(settings or {})["nominal"])
    peers = [row for row in everything if _comparison(row) in _BY_SIZE and row.metric]
    return [_beside(found, others, peers) for found in answered(rows, rungs, replay)]


def answered(
    rows: Sequence[published.Row], rungs: Rungs, replay: block_sizes.Replay | None = None
) -> list[Comparison]:
    """Return what `compare` does, without what other models say."""
    found: list[Comparison] = []
    for name, group in published.groups().items():
        own = [row for row in rows if row.group == name]
        if group.comparison == "replay":
            found += _replayed(own, replay)
        elif group.comparison == "outcomes":
            found += outcomes.compare(own, rungs)
        else:
            found += [_judge(group.comparison, row, rungs) for row in _merge_runs(own)]
    return found


def _judge(comparison: str, row: published.Row, rungs: Rungs) -> Comparison:
    if comparison == "above_other":
        return _above_other(row, rungs)
    return _verdict(comparison, answer(row, rungs), row.resolution)


def _verdict(comparison: str, found: Comparison, resolution: float = 0.0) -> Comparison:
    """Return a comparison with its error, or with whether its claim holds."""
    if comparison in _BY_SIZE:
        return judged(found, resolution)
    if comparison not in _CLAIMS or found.simulated is None:
        return found
    holds, failed_by = _CLAIMS[comparison]
    said = 1 + GAIN_RATIO if comparison == "no_gain" else found.published
    if said is None:
        return found
    short = max(0.0, failed_by(found.simulated, said))
    return replace(found, holds=holds(found.simulated, said), claim_error_ratio=short)


def _beside(
    found: Comparison, others: Mapping[str, Mapping[str, Comparison]], peers: Sequence[Comparison]
) -> Comparison:
    """Return a comparison with what each baseline says of its row, where it says anything."""
    known = {name: said[found.id] for name, said in others.items() if found.id in said}
    if found.metric in baselines.GROWTH_ONLY and found.statistic != "growth":
        known = {}
    constant = (
        baselines.session(found, peers) if _comparison(found) in {*_BY_SIZE, *_CLAIMS} else None
    )
    if constant is not None:
        row = replace(found, simulated=constant, ci95=None, simulated_ci95=None, holds=None)
        known["session"] = _verdict(_comparison(found), row)
    said = {
        name: Baseline(row.simulated, row.error_ratio, row.holds)
        for name, row in known.items()
        if row.simulated is not None and (row.error_ratio is not None or row.holds is not None)
    }
    return replace(found, nulls=said)


def _comparison(row: Comparison) -> str:
    return _groups()[row.group].comparison


def _by_id(found: Iterable[Comparison]) -> dict[str, Comparison]:
    return {row.id: row for row in found}


def needs_simulation(row: published.Row) -> bool:
    """Return whether a row is answered by runs, not by replaying a chain or not at all."""
    comparison = published.groups()[row.group].comparison
    return bool(row.target.metric) and comparison != "replay"


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
    short = 1 - least[0] / least[1] if least[0] < least[1] else 0.0
    found = replace(blank(row), simulated=least[0], claim_error_ratio=short, note=note)
    return replace(found, holds=least[0] > least[1])


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


_groups = functools.cache(published.groups)  # asked for once for each row
_BY_SIZE = {"relative", "outcomes"}
_CLAIMS: dict[str, tuple[Verdict, Distance]] = {
    "at_least": (operator.ge, lambda simulated, said: 1 - simulated / said),
    "above": (operator.gt, lambda simulated, said: 1 - simulated / said),
    "below": (operator.lt, lambda simulated, said: simulated / said - 1),
    "no_gain": (operator.lt, lambda simulated, said: simulated / said - 1),
}
"""What makes a claim hold, and by how much of what is said it fails."""
GAIN_RATIO = 0.05  # "no significant increase" has no figure; the bar of most rows here
