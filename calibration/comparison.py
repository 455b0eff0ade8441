"""Published rows beside simulated rungs: one comparison for each row or table of runs.

Pure: takes rows and the contents of metrics.json files, runs nothing. `calibration.validation`
runs the scenarios and applies the bars.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calibration import block_sizes, published
from sim.metrics import ci95, classify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Rungs = dict[tuple[str, str, float, int], "Mapping[str, Any]"]
"""metrics.json by scenario path, transport, rate (1/s) and payload (bytes)."""


@dataclass(frozen=True)
class Comparison:
    """One published figure beside its simulation, both in `unit`.

    `error_ratio` is simulated / published - 1 where rows are judged by it. `inside_ci` allows for
    the rounding of the printed value. `holds` is the verdict on a claim or an exact figure. All
    three are None where they do not apply, `simulated` where nothing answers the row.
    """

    id: str
    what: str
    group: str
    basis: str
    unit: str
    published: float | None
    ci95: float | None
    simulated: float | None = None
    simulated_ci95: float | None = None
    error_ratio: float | None = None
    inside_ci: bool | None = None
    holds: bool | None = None
    note: str = ""


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
            found += _replayed(rows, own, replay)
        elif group.comparison == "outcomes":
            found += _outcomes(own, rungs)
        else:
            judge = _JUDGES[group.comparison]
            found += [judge(row, rungs) for row in _merge_runs(own)]
    return found


def needs_simulation(row: published.Row) -> bool:
    """Return whether a row is answered by runs, not by replaying a chain or not at all."""
    comparison = published.groups()[row.group].comparison
    return bool(row.target.metric) and comparison != "replay"


def _blank(row: published.Row) -> Comparison:
    return Comparison(
        id=row.id,
        what=row.what,
        group=row.group,
        basis=row.basis,
        unit=row.unit,
        published=row.value,
        ci95=row.ci95,
        note=row.note,
    )


def _answer(row: published.Row, rungs: Rungs) -> Comparison:
    """Return the row with what was simulated for it."""
    target = row.target
    answers = [of["metrics"][target.metric] for of in _matching(target, rungs) if target.metric]
    known = [of for of in answers if of["mean"] is not None]
    if not known:
        note = f"{row.note}; no simulated value" if row.note else "no simulated value"
        return replace(_blank(row), note=note)
    simulated = _STATISTICS[target.statistic]([of["mean"] for of in known])
    half = known[0]["ci95"] if len(known) == 1 else None
    return replace(_blank(row), simulated=simulated, simulated_ci95=half)


def _matching(target: published.Target, rungs: Rungs) -> list[Mapping[str, Any]]:
    return [
        of
        for (scenario, transport, rate, payload), of in sorted(rungs.items())
        if (scenario, transport) == (target.scenario, target.transport)
        and target.rate_min_per_s <= rate <= target.rate_max_per_s
        and target.payload_bytes in {None, payload}
    ]


def _relative(row: published.Row, rungs: Rungs) -> Comparison:
    found = _answer(row, rungs)
    if found.simulated is None or not row.value:
        return found
    off = abs(found.simulated - row.value)
    inside = None if row.ci95 is None else off <= row.ci95 + row.resolution / 2
    return replace(found, error_ratio=found.simulated / row.value - 1, inside_ci=inside)


def _claim(holds: Callable[[float, float], bool]) -> Callable[[published.Row, Rungs], Comparison]:
    def judge(row: published.Row, rungs: Rungs) -> Comparison:
        found = _answer(row, rungs)
        if found.simulated is None or row.value is None:
            return found
        return replace(found, holds=holds(found.simulated, row.value))

    return judge


def _above_other(row: published.Row, rungs: Rungs) -> Comparison:
    """Hold when this transport does better than the other at every rate that both ran.

    The figures are the lowest of this and, as the published side has none, of the margin's note.
    """
    other = row.target.statistic.removeprefix("versus_")
    mine, theirs = (
        {(rate, payload): of for (_, _, rate, payload), of in _of(row, name, rungs).items()}
        for name in (row.target.transport, other)
    )
    pairs = [(mine[at], theirs[at]) for at in sorted(mine.keys() & theirs.keys())]
    values = [tuple(of["metrics"][row.target.metric]["mean"] for of in pair) for pair in pairs]
    values = [pair for pair in values if None not in pair]
    if not values:
        return replace(_blank(row), note=f"{row.note}; no simulated value")
    least = min(values, key=lambda pair: pair[0] - pair[1])
    note = f"{row.note}; closest pair: {least[0]:.3f} against {least[1]:.3f}"
    return replace(_blank(row), simulated=least[0], holds=least[0] > least[1], note=note)


def _of(row: published.Row, transport: str, rungs: Rungs) -> Rungs:
    target = replace(row.target, transport=transport)
    wanted = [id(of) for of in _matching(target, rungs)]
    return {key: of for key, of in rungs.items() if id(of) in wanted}


def _merge_runs(rows: Iterable[published.Row]) -> list[published.Row]:
    """Return `rows` with the runs of one table as one row: their mean and its interval."""
    merged: dict[tuple[str, float, str], list[published.Row]] = {}
    for row in rows:
        place = (row.section, row.target.rate_min_per_s, row.quantity)
        merged.setdefault(place if row.target.statistic == "run" else (row.id, 0, ""), []).append(
            row
        )
    return [_mean_of_runs(of) if of[0].run is not None else of[0] for of in merged.values()]


def _mean_of_runs(rows: Sequence[published.Row]) -> published.Row:
    values = [row.value for row in rows if row.value is not None]
    return replace(
        rows[0],
        id=rows[0].id.replace(f"_run{rows[0].run}", ""),
        quantity=f"{rows[0].quantity}, mean",
        value=statistics.fmean(values),
        resolution=0.0,
        ci95=ci95(values),
        run=None,
        basis=_worst_basis(rows),
        note=f"mean of {len(values)} runs",
        target=replace(rows[0].target, statistic="mean"),
    )


def _worst_basis(rows: Sequence[published.Row]) -> str:
    """A figure made of several rows is fitted as soon as one of them is."""
    bases = [row.basis for row in rows]
    return "fitted" if "fitted" in bases else bases[0]


def _outcomes(rows: Sequence[published.Row], rungs: Rungs) -> list[Comparison]:
    """Compare, rate by rate, how many runs stalled, broke part-way and completed."""
    tables: dict[float, list[published.Row]] = {}
    for row in rows:
        if row.run is not None:
            tables.setdefault(row.target.rate_min_per_s, []).append(row)
    found = [
        replace(_answer(row, rungs), note="a mixture of outcomes: its mean is not judged")
        for row in rows
        if row.target.statistic == "classes"
    ]
    for rate, table in tables.items():
        found += _outcomes_at(rate, table, rungs)
    return found


def _outcomes_at(rate: float, table: Sequence[published.Row], rungs: Rungs) -> list[Comparison]:
    sent = _sent_per_run(table[0], rate)
    said = [(row.value or 0.0, sent) for row in table]
    of = _matching(table[0].target, rungs)
    had = _runs_of(of[0]) if of else []
    note = f"published {_shape(said)}; simulated {_shape(had) if had else 'nothing'}"
    return [
        _share(row, kind, said, had, note)
        for row in (_mean_of_runs(table),)
        for kind in ("stalled", "partial")
    ] + [_complete(_mean_of_runs(table), said, had)]


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
    of = _classes(runs)
    words = ", ".join(f"{of[kind]} {kind}" for kind in ("stalled", "partial", "complete"))
    return f"{words} of {len(runs)}"


def _share(
    row: published.Row,
    kind: str,
    said: Sequence[tuple[float, float]],
    had: Sequence[tuple[float, float]],
    note: str,
) -> Comparison:
    count, n = _classes(said)[kind], len(said)
    blank = replace(
        _blank(row),
        id=row.id.replace("stores", f"{kind}_share"),
        what=row.what.replace(row.quantity, f"share of {kind} runs"),
        unit="1",
        published=count / n,
        ci95=None,
        note=note,
    )
    if not had:
        return blank
    share = _classes(had)[kind] / len(had)
    low, high = wilson(count, n)
    return replace(blank, simulated=share, inside_ci=low <= share <= high)


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
        ci95=_finite(ci95(theirs)),
        note=f"{len(theirs)} of {len(said)} published runs, {len(ours)} of {len(had)} simulated",
    )
    if not ours or upper.value is None:
        return _blank(upper)
    simulated, half = statistics.fmean(ours), _finite(ci95(ours))
    inside = None if upper.ci95 is None else abs(simulated - upper.value) <= upper.ci95
    found = replace(_blank(upper), simulated=simulated, simulated_ci95=half, inside_ci=inside)
    return replace(found, error_ratio=simulated / upper.value - 1)


def wilson(count: int, n: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share of `count` in `n` (Wilson 1927)."""
    z = 1.96
    middle = (count + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(count * (n - count) / n + z * z / 4)
    return middle - half, middle + half


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _replayed(
    rows: Sequence[published.Row],
    own: Sequence[published.Row],
    replay: block_sizes.Replay | None,
) -> list[Comparison]:
    """Compare the three sizes of each run as one row, whose figures are the mean sizes."""
    if not own:
        return []
    sections = {row.section for row in own}
    tables = [row for row in published.rows() if row.section in sections]
    assert rows, "sizes come with their tables"
    means = {
        (row.section, row.target.rate_min_per_s, row.run): row
        for row in own
        if row.target.metric == "stored_block_bytes_mean"
    }
    if replay is None:
        return [replace(_blank(row), note="the engine is missing") for row in means.values()]
    return [
        _size(means[key], match)
        for match in block_sizes.matches(block_sizes.runs(tables), replay)
        if (key := (match.run.section, match.run.rate_per_s, match.run.run)) in means
    ]


def _size(row: published.Row, match: block_sizes.Match) -> Comparison:
    low, high, mean = match.replayed
    said = f"{match.run.printed[0]:g}..{match.run.printed[1]:g}"
    return replace(
        _blank(row),
        id=row.id.replace("size_avg", "sizes"),
        what=row.what.replace(row.quantity, "stored block sizes"),
        simulated=mean,
        error_ratio=mean / match.run.printed[2] - 1,
        holds=match.exact,
        note=f"range {low:g}..{high:g} against {said}; {match.note}",
    )


_STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda values: values[0],
    "classes": lambda values: values[0],
    "median": statistics.median,
    "min": min,
    "max": max,
}
_JUDGES: dict[str, Callable[[published.Row, Rungs], Comparison]] = {
    "relative": _relative,
    "at_least": _claim(lambda simulated, said: simulated >= said),
    "below": _claim(lambda simulated, said: simulated < said),
    "above_other": _above_other,
    "none": _answer,
}
