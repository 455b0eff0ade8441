"""What a trade takes at either end when others wait, beyond what its steps do one at a time.

`quic_trades_at_once` is two ends of `probe trade` that propose as fast as they can, and tells the
core time of a trade at each. Beyond its steps at the pace of what is queued, packets and calls of
sockets, the end that countersigns takes something for tasks that are at work already; that is of
every datagram. The end that proposes does so on a thread of its own, which takes the core from
those that take answers, and allocates what they free: what it takes beyond the other is of every
proposal, by QUIC as by others, of which no kernel tells it. What does not live here: what waking
takes (`calibration.fit.quic_wakes`), and steps one at a time (`calibration.fit.bookkeeping`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from pocketsim.calibration.fit import bookkeeping, pace
from pocketsim.calibration.fit.by_rest import Part
from pocketsim.calibration.fit.looks import LEAST_S, cases, estimate_of, estimates
from pocketsim.calibration.fit.rests import UNRESTED_S, Rested, pooled
from pocketsim.calibration.fit.wakes import left, near_priced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.calibration.fit.samples import Estimate

KERNEL = "quic_trades_at_once"


def of_a_datagram(report: Report) -> Estimate | None:
    """Return what a datagram that has waited takes the tasks of an end; None if untold.

    Never less than next to nothing: what is left of a long time may be, in a report.
    """
    found = _beyond(report, "countersigner_cpu_s", ())
    return found and replace(found, mean=max(LEAST_S, found.mean))


def proposing(reports: Sequence[Report]) -> Part:
    """Return what proposing takes beside its operations, one at a time and when others wait.

    Nothing of the second where not all tell it.
    """
    told = [bookkeeping.beside(report, "propose_s") for report in reports]
    said = f"{bookkeeping.KERNEL}: propose_s, less their operations"
    over = (
        f"{said}; without a rest what {KERNEL} takes who proposes beyond who countersigns, else as"
        f" much longer as {pace.KERNEL} takes"
    )
    by_rest = [_proposing(report) for report in reports]
    return Part(told, said, pooled(by_rest, reports, f"kernel {over}"))


def _proposing(report: Report) -> dict[float, Rested]:
    alone, datagram = bookkeeping.beside(report, "propose_s"), of_a_datagram(report)
    whole = _beyond(report, "proposer_cpu_s", ("task_spawn", "task_spawn"))
    if alone is None or datagram is None or whole is None or alone.mean <= 0:
        return {}
    queued = Rested(
        0.0,
        max(alone.mean, whole.mean - datagram.mean),
        math.hypot(whole.standard_error, datagram.standard_error),
        alone.mean,
        alone.standard_error,
        whole.samples,
    )
    # Who has rested at all waits for nobody, and is as cold as for any step.
    rested = {
        asked_s: replace(
            one,
            taken_s=one.ratio * alone.mean,
            taken_error_s=one.ratio * alone.mean * one.taken_error_s / one.taken_s,
            priced_s=alone.mean,
            priced_error_s=0.0,
        )
        for asked_s, one in pace.by_rest(report).items()
        if one.rest_s > 0
    }
    return {UNRESTED_S: queued, **rested}


def _beyond(report: Report, quantity: str, calls: Sequence[str]) -> Estimate | None:
    """Return the core time of an end beyond what is priced of it; None if something is untold.

    `calls` are kernels of what it does besides what both do.
    """
    parameters = (("payload_bytes", bookkeeping.PAYLOAD_BYTES), ("trades", _TRADES))
    found = cases(report, KERNEL, quantity, parameters)
    steps_s = pace.queued_s(report)
    calls_s = [near_s(report, kernel) for kernel in (*_COMPUTED, *calls)]
    if not found or steps_s is None or None in calls_s:
        return None
    taken_s = math.fsum([steps_s, *filter(None, calls_s)])
    whole = estimate_of(found[0], quantity, report)
    return left(whole, 1.0, taken_s, 0.0)


def near_s(report: Report, kernel: str) -> float | None:
    """Return what a kernel takes at the size nearest to a block; None if it was not timed."""
    told = estimates(report, kernel, "cpu_s")
    return near_priced(told).mean if told else None


_COMPUTED = (
    "quic_packet_seal",
    "quic_packet_open",
    "quic_stream_accept",
    "udp_send",
    "udp_receive",
)
"""What an end computes and calls for a message and its answer, by kernel; opening a stream is as
nothing beside accepting one. The engine has tasks at the end that proposes: one sends, one waits
(`transport/quic/mod.rs` and `inbox.rs` of sim/protocols)."""
_TRADES = 256.0
