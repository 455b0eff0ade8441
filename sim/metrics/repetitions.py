"""What a run achieved: rates, latencies, sizes and the fate of every transaction.

Everything is read from a trace; nothing here runs, draws or compares. The definitions are those
that reproduce the published figures of the benchmark app (Chirila 2025, appendices A and B):

* only proposers' events count that the app logged before the end of the measurement;
* a rate is a count over the window from the first to the last send or store of the repetition.
  A window per operation would not give the published means of runs that stalled;
* a mean over repetitions has a 95 % interval: Student's t, or a bootstrap for what is a quantile
  within each (`sim.metrics.intervals`). Beside it stands the theses' half width, 1.96 s / sqrt(n)
  with the sample deviation s over n repetitions, only to be compared with theirs: it is too narrow;
* what is in flight was sent and, at the end of the measurement, neither stored nor lost;
* the round trip of a transaction is T3 - T1 and its processing T3 - T2 (Iftode 2025, section
  4.1): T1 its send, T2 the return of the countersigned block, T3 its store.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.base.streams import stream
from sim.metrics import compute, energy, fates, town, transfers
from sim.metrics.intervals import bootstrap, normal_ci95, student_t
from sim.trace.columns import Columns, percentile, ratio, split, times_by_message, traced_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    Array = np.ndarray[Any, Any]

NAMES = (
    *("send_rate_per_s", "store_rate_per_s", "send_count", "store_count"),
    *("success_ratio", "in_flight_ratio"),
    *("rtt_ms_p50", "rtt_ms_p95", "rtt_ms_mean", "processing_ms_p50"),
    *("stored_block_bytes_min", "stored_block_bytes_mean", "stored_block_bytes_max"),
    *("stalled_run_ratio", "partial_run_ratio"),
)
RATIOS = (  # between 0 and 1, and so are their intervals
    *("success_ratio", "in_flight_ratio", "stalled_run_ratio", "partial_run_ratio"),
    *(*transfers.RATIOS, *town.RATIOS),
)
QUANTILES = (  # of what happened within a repetition
    *("rtt_ms_p50", "rtt_ms_p95", "processing_ms_p50"),
    *town.QUANTILES,
)


def measure(
    events: pa.Table,
    resolved: Mapping[str, Any],
    counters: Sequence[Mapping[str, int]] | None = None,
    cpu_s: Sequence[Mapping[str, float]] | None = None,
    kept_cents: Sequence[Mapping[str, int]] | None = None,
    energy_j: Sequence[Mapping[str, float]] | None = None,
) -> dict[str, Any]:
    """Return the content of metrics.json for the trace `events` of the run `resolved`.

    Rates are per second and over all phones, sizes in bytes, latencies in milliseconds. A value
    that no repetition defines is None. Of a sampled trace, counts and rates are scaled up by the
    share of transactions kept; `counts`, and `fates`, which are the same of each repetition, stay
    what was traced. `counters` are the engine's, of
    each repetition; without them what they tell is None. `cpu_s` are its
    core seconds by operation over all phones, of each repetition; without them they are left out.
    `kept_cents` are what tokens are worth that somebody signed over and kept, by serial.
    `energy_j` are joules by component, empty where the scenario does not ask for them.
    """
    repetitions = resolved["run"]["repetitions"]
    share = traced_share(resolved)
    parts = [Columns.of(part) for part in split(events, repetitions)]
    measured = [_repetition(part, resolved["run"]["duration_s"], share) for part in parts]
    nothing: list[Any] = [{}] * repetitions
    seed = resolved["run"].get("seed", _SEED_OF_LOGS)
    told = zip(*(of or nothing for of in (counters, cpu_s, kept_cents, energy_j)), strict=True)
    for row, part, (counts, spent_s, kept, spent_j) in zip(measured, parts, told, strict=True):
        row.update(transfers.measure(part, counts, resolved))
        row.update(compute.measure(part, resolved))
        row.update(town.measure(part, resolved, counts, spent_s, kept))
        row.update(energy.measure(row, resolved, spent_j))
    ended = [fates.of(part, part.of_kind("send").message) for part in parts]
    families = (transfers, compute, town, energy)
    names = [*NAMES, *(name for of in families for name in of.names(resolved))]
    return {
        "schema": 1,
        "scenario": resolved["title"],
        "rung": dict(resolved["rung"]),
        "repetitions": repetitions,
        "traced_share": share,
        "metrics": {name: _metric(name, [row[name] for row in measured], seed) for name in names},
        **({} if cpu_s is None else {"cpu_s": _by_name(cpu_s)}),
        **({"energy_j": _by_name(energy_j)} if energy_j and any(energy_j) else {}),
        **_hourly(parts, resolved),
        "counts": fates.total(ended),
        "fates": ended,
    }


def _hourly(parts: Sequence[Columns], resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Return a town's day, for each repetition; nothing for other runs."""
    if not town.names(resolved):
        return {}
    return {"hourly": [town.hourly(part, resolved) for part in parts]}


