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

import numpy as np

from pocketsim.calibration.fit.costs import ERROR_DIGITS, Priced, cost, named, price, rounded
from pocketsim.calibration.fit.kernels import SOURCES, WAKE
from pocketsim.calibration.fit.looks import (
    LEAST_S,
    Look,
    cases,
    course,
    estimate_of,
    estimates,
    less,
)
from pocketsim.calibration.fit.rests import Rested, pooled
from pocketsim.calibration.fit.samples import Sigma, execution_sigma

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.probe_report import Measurement, Report
    from pocketsim.calibration.fit.samples import Estimate
    from pocketsim.sim.devices.profile import AfterRest


def apart(reports: Sequence[Report], cores: int) -> dict[str, Priced]:
    """Return the prices of `udp_receive` alone and of `udp_wake`; none unless all reports have it.

    Of some reports with it and some without, a mean would have half a wake-up in `udp_receive`.
    None either where sending and reading take all of the passage: nothing is left to be apart.
    """
    told = [found for report in reports if (found := _woken(report))]
    received = price(APART["udp_receive"], reports, cores)
    if received is None or len(told) < len(reports) or not any(one.wait.mean for one in told):
        return {}
    return {"udp_receive": received, "udp_wake": _wake(told, reports)}


def after(reports: Sequence[Report]) -> list[AfterRest]:
    """Return how many times as long as `udp_wake` waking takes, by rest.

    Of every rest that all reports have timed, if there are two: the ratio of waits. The thread has
    rested from when it answered: for the rest, and the answer's way.
    """
    said = (
        f"kernel {WAKE.kernel} at {PRICED_BYTES:g} bytes: its wait, over that after "
        f"{1000 * PRICED_REST_S:g} ms"
    )
    found = pooled([_by_rest(report) for report in reports], reports, said)
    return found if len(found) > 1 else []  # one is what is priced


def passage_s(report: Report, after_s: float) -> float | None:
    """Return from the call of a `sendto` until a thread that has rested has read, s.

    Between two rests that were timed, along a line over the logarithm of the rest, and beyond them
    that of the nearest; None where none was timed.
    """
    known = sorted(
        (rested_s(report, asked_s), estimate_of(case, "latency_s", report).mean)
        for asked_s in by_asked_s(report, WAKE.kernel, "latency_s")
        if (case := rested(report, asked_s)) and rested_s(report, asked_s) > 0
    )
    if not known:
        return None
    rests_s, passages_s = zip(*known, strict=True)
    return float(np.interp(math.log(max(after_s, rests_s[0])), np.log(rests_s), passages_s))


def rested_s(report: Report, asked_s: float) -> float:
    """Return for how long who was asked to rest between two messages has rested, s; 0 if unknown.

    From when it has answered: for the answer's way, too.
    """
    return slept_s(report, asked_s) + _answer_s(report, asked_s)


def slept_s(report: Report, asked_s: float) -> float:
    """Return how long a sleep takes, s: longer than it was asked for, as reports have timed.

    Between lengths that were timed along a line over their logarithm, beyond them by as much as at
    the nearest.
    """
    told = sorted(
        (case.parameters["requested_s"], samples.median)
        for case in cases(report, "sleep_overshoot", "overshoot_s")
        if (samples := case.quantity("overshoot_s"))
    )
    if asked_s <= 0 or not told:
        return max(0.0, asked_s)
    asked, longer = zip(*told, strict=True)
    return asked_s + float(np.interp(math.log(asked_s), np.log(asked), longer))


def _answer_s(report: Report, asked_s: float) -> float:
    """Return how long an answer to who has rested for so long was under way, s; 0 if unknown."""
    case = rested(report, asked_s)
    round_trip = case.quantity("rtt_s") if case else None
    if case is None or round_trip is None:
        return 0.0
    return max(0.0, round_trip.median - estimate_of(case, "latency_s", report).mean)


@dataclass(frozen=True)
class WakingCall:
    """After a rest, how much longer a `sendto` takes that wakes somebody; all in s."""

    rest_s: float
    longer_s: float
    standard_error_s: float
    """Of the samples, or by how much reports differ, whichever is more."""


def waking_calls(reports: Sequence[Report]) -> list[WakingCall]:
    """Return what waking adds to a call, by rest, ascending.

    Means over reports, of the rests that all have timed; empty where they do not tell.
    """
    told = [_calls_by_rest(report) for report in reports]
    common = sorted(set.intersection(*map(set, told))) if told else []
    found = []
    for asked_s in common:
        rests_s, longer_s, errors_s = np.array([one[asked_s] for one in told]).T
        if rests_s.mean() <= 0:
            continue  # nobody tells for how long
        differ = longer_s.var(ddof=1) if longer_s.size > 1 else 0.0
        error_s = math.sqrt(max(differ, np.mean(errors_s**2)) / longer_s.size)
        found.append(WakingCall(float(rests_s.mean()), float(longer_s.mean()), error_s))
    return found


def _calls_by_rest(report: Report) -> dict[float, tuple[float, float, float]]:
    """Return a rest, what waking adds to a call and its error, by how long it was asked to rest.

    All in s.
    """
    sent = estimates(report, "udp_send", "cpu_s")
    found = {}
    for asked_s in by_asked_s(report, WAKE.kernel, "latency_s"):
        case = rested(report, asked_s)
        if not sent or case is None or case.quantity("sent_s") is None:
            continue
        call, alone = estimate_of(case, "sent_s", report), near_priced(sent)
        error_s = math.hypot(call.standard_error, alone.standard_error)
        found[asked_s] = rested_s(report, asked_s), max(0.0, call.mean - alone.mean), error_s
    return found


