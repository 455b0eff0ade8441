"""What long transfers achieved: goodput, datagrams lost, and tokens a second (thesis, table I).

Definitions are those of the offline token thesis and its programs. A transfer is timed at its
receiver, from the arrival of its first block until the whole message is there. Signing is timed
from the first signature to the message's hand-over, validating from the message's arrival to the
last verification. What all runs have is in `sim.metrics.trades`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base import token_bytes
from pocketsim.sim.metrics.definition import Metric
from pocketsim.sim.metrics.family_metrics import traced_share
from pocketsim.sim.trace import origin
from pocketsim.sim.trace.columns import ratio, times_by_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import Resolved
    from pocketsim.sim.trace.columns import Columns

    Array = np.ndarray[Any, Any]

TRANSFERS = {
    "goodput_mb_per_s": Metric(
        "MB/s",
        "mean(bytes / (t_whole - t_first_block)) / 10^6",
        "messages of many blocks, each over the time from its first block's arrival until "
        "it is whole: mean",
    ),
    "stored_mb_per_s": Metric(
        "MB/s",
        "bytes of all but the first / (t_last_store - t_first_store) / 10^6",
        "bytes of messages from the second that was stored, over the time since the first",
    ),
    "datagram_loss_ratio": Metric(
        "1",
        "dropped / on_air",
        "of the datagrams put on the air, those that nobody read: dropped on the way, or "
        "in the socket buffer of a phone that went off",
    ),
}
TRANSFER_NAMES = tuple(TRANSFERS)
RATIOS = {"datagram_loss_ratio": "datagrams_on_air"}
_STEPS = {
    "sign": ("t_sent - t_begin", "from the first signature to the hand-over of the message"),
    "receive": (
        "t_whole - t_first_block",
        "from the first block's arrival until the message is whole",
    ),
    "validate": ("t_verified - t_whole", "from the message's arrival to its last verification"),
}
TOKENS = {
    f"token_{step}_{recipients}_rate_per_s": Metric(
        "1/s",
        f"tokens / ({time})",
        f"{meaning}: tokens of {recipients} recipient{'s' * (recipients > 1)}",
    )
    for recipients in (1, 2, 3)
    for step, (time, meaning) in _STEPS.items()
}
TOKEN_NAMES = tuple(TOKENS)


def names(resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run of this protocol family has."""
    if resolved["protocol"]["kind"] == "transfer":
        return TRANSFER_NAMES
    return (*TRANSFER_NAMES, *TOKEN_NAMES)


def measure(part: Columns, output: EngineOutput, resolved: Resolved) -> dict[str, float]:
    """Return the metrics of one repetition; NaN for what it does not define.

    `goodput_mb_per_s` is the mean over transfers of many blocks that arrived;
    `stored_mb_per_s` counts messages from the second that was stored, over the time since the
    first; `datagram_loss_ratio` is the share of the datagrams put on the air that nobody read:
    dropped on the way, or in the socket buffer of a phone that went off. Tokens are counted per
    second, by how many recipients they have. A MB is 10^6 bytes.

    Of a sampled trace `stored_mb_per_s` is scaled up by its share; all else is what the engine
    counted, or a mean over messages, each of which is traced whole or not at all.
    """
    found = {
        "goodput_mb_per_s": _goodput(part),
        "stored_mb_per_s": _stored(part) / traced_share(resolved["output"]),
        **losses(output["counters"]),
    }
    if resolved["protocol"]["kind"] == "token_batch":
        tokens = resolved["rung"]["payload_bytes"] // token_bytes.size(1)
        found |= _token_rates(part, tokens)
    return found


def of_ledger(output: EngineOutput, _resolved: Resolved) -> dict[str, float]:
    """Return what `measure` does, of transfers without events."""
    found = output["ledger"]["transfers"]
    first_s, last_s = found["first_s"], found["last_s"]
    span_s = 0.0 if first_s is None or last_s is None else last_s - first_s
    return {
        "goodput_mb_per_s": ratio(found["bytes_per_s_sum"], found["timed"]) / _BYTES_PER_MB,
        "stored_mb_per_s": ratio(found["later_bytes"] / _BYTES_PER_MB, span_s),
        **losses(output["counters"]),
    }


def _goodput(part: Columns) -> float:
    stored, arrived_s = part.of_kind("store"), _arrival_s(part)
    known = np.isfinite(arrived_s)
    took_s = arrived_s[known] - _first_block_s(part)[known]
    return _mean(stored.size_bytes[known] / took_s) / _BYTES_PER_MB


def _arrival_s(part: Columns) -> Array:
    """Return for each stored message when its transport had it whole; NaN without a first block."""
    stored = part.of_kind("store")
    processed_s = times_by_message(part.of_kind("process"), stored)
    arrived_s = np.where(np.isfinite(processed_s), processed_s, stored.time_s)
    return np.where(np.isfinite(_first_block_s(part)), arrived_s, np.nan)


def _first_block_s(part: Columns) -> Array:
    begun = part.of_kind("begin")
    return times_by_message(begun.where(begun.node != origin(begun.message)), part.of_kind("store"))


def _stored(part: Columns) -> float:
    stored = part.of_kind("store")
    span_s = float(np.ptp(stored.time_s)) if stored.time_s.size else 0.0
    stored_mb = float(stored.size_bytes[1:].sum(dtype="int64")) / _BYTES_PER_MB
    return stored_mb / span_s if span_s > 0 else math.nan


def losses(counters: Mapping[str, int]) -> dict[str, float]:
    """Return the share of the datagrams put on the air that nobody read, NaN of none, and both."""
    lost = counters.get("datagrams_dropped", 0) + counters.get("datagrams_unread", 0)
    on_air = counters.get("datagrams_sent", 0)
    return {"datagram_loss_ratio": ratio(lost, on_air), "datagrams_on_air": float(on_air)}


def _token_rates(part: Columns, tokens: int) -> dict[str, float]:
    stored, begun, sent = part.of_kind("store"), part.of_kind("begin"), part.of_kind("send")
    signed_s = sent.time_s - times_by_message(
        begun.where(begun.node == origin(begun.message)), sent
    )
    arrived_s = _arrival_s(part)
    steps = {
        "sign": (sent, signed_s),
        "receive": (stored, arrived_s - _first_block_s(part)),
        "validate": (stored, stored.time_s - arrived_s),
    }
    found = {}
    for step, (rows, took_s) in steps.items():
        recipients = token_bytes.recipients(rows.size_bytes / tokens)
        for count in (1, 2, 3):
            own = took_s[recipients == count]
            found[f"token_{step}_{count}_rate_per_s"] = _mean(tokens / own[own > 0])
    return found


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan


_BYTES_PER_MB = 1e6
