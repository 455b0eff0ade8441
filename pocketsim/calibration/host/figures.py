"""What one repetition came to, read off its events: of a real trade and of a simulated one alike.

After a warm-up, proposals of `proposed_s` seconds count, and have until `drained_s` later to come
back; proposing goes on meanwhile at both, so that neither drains for free.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.trace.columns import Columns, percentile, ratio, times_by_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa


@dataclass(frozen=True)
class Figures:
    """Counts of proposals, round trips (T3 - T1, s), and shares; NaN for what nothing defines.

    Round trips are without the relay's delay. `store_rate_per_s` is of what was stored within the
    time of proposing, over that time. `proposal_bytes` and `answer_bytes` are medians of blocks as
    they travel.
    """

    sent_count: int
    stored_count: int
    rtt_p50_s: float
    rtt_p95_s: float
    store_rate_per_s: float
    success_ratio: float
    proposal_bytes: float
    answer_bytes: float

    def as_json(self) -> dict[str, Any]:
        """Return what JSON can hold, None where nothing defines a value."""
        told = asdict(self)
        return {key: None if math.isnan(value) else value for key, value in told.items()}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Figures:
        """Return what `as_json` wrote."""
        known: dict[str, Any] = {
            key: math.nan if value is None else value for key, value in table.items()
        }
        return cls(**known)


@dataclass(frozen=True)
class Judged:
    """What counts of a trade: proposals of `proposed_s`, stored until `drained_s` later.

    They begin `warm_up_s` after the first. A relay delays each passage of the trade over `carrier`
    by `passage_s`.
    """

    proposed_s: float
    drained_s: float
    carrier: str
    passage_s: float = 0.0
    warm_up_s: float = 0.0


def of(events: pa.Table, judged: Judged) -> Figures:
    """Return the figures of one repetition of a trade, from the events of its proposer."""
    part = Columns.of(events)
    sent, stored = part.of_kind("send"), part.of_kind("store")
    from_s = float(sent.time_s.min(initial=math.inf)) + judged.warm_up_s
    until_s = from_s + judged.proposed_s
    sent = sent.where((from_s <= sent.time_s) & (sent.time_s <= until_s))
    stored = stored.where(stored.time_s <= until_s + judged.drained_s)
    in_time = int(np.count_nonzero((from_s <= stored.time_s) & (stored.time_s <= until_s)))
    stored = stored.where(np.isin(stored.message, sent.message))
    rtt_s = stored.time_s - times_by_message(sent, stored)
    # The same search finds a proposal's size.
    proposed_bytes = times_by_message(replace(sent, time_s=sent.size_bytes), stored)
    crossed = passages(judged.carrier, proposed_bytes, stored.size_bytes)
    net_s = rtt_s - judged.passage_s * crossed
    return Figures(
        sent_count=int(sent.time_s.size),
        stored_count=int(stored.time_s.size),
        rtt_p50_s=percentile(net_s, 50),
        rtt_p95_s=percentile(net_s, 95),
        store_rate_per_s=in_time / judged.proposed_s,
        success_ratio=ratio(stored.time_s.size, sent.time_s.size),
        proposal_bytes=percentile(sent.size_bytes, 50),
        answer_bytes=percentile(stored.size_bytes, 50),
    )


def middle(values: Iterable[float]) -> float:
    """Return the median of those that something defines; NaN of none."""
    known = [value for value in values if not math.isnan(value)]
    return median(known) if known else math.nan


def passages(carrier: str, proposal_bytes: Any, answer_bytes: Any) -> Any:
    """Return how often a round trip crosses the link one way or the other, without losses.

    Sizes are numbers or arrays, in bytes. A datagram or a stream each way; of a new QUIC connection
    the handshake's flight to and fro before (RFC 9001, figure 5); of TFTP a request and every block
    of 512 bytes or less with an acknowledgement each, but for that of the last block, which nobody
    waits for (RFC 1350). A test holds all four against the simulator.
    """
    if carrier == "tftp":
        blocks = proposal_bytes // _BLOCK_BYTES + 1 + answer_bytes // _BLOCK_BYTES + 1
        return 2 * blocks + 2
    return _PASSAGES[carrier]


_PASSAGES = {"udp": 2, "quic_keep": 2, "quic_reconnect": 4}
_BLOCK_BYTES = 512  # of TFTP