def _by_rest(report: Report) -> dict[float, Rested]:
    """Return what a report tells by how long it was asked to rest, s."""
    priced = _woken(report)
    if priced is None or not priced.wait.mean:
        return {}
    found = {}
    for asked_s in by_asked_s(report, WAKE.kernel, "latency_s"):
        case, woken = rested(report, asked_s), _woken(report, asked_s)
        round_trip = case.quantity("rtt_s") if case else None
        if woken is None or round_trip is None or not woken.wait.mean:
            continue
        # What is taken away is the same, whatever the rest.
        errors_s = [one.passage.standard_error for one in (woken, priced)]
        if asked_s == PRICED_REST_S:
            errors_s = [0.0, 0.0]
        found[asked_s] = Rested(
            rested_s(report, asked_s),
            woken.wait.mean,
            errors_s[0],
            priced.wait.mean,
            errors_s[1],
            round_trip.count,
        )
    return found


def by_asked_s(
    report: Report, kernel: str, quantity: str, variant: Sequence[tuple[str, float]] = ()
) -> dict[float, Measurement]:
    """Return the cases of `kernel` by for how long it was asked to rest, s; of one size each.

    `variant` are the parameters that they must have besides.
    """
    asked = {
        case.parameters.get("rest_s", 0.0)
        for case in report.document.measurements
        if case.kernel == kernel
    }
    told = {
        rest_s: cases(report, kernel, quantity, (("rest_s", rest_s), *variant)) for rest_s in asked
    }
    return {rest_s: found[0] for rest_s, found in sorted(told.items()) if found}


def rested(report: Report, rest_s: float | None = None) -> Measurement | None:
    """Return the case of `udp_wake_up` that prices it; None where the report has not measured it.

    Of a block of the theses, after as long a rest as between messages at 100/s, or `rest_s`.
    """
    variant = WAKE.variant if rest_s is None else (("rest_s", rest_s),)
    found = cases(report, WAKE.kernel, "latency_s", variant)
    return next((case for case in found if case.parameters.get("bytes") == PRICED_BYTES), None)


def near_priced(told: Mapping[float, Estimate]) -> Estimate:
    """Return, of estimates by size in bytes, that of the size nearest to what prices a wake-up."""
    return told[min(told, key=lambda size: abs(size - PRICED_BYTES))]


@dataclass(frozen=True)
class _Woken:
    """Of one report: a passage, and the wait for the wake-up that is in it, 0 at least."""

    called: str
    passage: Estimate
    wait: Estimate


def _woken(report: Report, rest_s: float | None = None) -> _Woken | None:
    """Return what a report says of waking who has rested for `rest_s`, or as priced; None if not.

    Round by round: what is slower in one round is slower in all three that are taken apart.
    """
    case = rested(report, rest_s)
    told = [estimates(report, kernel, "cpu_s") for kernel in _CALLS]
    if case is None or not all(told):
        return None
    passage = wait = estimate_of(case, "latency_s", report)
    for each in told:
        wait = less(wait, near_priced(each), 1.0)
    if wait.mean <= LEAST_S:
        wait = replace(wait, mean=0.0, rounds=())
    return _Woken(report.digest, passage, wait)


def _wake(told: Sequence[_Woken], reports: Sequence[Report]) -> Priced:
    """Return the price of the waits, which scatter by as much as the passages do, in seconds."""
    text = f"{named(reports)}; kernel {WAKE.kernel} at {PRICED_BYTES:g} bytes: {WAKE.why}"
    looks = [Look(one.called, (one.passage,), course({0.0: one.wait})) for one in told]
    whole = cost(looks, 1, text)
    passages = [one.passage for one in told]
    passage_s = sum(each.mean for each in passages) / len(passages)
    sigma = of_a_part(execution_sigma(passages), passage_s / whole.cost.cpu)
    alone = {
        "cpu": 0.0,
        "wait": whole.cost.cpu,
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


def left(whole: Estimate, share: float, taken_s: float, error_s: float) -> Estimate:
    """Return what is left of a share of a whole, in seconds; it has all of the whole's deviation.

    `error_s` is the standard error of what is taken; those of prices that it has are left out.
    """
    left_s = share * whole.mean - taken_s
    sigma = whole.sample_sigma
    if left_s > 0:
        sigma = of_a_part(Sigma(whole.sample_sigma, 0.0), share * whole.mean / left_s).value
    rounds = tuple(share * one - taken_s for one in whole.rounds)
    return replace(
        whole,
        mean=left_s,
        standard_error=math.hypot(share * whole.standard_error, error_s),
        own_error=share * whole.own_error,
        clock_error=share * whole.clock_error,
        sample_sigma=sigma,
        rounds=rounds if min(rounds, default=0.0) > 0 else (),
    )


_CALLS = "udp_send", "udp_receive"
"""Kernels of the calls with which a passage begins and ends."""
PRICED_REST_S = dict(WAKE.variant)["rest_s"]
PRICED_BYTES = 668.0
"""Of the datagram whose passage prices a wake-up: a block of the theses."""
APART = {
    "udp_receive": replace(
        SOURCES["udp_receive"], waits="", why="one recvfrom of what is there, by payload size"
    ),
    "udp_wake": WAKE,
}
"""What prices both where all reports have timed datagrams between two cores."""
