"""What a run achieved: rates, latencies, sizes and the fate of every transaction.

Everything is read from a trace; nothing here runs, draws or compares. The definitions are those
that reproduce the published figures of the benchmark app (Chirila 2025, appendices A and B):

* only proposers' events count that the app logged before the end of the measurement;
* a rate is a count over the window from the first to the last send or store of the repetition.
  A window per operation would not give the published means of runs that stalled;
* the `value` of a metric is the mean over repetitions, and of a quantile that of all repetitions
  together (`sim.metrics.pooled_quantiles`). It has a 95 % interval: Student's t, or Wilson's for a
  share, or a bootstrap for a quantile (`sim.metrics.intervals`). Beside it stand the `mean` of
  repetitions and the theses' half width, 1.96 s / sqrt(n) with the sample deviation s over n
  repetitions, only to be compared with theirs: the width is too narrow, and a mean of quantiles is
  biased;
* of runs with `draw = "posterior"` there may be bounds of what one run of the real thing comes to
  (`sim.metrics.predicted`);
* what is in flight was sent and, at the end of the measurement or of a full log, neither stored nor
  lost. Success is a share of all that was sent, so what is in flight counts as not done: a
  transport that fails late does not look better than one that fails at once. The log of a real
  trade is taken to end when nothing is in flight;
* the round trip of a transaction is T3 - T1 and its processing T3 - T2 (Iftode 2025, section
  4.1): T1 its send, T2 the return of the countersigned block, T3 its store.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base.arrow import numbers
from pocketsim.sim.base.engine_output import NOTHING
from pocketsim.sim.base.streams import stream
from pocketsim.sim.metrics import (
    aggregate_metrics,
    battery,
    completion,
    custom_metrics,
    energy,
    energy_shares,
    family_metrics,
    fates,
    per_phone,
    predicted,
    presence,
    queues,
    reach,
    retries,
    storage,
    trades,
)
from pocketsim.sim.metrics.family_metrics import traced_share
from pocketsim.sim.metrics.intervals import (
    Interval,
    bootstrap,
    equal_counts,
    normal_ci95,
    of_runs,
    of_shares,
    student_t,
    wilson,
)
from pocketsim.sim.metrics.pooled_quantiles import EMPTY, pooled
from pocketsim.sim.trace.columns import Columns, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import Resolved


def measure(
    events: pa.Table | None, resolved: Resolved, outputs: Sequence[EngineOutput] | None = None
) -> dict[str, Any]:
    """Return the content of metrics.json for the trace `events` of the run `resolved`.

    Without events (`output.trace = "metrics"`) it is of what the engine's ledger says in `outputs`,
    and has `quantile_error`: by how much quantiles may be off, as a share of them.

    Rates are per second and over all phones, sizes in bytes, latencies in milliseconds. A value
    that no repetition defines is None. Of a sampled trace, counts and rates are scaled up by the
    share of transactions kept; `counts`, and `fates`, which are the same of each repetition, stay
    what was traced. `outputs` are the engine's of each repetition; without them, what they would
    tell is None or left out.
    """
    repetitions, share = resolved["run"]["repetitions"], traced_share(resolved["output"])
    every = outputs or [NOTHING] * repetitions
    if events is None:
        measured, beside = _of_ledgers(every, resolved)
    else:
        measured, beside = _of_events(events, every, resolved)
    rows = []
    for row, said in zip(measured, every, strict=True):
        whole = row | energy.measure(row, resolved, said["energy_j"])
        whole |= per_phone.measure(resolved, said)
        whole |= presence.measure(row, resolved, said)
        whole |= battery.measure(resolved, said)
        whole |= queues.measure(resolved, said["waits"])
        whole |= reach.measure(resolved, said.get("reach"))
        whole |= retries.measure(resolved, said)
        whole |= storage.measure(resolved, said)
        rows.append(
            {**dict.fromkeys(custom_metrics.names(resolved), math.nan), **whole, **_own(said)}
        )
    return {
        "schema": 1,
        "scenario": resolved["title"],
        "rung": dict(resolved["rung"]),
        "repetitions": repetitions,
        "traced_share": share,
        "metrics": predicted.beside(
            _metrics(names(resolved), rows, _kinds(resolved), resolved["run"]["seed"]), resolved
        ),
        **_spent(outputs or [], resolved),
        **_days(outputs or []),
        **beside,
    }


def _of_events(
    events: pa.Table, outputs: Sequence[EngineOutput], resolved: Resolved
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return what each repetition achieved, and what metrics.json has beside it, by their rows."""
    share, family = traced_share(resolved["output"]), family_metrics.of(resolved)
    parts = [Columns.of(part) for part in split(events, len(outputs))]
    rows = [
        trades.of_all(part, resolved["run"]["duration_s"], share, completion.deadlines_s(resolved))
        | family.measure(part, said, resolved)
        for part, said in zip(parts, outputs, strict=True)
    ]
    return rows, {**family.beside(parts, resolved), **_fates(parts)}


