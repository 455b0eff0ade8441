"""What a trade over a new connection of QUIC takes beyond the steps that are priced.

Most of it is code that was not run for a while, before the first datagram leaves: a runtime, an
endpoint and a connection for each message. The rest is what blocks take longer right after a
handshake, and what the listener does for a newcomer.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from pocketsim.calibration.fit import bookkeeping, pace, quic_wakes
from pocketsim.calibration.fit.by_rest import part as by_rest_part
from pocketsim.calibration.fit.looks import cases, estimate_of, estimates
from pocketsim.calibration.fit.wakes import left, near_priced, passage_s, slept_s

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.by_rest import Part
    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.calibration.fit.samples import Estimate

KERNEL = "quic_reconnect_at_pace"
SAID = "its trade, less steps at their pace, passages and wake-ups"


def part(reports: Sequence[Report]) -> Part | None:
    """Return what a trade over a new connection takes beyond what is priced; None if untold.

    Beyond steps of the handshake and of blocks at their pace, bookkeeping, packets, stream and
    tasks, the passages of its datagrams, sending those that leave beside it, and waking the tasks
    at both ends.
    """
    by_rest = [_beyond(report) for report in reports]
    return by_rest_part(reports, by_rest, f"{KERNEL}: {SAID}", slept_s)


def _beyond(report: Report) -> dict[float, Estimate]:
    """Return what it is by how long the dialler was asked to sleep before it, s."""
    steps = {kernel: estimates(report, kernel, "cpu_s") for kernel in _DONE}
    if not all(steps.values()):
        return {}
    hot_s = {kernel: near_priced(told).mean for kernel, told in steps.items()}
    told = {rest_s: _after(report, rest_s, hot_s) for rest_s in _RESTS_S}
    return {rest_s: one for rest_s, one in told.items() if one and one.mean > 0}


def _after(report: Report, rest_s: float, hot_s: Mapping[str, float]) -> Estimate | None:
    """Return what it takes beyond after a rest; None if that is untold."""
    asked = (("payload_bytes", bookkeeping.PAYLOAD_BYTES), ("rest_s", rest_s))
    timed = cases(report, KERNEL, "rtt_s", asked)
    received = bookkeeping.received(report)
    wakes = quic_wakes.waking(report)
    long_s = passage_s(report, slept_s(report, rest_s))
    short_s = passage_s(report, _BETWEEN_S)
    if not timed or received is None or _BETWEEN_S not in wakes or rest_s not in wakes:
        return None
    if long_s is None or short_s is None:
        return None
    wakes_s = wakes[rest_s].mean + 3 * max(0.0, wakes[_BETWEEN_S].mean)
    computed_s = math.fsum(times * hot_s[kernel] for kernel, times in _DONE.items())
    rtt = estimate_of(timed[0], "rtt_s", report)
    taken_s = computed_s + long_s + 3 * short_s + wakes_s + 2 * received.mean
    # Neither end has done any of its steps since the last message.
    rested = pace.Pace(report, slept_s(report, rest_s))
    for turn in _COLD:
        beside_s = received.mean if "block_decode" in turn else 0.0
        taken_s += rested.longer_s(beside_s + math.fsum(hot_s[kernel] for kernel in turn))
    return replace(left(rtt, 1.0, taken_s, 0.0), rounds=())


_COUNTERSIGNED = pace.OPERATIONS
_COMPLETED = "block_decode", "ed25519_verify", "sha256"
_HANDSHAKE = {f"quic_handshake_{step}": 1 for step in ("start", "respond", "finish", "confirm")}
_SENT = {
    "quic_packet_seal": 5 + 6,
    "quic_packet_open": 5 + 3,
    "udp_send": 6,
    "quic_stream_open": 1,
    "quic_stream_accept": 1,
    "task_spawn": 2,
}
"""By kernel, how often both ends do it for a block and its answer over a new connection.

Six datagrams that manage the path leave before what the message waits for: of the client a probe
of the MTU and its connection ids, of the server its tickets, a probe, an acknowledgement and an id
that it retires. Three come to the server before the message.
"""
_DONE = Counter(_HANDSHAKE) + Counter(_SENT) + Counter(_COUNTERSIGNED) + Counter(_COMPLETED)
_COLD = (*((step,) for step in _HANDSHAKE), _COUNTERSIGNED, _COMPLETED)
"""What an end does in one go after it has rested, by kernel."""
_RESTS_S = (2e-3, 10e-3, 0.1)
_BETWEEN_S = 0.2e-3  # about as long an end of it rests while the other works
