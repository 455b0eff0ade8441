"""How long datagrams waited in the queues of radios, and how many found no room: of all phones.

The engine counts each datagram once for every radio that took it
(sim/engine/src/resources/queue_delay.rs). Quantiles are of a histogram, within 0.8 % of themselves
(sim/engine/src/base/histogram.rs); means are exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.sim.metrics import family_metrics
from pocketsim.sim.metrics.definition import Metric
from pocketsim.sim.trace.columns import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.base.engine_output import Waits
    from pocketsim.sim.scenario.resolved import Resolved

_DIRECTIONS = {
    "uplink": "in the queue of the sender's radio until its first byte went out",
    "downlink": "in the receiver's queue at its access point or cell",
}
METRICS = {
    name: metric
    for link, where in _DIRECTIONS.items()
    for name, metric in {
        f"{link}_wait_ms_mean": Metric(
            "ms", "mean(t_first_byte - t_queued)", f"how long a datagram waited {where}: mean"
        ),
        f"{link}_wait_ms_p50": Metric(
            "ms", "p50(t_first_byte - t_queued)", f"how long a datagram waited {where}: median"
        ),
        f"{link}_wait_ms_p95": Metric(
            "ms",
            "p95(t_first_byte - t_queued)",
            f"how long a datagram waited {where}: 95th percentile",
        ),
        f"{link}_queue_drop_ratio": Metric(
            "1",
            "refused / (taken + refused)",
            f"of the datagrams offered to the {link} queue, those that found no room "
            "(`queue_full`)",
        ),
    }.items()
}
RATIOS = {f"{link}_queue_drop_ratio": f"{link}_queue_offered" for link in _DIRECTIONS}
QUANTILES = tuple(name for name in METRICS if name.endswith(("_p50", "_p95")))


def names(resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run has: none where phones only compute."""
    return () if family_metrics.of(resolved).TRANSACTION is None else tuple(METRICS)


def measure(resolved: Resolved, waits: Mapping[str, Waits]) -> dict[str, float]:
    """Return what queues did in one repetition, by direction; NaN where there are none."""
    if not names(resolved):
        return {}
    found = dict.fromkeys(METRICS, math.nan)
    for link, told in waits.items():
        taken, refused = told["taken"], told["refused"]
        found |= {
            f"{link}_wait_ms_mean": 1e3 * ratio(told["sum_s"], taken),
            f"{link}_wait_ms_p50": _milliseconds(told["p50_s"]),
            f"{link}_wait_ms_p95": _milliseconds(told["p95_s"]),
            f"{link}_queue_drop_ratio": ratio(refused, taken + refused),
            f"{link}_queue_offered": float(taken + refused),
        }
    return found


def _milliseconds(seconds: float | None) -> float:
    return math.nan if seconds is None else 1e3 * seconds
