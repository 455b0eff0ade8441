"""What every run has: rates, round trips, sizes and how runs end. Trades have nothing beside it.

The definitions are those of `sim.metrics.repetitions`, which says where they come from.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base.arrow import numbers
from pocketsim.sim.metrics import completion, fates
from pocketsim.sim.metrics.definition import Metric
from pocketsim.sim.metrics.pooled_quantiles import Sample
from pocketsim.sim.trace.columns import (
    Columns,
    ratio,
    split,
    times_by_message,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import Resolved

    Array = np.ndarray[Any, Any]

_ROUND_TRIP = "round trip of stored transactions, storing included"

METRICS = {
    "send_rate_per_s": Metric(
        "1/s",
        "sent / W",
        "proposals sent, over the window from the first to the last send or store; undefined of "
        "fewer than two",
    ),
    "store_rate_per_s": Metric(
        "1/s",
        "stored / W",
        "transactions stored, over the window from the first to the last send or store",
    ),
    "send_count": Metric("1", "sent", "proposals sent"),
    "store_count": Metric("1", "stored", "transactions that their proposers stored, countersigned"),
    "unmatched_count": Metric(
        "1",
        "sent - stored",
        "proposals sent and not stored: lost, or in flight at the end",
    ),
    "success_ratio": Metric(
        "1",
        "stored / sent",
        "of what was sent, what its proposer has stored by the end of the run, or when the app's "
        "log was full: what is in flight then is not done",
    ),
    "settled_success_ratio": Metric(
        "1",
        "stored / (stored + lost)",
        "of what was sent and is not in flight at the end, what is stored. It leaves out whatever "
        "fails slowly, so it is not for comparing transports; of the log of a real trade, which is "
        "taken to end when nothing is in flight, it is `success_ratio`",
    ),
    "in_flight_ratio": Metric(
        "1",
        "in_flight / sent",
        "of what was sent, what had neither been stored nor lost when the run ended, or "
        "when the app's log was full",
    ),
    **completion.METRICS,
    "rtt_ms_p50": Metric(
        "ms",
        "p50(T3 - T1)",
        f"{_ROUND_TRIP}: median",
    ),
    "rtt_ms_p95": Metric("ms", "p95(T3 - T1)", f"{_ROUND_TRIP}: 95th percentile"),
    "rtt_ms_p99": Metric("ms", "p99(T3 - T1)", f"{_ROUND_TRIP}: 99th percentile"),
    "rtt_ms_mean": Metric("ms", "mean(T3 - T1)", f"{_ROUND_TRIP}: mean"),
    "processing_ms_p50": Metric(
        "ms",
        "p50(T3 - T2)",
        "from the block's return until it is stored: median",
    ),
    "stored_block_bytes_min": Metric("B", "min(bytes)", "stored blocks as serialised, smallest"),
    "stored_block_bytes_mean": Metric("B", "mean(bytes)", "stored blocks as serialised, mean"),
    "stored_block_bytes_max": Metric("B", "max(bytes)", "stored blocks as serialised, largest"),
    "stalled_run_ratio": Metric(
        "1",
        "mean over repetitions of [stored < 0.05 sent]",
        "share of repetitions that stored less than 5 % of what was sent",
    ),
    "partial_run_ratio": Metric(
        "1",
        "mean over repetitions of [0.05 sent <= stored < 0.9 sent]",
        "share that stored 5 % or more and less than 90 %",
    ),
}
OF_ALL = tuple(METRICS)
"""The metrics of every run."""
RATIOS = {
    **dict.fromkeys(("success_ratio", "settled_success_ratio", "in_flight_ratio"), "send_count"),
    **dict.fromkeys(completion.DEADLINES_S, "send_count"),
    **dict.fromkeys(("stalled_run_ratio", "partial_run_ratio")),
}
QUANTILES = ("rtt_ms_p50", "rtt_ms_p95", "rtt_ms_p99", "processing_ms_p50")
COUNTS = ("send_count", "store_count", "unmatched_count")
TRANSACTION = "transaction"
COMPLETED = "store_count"


def names(_resolved: Resolved) -> tuple[str, ...]:
    """Return no names beside `OF_ALL`."""
    return ()


def measure(_part: Columns, _output: EngineOutput, _resolved: Resolved) -> dict[str, Any]:
    """Return no metrics beside those of all runs."""
    return {}


def beside(_parts: Sequence[Columns], _resolved: Resolved) -> dict[str, Any]:
    """Return nothing."""
    return {}


def of_ledger(_output: EngineOutput, _resolved: Resolved) -> dict[str, Any]:
    """Return what `measure` does."""
    return {}


def beside_of_ledger(_outputs: Sequence[EngineOutput]) -> dict[str, Any]:
    """Return what `beside` does."""
    return {}


def of_all(
    part: Columns,
    duration_s: float,
    share: float,
    deadlines_s: Mapping[str, float] = completion.DEADLINES_S,
) -> dict[str, Any]:
    """Return the metrics of every run, of one repetition that keeps a `share` of its trace.

    `rtt_ms` and `processing_ms` are the samples that quantiles are of.
    """
    log = part.measured(duration_s)
    sent, stored, back = (log.of_kind(name) for name in ("send", "store", "receive_back"))
    n_sent, n_stored = sent.time_s.size / share, stored.time_s.size / share
    window_s = _window_s(sent.time_s, stored.time_s)
    _, rtt_ms = _round_trips(log)
    processing_ms = 1e3 * (stored.time_s - times_by_message(back, stored))
    rtt, processing = Sample.of(rtt_ms), Sample.of(processing_ms)
    by_then = fates.of(part.where(part.time_s <= _end_s(part, log, duration_s)), sent.message)
    # A log that is not cut off is of a run that is over: what it does not say stored, failed.
    undecided = by_then["in_flight"] if math.isfinite(duration_s) else 0
    return {
        **counts(n_sent, n_stored, window_s),
        "success_ratio": ratio(by_then["stored"], by_then["sent"]),
        "settled_success_ratio": ratio(by_then["stored"], by_then["sent"] - undecided),
        "in_flight_ratio": ratio(by_then["in_flight"], by_then["sent"]),
        **completion.metrics(_completion(part, duration_s), deadlines_s),
        **quantiles(rtt, processing),
        "rtt_ms_mean": _over(np.mean, rtt_ms),
        "stored_block_bytes_min": _over(np.min, stored.size_bytes),
        "stored_block_bytes_mean": _over(np.mean, stored.size_bytes),
        "stored_block_bytes_max": _over(np.max, stored.size_bytes),
    }


def quantiles(rtt: Sample, processing: Sample) -> dict[str, Any]:
    """Return quantiles of round trips and processing, in ms, and what they are of."""
    return {
        **{f"rtt_ms_p{percent}": rtt.percentile(percent) for percent in (50, 95, 99)},
        "processing_ms_p50": processing.percentile(50),
        "rtt_ms": rtt,
        "processing_ms": processing,
    }


def counts(sent: float, stored: float, window_s: float) -> dict[str, float]:
    """Return the metrics that follow from what was sent and stored within a window."""
    outcome = classify(stored, sent)
    return {
        "send_rate_per_s": ratio(sent, window_s),
        "store_rate_per_s": ratio(stored, window_s),
        "send_count": sent,
        "store_count": stored,
        "unmatched_count": sent - stored,
        "stalled_run_ratio": float(outcome == "stalled"),
        "partial_run_ratio": float(outcome == "partial"),
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
    last = int(np.max(numbers(events["repetition"]), initial=-1))
    return [_round_trips(Columns.of(p).measured(duration_s)) for p in split(events, last + 1)]


def completions(events: pa.Table, duration_s: float) -> list[completion.Curve]:
    """Return for each repetition the share done over the time since the send, in seconds."""
    last = int(np.max(numbers(events["repetition"]), initial=-1))
    return [_completion(Columns.of(part), duration_s) for part in split(events, last + 1)]


def _completion(part: Columns, duration_s: float) -> completion.Curve:
    log = part.measured(duration_s)
    end_s = _end_s(part, log, duration_s)
    return completion.of(log.of_kind("send"), part.of_kind("store"), end_s)


def _round_trips(part: Columns) -> tuple[Array, Array]:
    sent, stored = part.of_kind("send"), part.of_kind("store")
    sent_s = times_by_message(sent, stored)
    known = np.isfinite(sent_s)
    return sent_s[known], 1e3 * (stored.time_s - sent_s)[known]


def _end_s(part: Columns, log: Columns, duration_s: float) -> float:
    """Return until when fates are known: the end of the measurement, or of a log that is full.

    What is stored when the log is full was not lost, and nobody could know. So that nothing is lost
    for longer than it may be stored, what is lost after that is unknown, too.
    """
    missed = part.where(~part.logged & (part.time_s <= duration_s))
    if not any(missed.of_kind(kind).time_s.size for kind in ("send", "store")):
        return duration_s
    last_s = [float(log.of_kind(kind).time_s.max(initial=0.0)) for kind in ("send", "store")]
    return max(last_s)


def _window_s(sent_s: Array, stored_s: Array) -> float:
    if sent_s.size < FEWEST_SENT:
        return math.nan
    both = np.concatenate((sent_s, stored_s))
    return float(both.max() - both.min())


def _over(statistic: Callable[[Array], float], values: Array) -> float:
    return float(statistic(values)) if values.size else math.nan


FEWEST_SENT = 2
"""Of one proposal the window is its round trip, and a rate over that says how fast it was."""
STALLED_BELOW = 0.05  # of what was sent: the runs that stored 2 to 12 blocks of thousands
COMPLETE_FROM = 0.90  # published complete runs end at 93 % or more, broken ones below 65 %
