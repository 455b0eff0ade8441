"""By what phones reach each other: shares of pairs, hole punching, and what the relay carried.

Of runs whose networks have NATs (`network.access.<name>.nat`) or whose relay has limits
(`network.relay`). The engine counts datagrams, attempts and the relay's queues
(sim/engine/src/record/paths.rs); shares of pairs follow from the classes that phones have drawn
(`sim.scenario.reachability`). Quantiles are of a histogram, within 0.8 % of themselves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.sim.metrics import family_metrics
from pocketsim.sim.metrics.definition import Metric
from pocketsim.sim.trace.columns import ratio

if TYPE_CHECKING:
    from pocketsim.sim.base.engine_output import Punching, Reach, RelayOutput
    from pocketsim.sim.scenario.resolved import Resolved

PATHS = {
    "relayed_datagram_ratio": Metric(
        "1",
        "relayed / delivered",
        "of the datagrams that came to a socket, those that came through the relay",
    ),
    "relayed_transaction_ratio": Metric(
        "1",
        "relayed / stored",
        "of the stored transactions, those whose proposer had last heard of its peer through the "
        "relay",
    ),
}
PAIRS = {
    "pairs_direct_ratio": Metric(
        "1",
        "direct / (n (n - 1))",
        "of ordered pairs of phones, by the classes that they drew, those whose first reaches the "
        "other without help; a full cone that nobody coordinates with counts while its binding "
        "lasts",
    ),
    "pairs_punched_ratio": Metric(
        "1",
        "sum of P(success) / (n (n - 1))",
        "the same that reach each other directly once they punched, or once the other dialled",
    ),
    "pairs_relay_ratio": Metric(
        "1", "relay / (n (n - 1))", "the same that reach each other by the relay alone"
    ),
    "pairs_unreachable_ratio": Metric(
        "1",
        "none / (n (n - 1))",
        "the same that do not, but for answers while a binding lasts",
    ),
}
PUNCHING = {
    "punching_count": Metric(
        "1",
        "opened + failed",
        "pairs of phones, both behind NATs, that tried to open a direct path and came to an end",
    ),
    "punching_success_ratio": Metric(
        "1", "opened / (opened + failed)", "of those pairs, those that succeeded"
    ),
    "punching_ms_p50": Metric(
        "ms",
        "p50(t_open - t_first)",
        "from a pair's first direct datagram that did not pass until the NATs were open, of those "
        "that succeeded: median",
    ),
    "punching_ms_p90": Metric("ms", "p90(t_open - t_first)", "the same: 90th percentile"),
}
RELAY = {
    "relay_drop_ratio": Metric(
        "1",
        "refused / (passed + refused)",
        "of the datagrams that came to the relay and are no longer in it, those that found no room "
        "(`relay_full`)",
    ),
    "relay_delay_ms_mean": Metric(
        "ms",
        "sum(t_out - t_in) / passed",
        "how long a datagram was in the relay's queues: mean",
    ),
}
METRICS = {**PATHS, **PAIRS, **PUNCHING, **RELAY}
RATIOS = {
    "relayed_datagram_ratio": "delivered_datagrams",
    "relayed_transaction_ratio": "stored_transactions",
    "punching_success_ratio": "punching_count",
    "relay_drop_ratio": "relay_datagrams",
}
QUANTILES = ("punching_ms_p50", "punching_ms_p90")
COUNTS = ("punching_count",)


def names(resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run has: none of networks that limit neither phones nor relay."""
    network = resolved["network"]
    if family_metrics.of(resolved).TRANSACTION is None:
        return ()
    nats = (*PAIRS, *PUNCHING) if "hole_punching" in network else ()
    limits = tuple(RELAY) if "relay" in network else ()
    return (*PATHS, *nats, *limits) if nats or limits else ()


def measure(resolved: Resolved, told: Reach | None) -> dict[str, float]:
    """Return how phones reached each other in one repetition; NaN for what nobody tells."""
    if not names(resolved):
        return {}
    found = dict.fromkeys(METRICS, math.nan)
    if told is None:
        return found
    delivered, stored = told["delivered"], told["stored"]
    found |= {
        "relayed_datagram_ratio": ratio(delivered["relayed"], delivered["all"]),
        "delivered_datagrams": float(delivered["all"]),
        "relayed_transaction_ratio": ratio(stored["relayed"], stored["all"]),
        "stored_transactions": float(stored["all"]),
        **dict(zip(PAIRS, told["pairs"] or (), strict=bool(told["pairs"]))),
    }
    if told["punching"] is not None:
        found |= _punching(told["punching"])
    if told["relay"] is not None:
        found |= _relay(told["relay"])
    return found


def _punching(told: Punching) -> dict[str, float]:
    ended = told["opened"] + told["failed"]
    return {
        "punching_count": float(ended),
        "punching_success_ratio": ratio(told["opened"], ended),
        "punching_ms_p50": _milliseconds(told["setup_p50_s"]),
        "punching_ms_p90": _milliseconds(told["setup_p90_s"]),
    }


def _relay(told: RelayOutput) -> dict[str, float]:
    offered = told["passed"] + told["refused"]
    return {
        "relay_drop_ratio": ratio(told["refused"], offered),
        "relay_datagrams": float(offered),
        "relay_delay_ms_mean": 1e3 * ratio(told["held_s"], told["passed"]),
    }


def _milliseconds(seconds: float | None) -> float:
    return math.nan if seconds is None else 1e3 * seconds
