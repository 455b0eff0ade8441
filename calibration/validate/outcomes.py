"""Runs over a kept connection: how many stall, break part-way and complete.

Their rates are a mixture of two modes, so a mean over five runs says little. Compared are the
shares of each outcome, by the interval of their difference, and the upper mode.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calibration.validate import published
from calibration.validate.answers import (
    Comparison,
    Rungs,
    answer,
    blank,
    judged,
    matching,
    mean_of_runs,
)
from sim.metrics import classify
from sim.metrics.intervals import Z_95, normal_ci95

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
    note = f"published {_shape(said)}; simulated {_shape(had) if had else 'nothing'}"
    row = mean_of_runs(table)
    shares = [_share(row, kind, said, had, note) for kind in ("stalled", "partial")]
    return [*shares, _complete(row, said, had)]


def _sent_per_run(row: published.Row, rate: float) -> float:
    """Sends per run at this rate: the published rate over the run; runs print stores alone."""
    rates = [
        other.value
        for other in published.rows()
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
    counts = _classes(runs)
    words = ", ".join(f"{counts[kind]} {kind}" for kind in ("stalled", "partial", "complete"))
    return f"{words} of {len(runs)}"


def _share(
    row: published.Row,
    kind: str,
    said: Sequence[tuple[float, float]],
    had: Sequence[tuple[float, float]],
    note: str,
) -> Comparison:
    count, n = _classes(said)[kind], len(said)
    empty = replace(
        blank(row),
        id=row.id.replace("stores", f"{kind}_share"),
        what=row.what.replace(row.quantity, f"share of {kind} runs"),
        unit="1",
        published=count / n,
        ci95=None,
        runs=n,
        note=note,
    )
    if not had:
        return empty
    ours = _classes(had)[kind]
    found = replace(empty, simulated=ours / len(had), simulated_runs=len(had))
    return replace(found, agrees=shares_agree((count, n), (ours, len(had))))


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


def shares_agree(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two shares, each a count of a number, may be one.

    Whether 0 is in the 95 % interval of their difference (Newcombe, Statistics in Medicine 17,
    1998, method 10), which is made of the Wilson intervals of both.
    """
    fewer, more = sorted((one, other), key=lambda pair: pair[0] / pair[1])
    less, share = (count / n for count, n in (fewer, more))
    most, least = wilson(*fewer)[1], wilson(*more)[0]
    return share - less <= math.hypot(share - least, most - less)


def wilson(count: int, n: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share of `count` in `n` (Wilson 1927)."""
    z = Z_95
    middle = (count + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(count * (n - count) / n + z * z / 4)
    return middle - half, middle + half


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
