"""Runs over a kept connection: how many stall, break part-way and complete.

Their rates are a mixture of two modes, so a mean over five runs says little. Compared are how many
runs came to each end, by how likely the published counts are under the simulated shares
(`calibration.validate.counts`), and the upper mode.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.validate import counts, published
from pocketsim.calibration.validate.answers import (
    Comparison,
    OutcomeCounts,
    Rungs,
    answer,
    blank,
    judged,
    matching,
    mean_of_runs,
)
from pocketsim.sim.metrics import classify
from pocketsim.sim.metrics.intervals import normal_ci95

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def compare(rows: Sequence[published.Row], rungs: Rungs) -> list[Comparison]:
    """Compare, rate by rate, how many runs stalled, broke part-way and completed."""
    tables: dict[float, list[published.Row]] = {}
    for row in rows:
        if row.run is not None:
            tables.setdefault(row.target.rate_min_per_s, []).append(row)
    found = [
        replace(answer(row, rungs), note="a mixture of outcomes: its mean is not judged")
        for row in rows
        if row.target.statistic == "classes"
    ]
    for rate, table in tables.items():
        found += _outcomes_at(rate, table, rungs)
    return found


def _outcomes_at(rate: float, table: Sequence[published.Row], rungs: Rungs) -> list[Comparison]:
    sent = _sent_per_run(table[0], rate)
    said = [(row.value or 0.0, sent) for row in table]
    matched = matching(table[0].target, rungs)
    had = _runs_of(matched[0]) if matched else []
    row = mean_of_runs(table)
    return [_ends(row, said, had), _complete(row, said, had)]


def _sent_per_run(row: published.Row, rate: float) -> float:
    """Sends per run at this rate: the published rate over the run; runs print stores alone."""
    rates = [
        other.value
        for other in _rows()
        if other.target.scenario == row.target.scenario
        and other.target.metric == "send_rate_per_s"
        and other.target.rate_min_per_s == rate
    ]
    duration_s = published.documents()[row.document]["duration_s"]
    assert rates[0] is not None, "a rate is a number"
    return float(rates[0] * duration_s)


def _runs_of(rung: Mapping[str, Any]) -> list[tuple[float, float]]:
    metrics = rung["metrics"]
    pairs = zip(metrics["store_count"]["values"], metrics["send_count"]["values"], strict=True)
    return [(stored or 0.0, sent or 0.0) for stored, sent in pairs]


def _classes(runs: Iterable[tuple[float, float]]) -> Counter[str]:
    return Counter(classify(stored, sent) for stored, sent in runs)


def _shape(runs: Sequence[tuple[float, float]]) -> str:
    """Return the classes in words: "2 stalled, 2 partial, 1 complete of 5"."""
    found = _classes(runs)
    words = ", ".join(f"{found[kind]} {kind}" for kind in ("stalled", "partial", "complete"))
    return f"{words} of {len(runs)}"


def _ends(
    row: published.Row, said: Sequence[tuple[float, float]], had: Sequence[tuple[float, float]]
) -> Comparison:
    """Compare how many runs came to each end; the figure is the share of complete runs."""
    published_counts, simulated_counts = _counts(said), _counts(had)
    empty = replace(
        blank(row),
        id=row.id.replace("stores", "complete_share"),
        what=row.what.replace(row.quantity, "share of complete runs"),
        unit="1",
        metric="complete_run_ratio",
        published=published_counts[-1] / len(said),
        ci95=None,
        runs=len(said),
        note=f"published {_shape(said)}; simulated {_shape(had) if had else 'nothing'}",
    )
    if not had:
        return empty
    found = replace(empty, simulated=simulated_counts[-1] / len(had), simulated_runs=len(had))
    judged = published.groups()[row.group].outcomes
    assert judged is not None, "a group of outcomes says how they are judged"
    if row.target.rate_min_per_s < judged.from_rate_per_s:
        return replace(found, note=f"{found.note}; too few to be judged")
    p_value = counts.p_value(published_counts, simulated_counts)
    return replace(
        found,
        outcomes=OutcomeCounts(published_counts, simulated_counts),
        p_value=p_value,
        agrees=p_value >= _CHANCE,
        note=f"{empty.note}; p = {p_value:.2g}",
    )


def _counts(runs: Sequence[tuple[float, float]]) -> tuple[int, int, int]:
    found = _classes(runs)
    return found["stalled"], found["partial"], found["complete"]


def _complete(
    row: published.Row, said: Sequence[tuple[float, float]], had: Sequence[tuple[float, float]]
) -> Comparison:
    """Compare the upper mode: what runs store that neither stall nor break."""
    ours, theirs = (
        [stored for stored, sent in runs if classify(stored, sent) == "complete"]
        for runs in (had, said)
    )
    upper = replace(
        row,
        id=row.id.replace("stores", "complete_stores"),
        quantity="stored blocks of complete runs",
        value=statistics.fmean(theirs) if theirs else None,
        ci95=_finite(normal_ci95(theirs)),
        runs=len(theirs),
        note=f"{len(theirs)} of {len(said)} published runs, {len(ours)} of {len(had)} simulated",
    )
    if not ours or upper.value is None:
        return blank(upper)
    half = _finite(normal_ci95(ours))
    found = replace(blank(upper), simulated=statistics.fmean(ours), simulated_ci95=half)
    return judged(replace(found, simulated_runs=len(ours)), resolution=0.0)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


_rows = functools.cache(published.rows)  # asked for once for each rung
_CHANCE = 0.05  # of counts that are no likelier than these, below which a rung does not agree
