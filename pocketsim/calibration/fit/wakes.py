"""What waking the thread that receives takes, apart from the `recvfrom` that it does then.

A report that has timed datagrams between two cores (`udp_wake_up`) tells it: from the call of
`sendto` until the other thread has read, less what sending takes where nobody sleeps and less the
reading. So a datagram's sendto, wake-up and recvfrom add up to its passage. Without a network the
sender's call does the waking, which is in none of its costs: from a network, the receiver's kernel
does it. What does not live here: reports without that kernel, whose `udp_receive` has the wake-up
that `wake_up_latency` timed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from pocketsim.calibration.fit.costs import ERROR_DIGITS, Priced, cost, named, price, rounded
from pocketsim.calibration.fit.kernels import SOURCES, WAKE
from pocketsim.calibration.fit.looks import Look, cases, course, estimate_of, estimates
from pocketsim.calibration.fit.samples import Sigma, execution_sigma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.probe_report import Measurement, Report


def apart(reports: Sequence[Report], cores: int) -> dict[str, Priced]:
    """Return the prices of `udp_receive` alone and of `udp_wake`; none unless all reports have it.

    Of some reports with it and some without, a mean would have half a wake-up in `udp_receive`.
    None either where sending and reading take all of the passage: nothing is left to be apart.
    """
    looks = [found for report in reports if (found := _look(report))]
    received = price(APART["udp_receive"], reports, cores)
    if received is None or len(looks) < len(reports):
        return {}
    wake = _wake(looks, reports)
    return {"udp_receive": received, "udp_wake": wake} if wake.cost.wait else {}


def rested(report: Report) -> Measurement | None:
    """Return the case of `udp_wake_up` that prices it; None where the report has not measured it.

    Of a block of the theses, after as long a rest as between messages at 100/s.
    """
    found = cases(report, WAKE.kernel, "latency_s", WAKE.variant)
    return next((case for case in found if case.parameters.get("bytes") == PRICED_BYTES), None)


def _look(report: Report) -> Look | None:
    """Return what a report says of sleeping, being woken and reading together."""
    case = rested(report)
    cpu, sent = (estimates(report, name, "cpu_s") for name in ("udp_receive", "udp_send"))
    if case is None or not cpu or not sent:
        return None
    latency = estimate_of(case, "latency_s", report)
    nearest = min(sent, key=lambda size: abs(size - PRICED_BYTES))
    return Look(
        report.digest,
        (latency,),
        course(cpu),
        latency=latency,
        sent=sent[nearest],
        read_bytes=PRICED_BYTES,
    )


def _wake(looks: Sequence[Look], reports: Sequence[Report]) -> Priced:
    """Return the wait of `looks` alone: its error is that of the whole, which has little else."""
    text = f"{named(reports)}; kernel {WAKE.kernel} at {PRICED_BYTES:g} bytes: {WAKE.why}"
    whole = cost(looks, 1, text)
    latencies = [found.latency for found in looks if found.latency]
    latency_s = sum(each.mean for each in latencies) / len(latencies)
    sigma = of_a_part(execution_sigma(latencies), latency_s / (whole.cost.wait or math.inf))
    alone = {
        "cpu": 0.0,
        "per_byte": 0.0,
        "per_byte_standard_error": None,
        "correlation": None,
        "spread_sigma": rounded(sigma.value, ERROR_DIGITS),
        "spread_sigma_standard_error": rounded(sigma.standard_error, ERROR_DIGITS) or None,
    }
    return replace(whole, cost=whole.cost.model_copy(update=alone))


def of_a_part(sigma: Sigma, ratio: float) -> Sigma:
    """Return the sigma of a part of which the whole, of `sigma`, is `ratio` times as much.

    The part has all of the whole's variance: a lognormal of as many seconds of deviation. Its error
    is the whole's by the derivative of that.
    """
    variance = ratio**2 * math.expm1(sigma.value**2)  # squared coefficient of variation
    value = math.sqrt(math.log1p(variance))
    if not value:
        return Sigma(0.0, 0.0)
    slope = ratio**2 * sigma.value * math.exp(sigma.value**2) / (value * (1 + variance))
    return Sigma(value, slope * sigma.standard_error)


PRICED_BYTES = 668.0
"""Of the datagram whose passage prices a wake-up: a block of the theses."""
APART = {
    "udp_receive": replace(
        SOURCES["udp_receive"], waits="", why="one recvfrom of what is there, by payload size"
    ),
    "udp_wake": WAKE,
}
"""What prices both where all reports have timed datagrams between two cores."""
