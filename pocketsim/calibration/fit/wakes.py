"""What waking the thread that receives takes, apart from the `recvfrom` that it does then.

A report that has timed datagrams between two cores (`udp_wake_up`) tells it: from the call of
`sendto` until the other thread has read, less what sending takes where nobody sleeps and less the
reading. So a datagram's sendto, wake-up and recvfrom add up to its passage. Without a network the
sender's call does the waking, which is in none of its costs: from a network, the receiver's kernel
does it. Other rests than the one that prices it tell how many times as long it takes after them
(`after`). What does not live here: reports without that kernel, whose `udp_receive` has the wake-up
that `wake_up_latency` timed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pocketsim.calibration.fit.costs import (
    ERROR_DIGITS,
    Priced,
    cost,
    named,
    price,
    rounded,
    seconds,
)
from pocketsim.calibration.fit.kernels import SOURCES, WAKE
from pocketsim.calibration.fit.looks import Look, cases, course, estimate_of, estimates
from pocketsim.calibration.fit.samples import Sigma, execution_sigma
from pocketsim.sim.devices.profile import WakeAfter

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


def after(reports: Sequence[Report]) -> list[WakeAfter] | None:
    """Return how many times as long as `udp_wake` waking takes, by rest; None where it is not told.

    Of every rest that all reports have timed, beside the one that is priced: the ratio of waits,
    the mean over reports. The thread has rested from when it answered: for the rest, and the
    answer's way. Its error is of the samples, or by how much reports differ, whichever is more.
    """
    told = [_by_rest(report) for report in reports]
    rests = [rest_s for rest_s in told[0] if all(rest_s in each for each in told)] if told else []
    if len(rests) < 2:  # noqa: PLR2004 - the one that is priced, and another
        return None
    found = []
    for asked_s in sorted(rests):
        each = [report[asked_s] for report in told]
        ratio = sum(one.ratio for one in each) / len(each)
        differ = sum((one.ratio - ratio) ** 2 for one in each) / max(1, len(each) - 1)
        sampled = sum(one.error**2 for one in each) / len(each)
        error = math.sqrt(max(differ, sampled) / len(each))
        found.append(
            WakeAfter.model_validate(
                {
                    "rest": seconds(sum(one.rest_s for one in each) / len(each), ERROR_DIGITS),
                    "ratio": rounded(ratio, RATIO_DIGITS),
                    "standard_error": rounded(error, ERROR_DIGITS),
                    "basis": "measured",
                    "samples": sum(one.samples for one in each),
                    "source": f"{named(reports)}; kernel {WAKE.kernel} at {PRICED_BYTES:g} bytes: "
                    f"its wait after {1000 * asked_s:g} ms and the answer's way, over that after "
                    f"{1000 * PRICED_REST_S:g} ms",
                }
            )
        )
    return found


@dataclass(frozen=True)
class _Rested:
    """Of one report: a rest, and how many times as long as after the priced one waking takes."""

    rest_s: float
    ratio: float
    error: float
    samples: int


def _by_rest(report: Report) -> dict[float, _Rested]:
    """Return what a report tells by how long it was asked to rest, s."""
    look = _look(report)
    priced_s = look.wait_s(1) if look else 0.0
    if look is None or not priced_s or look.latency is None:
        return {}
    found = {}
    for rest_s in _asked_s(report):
        case = rested(report, rest_s)
        round_trip = case.quantity("rtt_s") if case else None
        if case is None or round_trip is None:
            continue
        latency = estimate_of(case, "latency_s", report)
        wait_s = replace(look, latency=latency).wait_s(1)
        if not wait_s:
            continue
        errors = latency.standard_error / wait_s, look.latency.standard_error / priced_s
        ratio = wait_s / priced_s
        found[rest_s] = _Rested(
            rest_s + max(0.0, round_trip.median - latency.mean),
            ratio,
            0.0 if rest_s == PRICED_REST_S else ratio * math.hypot(*errors),
            round_trip.count,
        )
    return found


def _asked_s(report: Report) -> set[float]:
    cases_of_it = [case for case in report.document.measurements if case.kernel == WAKE.kernel]
    return {case.parameters.get("rest_s", 0.0) for case in cases_of_it}


def rested(report: Report, rest_s: float | None = None) -> Measurement | None:
    """Return the case of `udp_wake_up` that prices it; None where the report has not measured it.

    Of a block of the theses, after as long a rest as between messages at 100/s, or `rest_s`.
    """
    variant = WAKE.variant if rest_s is None else (("rest_s", rest_s),)
    found = cases(report, WAKE.kernel, "latency_s", variant)
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


PRICED_REST_S = dict(WAKE.variant)["rest_s"]
RATIO_DIGITS = 3
PRICED_BYTES = 668.0
"""Of the datagram whose passage prices a wake-up: a block of the theses."""
APART = {
    "udp_receive": replace(
        SOURCES["udp_receive"], waits="", why="one recvfrom of what is there, by payload size"
    ),
    "udp_wake": WAKE,
}
"""What prices both where all reports have timed datagrams between two cores."""