def _of_ledgers(
    outputs: Sequence[EngineOutput], resolved: Resolved
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return what `_of_events` does, by what was added up of rows that were not kept."""
    family, found = family_metrics.of(resolved), [said["ledger"] for said in outputs]
    rows = [
        aggregate_metrics.of_all(said["ledger"], completion.deadlines_s(resolved))
        | family.of_ledger(said, resolved)
        for said in outputs
    ]
    ended = [aggregate_metrics.fates(statement) for statement in found]
    return rows, {
        "quantile_error": max(statement["quantile_error"] for statement in found),
        **family.beside_of_ledger(outputs),
        "counts": fates.total(ended),
        "fates": ended,
    }


def names(resolved: Resolved) -> list[str]:
    """Return the metrics that a run has, some of them perhaps without a value."""
    return [
        *dict.fromkeys((*trades.OF_ALL, *completion.deadlines_s(resolved))),
        *family_metrics.of(resolved).names(resolved),
        *energy.names(resolved),
        *presence.names(resolved),
        *battery.names(resolved),
        *per_phone.names(resolved),
        *queues.names(resolved),
        *reach.names(resolved),
        *retries.names(resolved),
        *storage.names(resolved),
        *custom_metrics.names(resolved),
    ]


def of_log(events: pa.Table, name: str) -> dict[str, Any]:
    """Return what `measure` does for the log of a real trade, which ends when its file does.

    There is no rung: nobody told what the phones were asked to do.
    """
    repetitions = int(np.max(numbers(events["repetition"]), initial=-1)) + 1
    parts = [Columns.of(part) for part in split(events, repetitions)]
    rows = [trades.of_all(part, math.inf, 1.0) for part in parts]
    kinds = _Kinds(trades.RATIOS, set(trades.QUANTILES), set(trades.COUNTS))
    return {
        "schema": 1,
        "scenario": name,
        "repetitions": repetitions,
        "metrics": _metrics(trades.OF_ALL, rows, kinds, _SEED_OF_LOGS),
        **_fates(parts),
    }


@dataclass(frozen=True)
class _Kinds:
    """Which metrics are ratios of what, quantiles and counts, and what share of events is kept."""

    ratios: Mapping[str, str | None]
    quantiles: set[str]
    counts: set[str]
    share: float = 1.0


def _kinds(resolved: Resolved) -> _Kinds:
    family = family_metrics.of(resolved)
    deadlines = dict.fromkeys(completion.deadlines_s(resolved), "send_count")
    return _Kinds(
        ratios={
            **trades.RATIOS,
            **deadlines,
            **family.RATIOS,
            **queues.RATIOS,
            **reach.RATIOS,
            **presence.RATIOS,
            **battery.RATIOS,
        },
        quantiles={*trades.QUANTILES, *family.QUANTILES, *queues.QUANTILES, *reach.QUANTILES},
        counts={
            *(*trades.COUNTS, *family.COUNTS, *reach.COUNTS, *presence.COUNTS),
            *(*retries.COUNTS, *battery.COUNTS),
            *custom_metrics.names(resolved),
        },
        share=traced_share(resolved["output"]),
    )


def interval_of_mean(
    name: str, values: Mapping[str, Sequence[float]], resolved: Resolved
) -> Interval:
    """Return the 95 % interval of a metric's mean, by the values of all metrics by repetition.

    Shares and counts have the intervals of their kind, others Student's t, quantiles of repetitions
    as well. Equal values of those are no evidence that others would be: the interval is infinite.
    """
    kinds = _kinds(resolved)
    every = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    rows = [row for row in every if math.isfinite(row[name])]
    known = [row[name] for row in rows]
    if name in kinds.ratios and (kinds.ratios[name] is None or kinds.ratios[name] in values):
        return _of_ratio(name, rows, kinds)
    if name in kinds.counts:
        return equal_counts(known)
    if known and np.ptp(known) > 0:
        return student_t(known)
    if known and name in kinds.ratios:  # of trials that are not told: a repetition is one at least
        return wilson(known[0], len(known))
    return Interval(-math.inf, math.inf, "t")


def _own(said: EngineOutput) -> dict[str, float]:
    """Return what custom functions made of a repetition."""
    return {name: math.nan if value is None else value for name, value in said["own"].items()}


def _metrics(
    names: Iterable[str], rows: Sequence[Mapping[str, Any]], kinds: _Kinds, seed: int
) -> dict[str, Any]:
    """Return the summary of each metric, with the interval that its kind has."""
    found = {}
    for name in names:
        values = [row[name] for row in rows]
        known = [row for row in rows if math.isfinite(row[name])]
        if name in kinds.quantiles:
            value, interval = _of_quantile(name, rows, stream(seed, f"metrics/bootstrap/{name}"))
            found[name] = summary(values, interval, value)
        elif name in kinds.ratios:
            interval = _of_ratio(name, known, kinds)
            found[name] = summary(values, interval)
        elif name in kinds.counts:
            found[name] = summary(values, equal_counts([row[name] for row in known]))
        elif name in completion.SHARES and len(known) < len(rows):
            # A mean of those that came to the share would leave out the slowest.
            found[name] = summary([math.nan] * len(rows)) | {"values": [_plain(v) for v in values]}
        else:
            found[name] = summary(values)
    return found


def _of_quantile(
    name: str, rows: Sequence[Mapping[str, Any]], draws: np.random.Generator
) -> tuple[float | None, Interval]:
    """Return a quantile of all repetitions; of those without samples, the mean of theirs."""
    base, _, percent = name.rpartition("_p")
    if any(base in row for row in rows):
        return pooled([row.get(base, EMPTY) for row in rows], float(percent), draws)
    return None, bootstrap([row[name] for row in rows if math.isfinite(row[name])], draws)


def _of_ratio(name: str, known: Sequence[Mapping[str, Any]], kinds: _Kinds) -> Interval:
    trials, values = kinds.ratios[name], [row[name] for row in known]
    if trials is None:
        return of_runs(values)
    return of_shares(values, [row[trials] * kinds.share for row in known])


def _spent(outputs: Sequence[EngineOutput], resolved: Resolved) -> dict[str, Any]:
    """Return core seconds by operation and joules by component, where the engine tells them."""
    found = {"cpu_s": _by_name([said["cpu_s"] for said in outputs])} if outputs else {}
    spent: dict[str, list[Mapping[str, float]]] = {
        "energy_j": [said["energy_j"] for said in outputs],
        "energy_by_network_j": [
            energy_shares.named(said.get("energy_by_part_j", {}), resolved) for said in outputs
        ],
    }
    return found | {name: _by_name(every) for name, every in spent.items() if any(every)}


def _days(outputs: Sequence[EngineOutput]) -> dict[str, Any]:
    """Return the day of each repetition, where all told it."""
    days = [said["day"] for said in outputs if "day" in said]
    return {"day": days} if days and len(days) == len(outputs) else {}


def _by_name(spent: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    names = sorted({name for by_name in spent for name in by_name})
    return {name: summary([by_name.get(name, 0.0) for by_name in spent]) for name in names}


def _fates(parts: Sequence[Columns]) -> dict[str, Any]:
    ended = [fates.of(part, part.of_kind("send").message) for part in parts]
    return {"counts": fates.total(ended), "fates": ended}


def summary(
    values: Sequence[float], interval: Interval | None = None, value: float | None = None
) -> dict[str, Any]:
    """Return value, mean, intervals and values as JSON-able numbers; an undefined one is None.

    The value is the mean, and its interval Student's t, unless they are given. Nothing that is
    measured is below 0, so bounds are not, either.
    """
    known = np.array([value for value in values if math.isfinite(value)])
    mean = float(known.mean()) if known.size else math.nan
    interval = (interval or student_t(known)).within(0.0, math.inf)
    return {
        "value": _plain(mean if value is None else value),
        "mean": _plain(mean),
        "ci95_low": _plain(interval.low),
        "ci95_high": _plain(interval.high),
        "ci95_method": interval.method,
        "normal_ci95": _plain(normal_ci95(known)),
        "values": [_plain(value) for value in values],
    }


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


_SEED_OF_LOGS = 0  # of the bootstrap; what a real trade did was not drawn from a seed