def _by_name(spent: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    names = sorted({name for of in spent for name in of})
    return {name: summary([of.get(name, 0.0) for of in spent]) for name in names}


def of_log(events: pa.Table, name: str) -> dict[str, Any]:
    """Return what `measure` does for the log of a real trade, which ends when its file does.

    There is no rung: nobody told what the phones were asked to do.
    """
    repetitions = int(np.max(events["repetition"].to_numpy(), initial=-1)) + 1
    run = {"repetitions": repetitions, "duration_s": math.inf}
    found = measure(events, {"title": name, "rung": {}, "run": run})
    del found["rung"], found["traced_share"]
    return found


def _metric(name: str, values: Sequence[float], seed: int) -> dict[str, Any]:
    """Return the summary of a metric, with the interval that its kind has."""
    draws = stream(seed, f"metrics/bootstrap/{name}") if name in QUANTILES else None
    return summary(values, draws, is_ratio=name in RATIOS)


def summary(
    values: Sequence[float], draws: np.random.Generator | None = None, *, is_ratio: bool = False
) -> dict[str, Any]:
    """Return mean, intervals and values as JSON-able numbers; an undefined one is None.

    The interval is Student's t; with `draws`, it is a bootstrap. Nothing that is measured is below
    0, and no ratio above 1, so bounds are not, either.
    """
    known = np.array([value for value in values if math.isfinite(value)])
    interval = bootstrap(known, draws) if draws else student_t(known)
    interval = interval.within(0.0, 1.0 if is_ratio else math.inf)
    return {
        "mean": _plain(float(known.mean()) if known.size else math.nan),
        "ci95_low": _plain(interval.low),
        "ci95_high": _plain(interval.high),
        "ci95_method": interval.method,
        "normal_ci95": _plain(normal_ci95(known)),
        "values": [_plain(value) for value in values],
    }


def classify(stored: float, sent: float) -> str:
    """Return how a run with a kept connection ended: "stalled", "partial" or "complete"."""
    if sent > 0 and stored < STALLED_BELOW * sent:
        return "stalled"
    if sent > 0 and stored < COMPLETE_FROM * sent:
        return "partial"
    return "complete"


def round_trips(events: pa.Table, duration_s: float) -> list[tuple[Array, Array]]:
    """Return for each repetition the send times (s) and round trips (ms) of stored transactions."""
    last = int(np.max(events["repetition"].to_numpy(), initial=-1))
    return [_round_trips(Columns.of(p).measured(duration_s)) for p in split(events, last + 1)]


def _round_trips(part: Columns) -> tuple[Array, Array]:
    sent, stored = part.of_kind("send"), part.of_kind("store")
    sent_s = times_by_message(sent, stored)
    known = np.isfinite(sent_s)
    return sent_s[known], 1e3 * (stored.time_s - sent_s)[known]


def _repetition(part: Columns, duration_s: float, share: float) -> dict[str, float]:
    log = part.measured(duration_s)
    sent, stored, back = (log.of_kind(name) for name in ("send", "store", "receive_back"))
    n_sent, n_stored = sent.time_s.size / share, stored.time_s.size / share
    window_s = _window_s(sent.time_s, stored.time_s)
    _, rtt_ms = _round_trips(log)
    processing_ms = 1e3 * (stored.time_s - times_by_message(back, stored))
    outcome = classify(n_stored, n_sent)
    by_then = fates.of(part.where(part.time_s <= duration_s), sent.message)
    return {
        "send_rate_per_s": ratio(n_sent, window_s),
        "store_rate_per_s": ratio(n_stored, window_s),
        "send_count": n_sent,
        "store_count": n_stored,
        "success_ratio": ratio(n_stored, n_sent),
        "in_flight_ratio": ratio(by_then["in_flight"], by_then["sent"]),
        "rtt_ms_p50": percentile(rtt_ms, 50),
        "rtt_ms_p95": percentile(rtt_ms, 95),
        "rtt_ms_mean": _over(np.mean, rtt_ms),
        "processing_ms_p50": percentile(processing_ms, 50),
        "stored_block_bytes_min": _over(np.min, stored.size_bytes),
        "stored_block_bytes_mean": _over(np.mean, stored.size_bytes),
        "stored_block_bytes_max": _over(np.max, stored.size_bytes),
        "stalled_run_ratio": float(outcome == "stalled"),
        "partial_run_ratio": float(outcome == "partial"),
    }


def _window_s(sent_s: Array, stored_s: Array) -> float:
    both = np.concatenate((sent_s, stored_s))
    return float(both.max() - both.min()) if both.size else math.nan


def _over(statistic: Callable[[Array], float], values: Array) -> float:
    return float(statistic(values)) if values.size else math.nan


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


STALLED_BELOW = 0.05  # of what was sent: the runs that stored 2 to 12 blocks of thousands
COMPLETE_FROM = 0.90  # published complete runs end at 93 % or more, broken ones below 65 %
_SEED_OF_LOGS = 0  # of the bootstrap; what a real trade did was not drawn from a seed
