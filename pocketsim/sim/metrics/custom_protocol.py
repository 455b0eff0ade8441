"""What a custom protocol achieved: deliveries, datagrams, and what it observed.

A transaction begins when the workload asks for it, and is stored when it is first delivered, on any
phone. The metrics of all runs (`sim.metrics.trades`) are of these events. Later deliveries belong
to the same transaction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base.engine_facts import EVENT_KINDS
from pocketsim.sim.metrics import histograms, transfers
from pocketsim.sim.metrics.definition import Metric
from pocketsim.sim.metrics.family_metrics import traced_share
from pocketsim.sim.metrics.pooled_quantiles import EMPTY, Sample
from pocketsim.sim.trace.columns import ratio, times_by_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import Resolved
    from pocketsim.sim.trace.columns import Columns

_DELIVERY = "from the request of a transaction to each of its deliveries, on whatever phone"

METRICS = {
    "delivery_count": Metric("1", "deliveries", "values that phones delivered"),
    "deliveries_per_transaction": Metric(
        "1", "deliveries / sent", "values delivered for each transaction that was asked for"
    ),
    "delivery_ms_p50": Metric(
        "ms",
        "p50(t_delivered - T1)",
        f"{_DELIVERY}: median",
    ),
    "delivery_ms_p95": Metric("ms", "p95(t_delivered - T1)", f"{_DELIVERY}: 95th percentile"),
    "delivery_ms_mean": Metric("ms", "mean(t_delivered - T1)", f"{_DELIVERY}: mean"),
    "datagrams_per_transaction": Metric(
        "1", "on_air / sent", "datagrams put on the air for each transaction that was asked for"
    ),
}
OF_TRANSFERS = "datagram_loss_ratio"
"""What `sim.metrics.transfers` defines, and these runs have, too."""
RATIOS = transfers.RATIOS
QUANTILES = ("delivery_ms_p50", "delivery_ms_p95")
COUNTS = ("delivery_count",)


def names(_resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run of this protocol family has."""
    return (*METRICS, OF_TRANSFERS)


def measure(part: Columns, output: EngineOutput, resolved: Resolved) -> dict[str, Any]:
    """Return the metrics of one repetition; NaN for what it does not define.

    Of a sampled trace, counts are scaled up by its share.
    """
    share = traced_share(resolved["output"])
    sent, delivered = part.of_kind("send"), part.of_kind("deliver")
    took_ms = 1e3 * (delivered.time_s - times_by_message(sent, delivered))
    known_ms = took_ms[np.isfinite(took_ms)]
    took = Sample.of(took_ms)
    on_air = output["counters"].get("datagrams_sent", 0)
    return {
        "delivery_count": delivered.time_s.size / share,
        "deliveries_per_transaction": ratio(known_ms.size, sent.time_s.size),
        "delivery_ms_p50": took.percentile(50),
        "delivery_ms_p95": took.percentile(95),
        "delivery_ms": took,
        "delivery_ms_mean": float(known_ms.mean()) if known_ms.size else math.nan,
        "datagrams_per_transaction": ratio(on_air, sent.time_s.size / share),
        **transfers.losses(output["counters"]),
    }


def beside(parts: Sequence[Columns], resolved: Resolved) -> dict[str, Any]:
    """Return `observed`: by name, how often it was in each repetition, and the mean of its values.

    A mean is None where there was none; counts of a sampled trace are scaled up by its share.
    """
    share = traced_share(resolved["output"])
    kinds = sorted({kind for part in parts for kind in _own_kinds(part)})
    return {"observed": {kind: _observed(kind, parts, share) for kind in kinds}}


def of_ledger(output: EngineOutput, _resolved: Resolved) -> dict[str, Any]:
    """Return what `measure` does, of a run without events.

    A ledger knows until its first delivery when a transaction was sent: where there are further
    ones, how long they took is undefined.
    """
    found, counters = output["ledger"], output["counters"]
    sent, took = found["all"]["sent"], found["delivery"]
    sample, mean_s = EMPTY, math.nan
    if histograms.count(took) == found["deliveries_sent"]:
        sample, mean_s = Sample.of_spread(took, 1e3), histograms.mean_s(took)
    return {
        "delivery_count": float(counters.get("deliver", 0)),
        "deliveries_per_transaction": ratio(found["deliveries_sent"], sent),
        "delivery_ms_p50": sample.percentile(50),
        "delivery_ms_p95": sample.percentile(95),
        "delivery_ms": sample,
        "delivery_ms_mean": 1e3 * mean_s,
        "datagrams_per_transaction": ratio(counters.get("datagrams_sent", 0), sent),
        **transfers.losses(counters),
    }


def beside_of_ledger(outputs: Sequence[EngineOutput]) -> dict[str, Any]:
    """Return what `beside` does, of a run without events."""
    seen = [said["ledger"]["observed"] for said in outputs]
    found = {}
    for kind in sorted({kind for each in seen for kind in each}):
        counted = [each.get(kind, (0, 0)) for each in seen]
        found[kind] = {
            "counts": [float(count) for count, _ in counted],
            "means": [total / count if count else None for count, total in counted],
        }
    return {"observed": found}


def _own_kinds(part: Columns) -> tuple[str, ...]:
    """Return the kinds of rows that the engine does not know by name."""
    found = np.unique(part.kind)
    every = [part.kinds[code] for code in found.tolist()]
    return tuple(kind for kind in every if kind not in EVENT_KINDS)


def _observed(kind: str, parts: Sequence[Columns], share: float) -> dict[str, Any]:
    sizes = [part.of_kind(kind).size_bytes for part in parts]
    return {
        "counts": [size.size / share for size in sizes],
        "means": [float(size.mean()) if size.size else None for size in sizes],
    }
