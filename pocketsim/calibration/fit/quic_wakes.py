"""What waking the tasks of QUIC takes beside waking a thread, and packets and streams.

An endpoint of QUIC is tasks of a runtime: one reads the socket, one is the connection, one the
stream. Its threads sleep between messages and wake each other. `quic_message_at_pace` times round
trips of messages between two such ends, by how long the proposing thread sleeps before each. What
of them neither computing packets nor passages of datagrams explain is the waking: of the end that
answers, which has rested for as long, and of the one that proposed, which has rested for half a
round trip; that counts as the shortest rest that was timed. Taken as core time: the kernel's own
core time of both ends is more than that, as threads go back to sleep when the message has gone.
That part is in no cost.

A datagram whose tasks are at work already takes them something, too (`calibration.fit.at_once`).
That counts as what waking takes without a rest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.calibration.fit import at_once
from pocketsim.calibration.fit.at_once import near_s
from pocketsim.calibration.fit.costs import cost, named
from pocketsim.calibration.fit.looks import Look, course, estimate_of
from pocketsim.calibration.fit.rests import Rested, pooled
from pocketsim.calibration.fit.wakes import PRICED_REST_S, by_asked_s, left, passage_s, slept_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.costs import Priced
    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.calibration.fit.samples import Estimate
    from pocketsim.sim.devices.profile import AfterRest

KERNEL = "quic_message_at_pace"


def price(reports: Sequence[Report]) -> Priced | None:
    """Return the price of `quic_wake`; None where not every report tells it, or it is nothing."""
    told = [waking(report).get(PRICED_REST_S) for report in reports]
    known = [one for one in told if one is not None and one.mean > 0]
    if not known or len(known) < len(reports):
        return None
    looks = [
        Look(report.digest, (one,), course({0.0: one}))
        for report, one in zip(reports, known, strict=True)
    ]
    return cost(looks, 1, f"{named(reports)}; kernel {KERNEL} after {_ASKED}: {WHY}")


def after(reports: Sequence[Report]) -> list[AfterRest]:
    """Return how many times as long as `quic_wake` it takes, by rest."""
    told = [_ratios(report) for report in reports]
    return pooled(told, reports, f"kernel {KERNEL}: the same over that after {_ASKED}")


def _ratios(report: Report) -> dict[float, Rested]:
    waits, queued = waking(report), at_once.of_a_datagram(report)
    priced = waits.get(PRICED_REST_S)
    if priced is None or priced.mean <= 0:
        return {}
    found = {}
    for rest_s, wait in {**({0.0: queued} if queued else {}), **waits}.items():
        errors_s = [wait.standard_error, priced.standard_error]
        if rest_s == PRICED_REST_S:
            errors_s = [0.0, 0.0]
        if wait.mean > 0:
            found[rest_s] = Rested(
                slept_s(report, rest_s),
                wait.mean,
                errors_s[0],
                priced.mean,
                errors_s[1],
                wait.samples,
            )
    return found


def waking(report: Report) -> dict[float, Estimate]:
    """Return what waking an end takes by how long the proposing thread was asked to sleep, s."""
    trips = {
        asked_s: estimate_of(case, "rtt_s", report)
        for asked_s, case in by_asked_s(report, KERNEL, "rtt_s").items()
    }
    computed_s = _computed_s(report)
    passages_s = {rest_s: passage_s(report, slept_s(report, rest_s)) for rest_s in trips}
    if not trips or computed_s is None or None in passages_s.values():
        return {}
    least_s = min(trips)
    short = trips[least_s]
    # Both ends have rested for little, and share what is left.
    other_s = max(0.0, (short.mean - computed_s) / 2 - (passages_s[least_s] or 0.0))
    found = {least_s: left(short, 0.5, short.mean / 2 - other_s, 0.0)}
    for rest_s, trip in trips.items():
        if rest_s != least_s:
            taken_s = computed_s + (passages_s[rest_s] or 0.0)
            taken_s += (passages_s[least_s] or 0.0) + other_s
            found[rest_s] = left(trip, 1.0, taken_s, short.standard_error / 2)
    return found


def _computed_s(report: Report) -> float | None:
    """Return the core time of packets and streams of a message and its answer; None if unknown."""
    found = []
    for kernel, count in _COMPUTED.items():
        each_s = near_s(report, kernel)
        if each_s is None:
            return None
        found.append(count * each_s)
    return math.fsum(found)


WHY = (
    "what its round trips take beyond packets, streams, a task and the passages of two datagrams"
    " (udp_wake_up), for the end that has rested"
)
_ASKED = f"{1000 * PRICED_REST_S:g} ms"
_COMPUTED = {
    "quic_packet_seal": 2,
    "quic_packet_open": 2,
    "quic_stream_open": 1,
    "quic_stream_accept": 1,
    "task_spawn": 1,
}
"""What both ends compute for a message and its answer, by kernel."""
