"""Costs of the program that traded, of reports of the device that it ran on.

What a step of the program takes beyond the operations that it asks for is the implementation's: its
bookkeeping, what TFTP takes for a file and a block of it, and what a new connection of QUIC takes
beyond the steps that are priced. The probe times `probe trade` itself, so these costs are measured
where they are used, and stand in place of those that the implementation was described with. What
does not live here: the device's operations (`calibration.fit.calibration`), and what steps take
longer after a rest (`calibration.fit.pace`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.calibration.fit import quic_wakes
from pocketsim.calibration.fit.costs import cost, named, seconds
from pocketsim.calibration.fit.looks import Look, cases, course, estimate_of, estimates
from pocketsim.calibration.fit.samples import Estimate
from pocketsim.calibration.fit.wakes import PRICED_REST_S, near_priced, passage_s, slept_s
from pocketsim.calibration.fit.write import spelt
from pocketsim.sim.devices.implementation import OwnCost, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.sim.devices.implementation import Implementation
    from pocketsim.sim.devices.profile import Profile

    _Known = list[tuple[Report, Estimate]]
    _Told = tuple[str, str, _Known]
    """A step, how its cost came about, and what reports say."""

KERNEL = "trade_bookkeeping"
FILES = "tftp_file"
RECONNECTING = "quic_reconnect_at_pace"


def measured(
    implementation: Implementation, device: Profile, reports: Sequence[Report]
) -> Implementation:
    """Return the implementation with what its steps were measured to take on `device`.

    As it is where not most of the reports tell.
    """
    steps: dict[str, _Told] = {
        name: (step, f"{KERNEL}: {', '.join(quantities)}, less their operations", told)
        for name, (step, quantities) in _COSTS.items()
        if (told := _most(reports, [_beside(report, quantities) for report in reports]))
    }
    files: dict[str, _Told] = {
        name: (step, f"{FILES}: {said}", told)
        for name, (step, part, said) in _FILES.items()
        if (told := _most(reports, [_file_parts(report).get(part) for report in reports]))
    }
    new = _most(reports, [_connecting(report) for report in reports])
    quic: dict[str, _Told] = (
        {"connecting": ("endpoint_setup", f"{RECONNECTING}: {_CONNECTING}", new)} if new else {}
    )
    all_told = {**steps, **files, **quic}
    found = {name: _own(*each, device) for name, each in all_told.items()}
    # That has the endpoint in it, of the kind that this program makes.
    steps_ = {"endpoint_setup": Step(operations={})} if new else {}
    return implementation.model_copy(
        update={
            "own_costs": {**implementation.own_costs, **found},
            "steps": {**implementation.steps, **steps_},
        }
    )


def beside_s(report: Report, quantity: str) -> float:
    """Return what a step of a trade takes beyond its operations, s; 0 if that was not timed."""
    found = _difference(report, quantity)
    return found.mean if found else 0.0


def _own(step: str, said: str, told: _Known, device: Profile) -> OwnCost:
    looks = [Look(report.digest, (one,), course({0.0: one})) for report, one in told]
    whole = cost(looks, 1, f"{named([report for report, _ in told])}; kernel {said}").cost
    return OwnCost.model_validate(
        {
            **spelt(whole),
            "step": step,
            "scales_with": "verify",
            "reference": seconds(device.operations["verify"].cpu),
        }
    )


def _most(reports: Sequence[Report], told: Sequence[Estimate | None]) -> _Known:
    """Return the reports that say that it takes a time, and which; none where they are not most.

    What is left of a long time may be nothing in a report that was disturbed, and what it is less
    may not have been timed: one such among many leaves the others as they are.
    """
    pairs = zip(reports, told, strict=True)
    known = [(report, one) for report, one in pairs if one is not None and one.mean > 0]
    return known if 2 * len(known) > len(told) else []


def _beside(report: Report, quantities: Sequence[str]) -> Estimate | None:
    """Return the mean of quantities; None if one was not timed."""
    told = [found for quantity in quantities if (found := _difference(report, quantity))]
    return _mean(told) if len(told) == len(quantities) else None


def _difference(report: Report, quantity: str) -> Estimate | None:
    """Return what a report says of a small difference of two long times; None if untimed.

    It scatters by what both do, to both sides, and samples below 0 are 0: its median is what it
    is, and no lognormal's. Its error is that of a normal's median, by its quartiles.
    """
    found = cases(report, KERNEL, quantity)
    samples = found[0].quantity(quantity) if found else None
    if samples is None:
        return None
    low, high = np.quantile(samples.values or samples.quantiles or [samples.median], (0.25, 0.75))
    error_s = math.sqrt(math.pi / 2 / samples.count) * float(high - low) / _QUARTILES
    return Estimate(samples.median, error_s, 0.0, samples.count)


def _file_parts(report: Report) -> dict[str, Estimate]:
    """Return what beginning a file takes at one end, and a block of it; nothing if untimed.

    What is left of files of few and of many blocks without the passages of their datagrams: each
    block takes two, and the first a request and its acknowledgement before. Ends that work on one
    file have rested for as long as the other end had it.
    """
    files = {
        blocks: estimate_of(found[0], "file_s", report)
        for blocks in _BLOCKS
        if (
            found := cases(report, FILES, "file_s", (("blocks", blocks), ("rest_s", PRICED_REST_S)))
        )
    }
    if len(files) < len(_BLOCKS):
        return {}
    few, many = (files[blocks] for blocks in _BLOCKS)
    each_s = (many.mean - few.mean) / (_BLOCKS[1] - _BLOCKS[0])
    short_s = passage_s(report, each_s / 2)
    long_s = passage_s(report, slept_s(report, PRICED_REST_S))
    if each_s <= 0 or short_s is None or long_s is None:
        return {}
    block_s = max(0.0, each_s / 2 - short_s)
    opening_s = (few.mean - long_s - 2 * short_s - 2 * block_s) / 2
    slope = math.hypot(few.standard_error, many.standard_error) / (_BLOCKS[1] - _BLOCKS[0])
    return {
        "block": replace(many, mean=block_s, standard_error=slope / 2, rounds=()),
        "opening": replace(few, mean=opening_s, standard_error=few.standard_error / 2, rounds=()),
    }


def _connecting(report: Report) -> Estimate | None:
    """Return what a message over a new connection takes beyond what is priced; None if untold.

    Beyond steps of the handshake, packets, stream and tasks in hot loops, the passages of its
    datagrams, sending those that leave beside it, and waking the tasks at both ends: most of it is
    code that was not run for a while.
    The mean of what it is after each of the rests that were timed.
    """
    steps = [estimates(report, kernel, "cpu_s") for kernel in _CONNECTING_STEPS]
    if not all(steps):
        return None
    count = zip(_CONNECTING_STEPS.values(), steps, strict=True)
    computed_s = math.fsum(times * near_priced(told).mean for times, told in count)
    told = [_connecting_after(report, rest_s, computed_s) for rest_s in _RECONNECT_RESTS_S]
    known = [one for one in told if one]
    if not known:
        return None
    mean = _mean(known)
    return replace(known[0], mean=mean.mean, standard_error=mean.standard_error)


def _connecting_after(report: Report, rest_s: float, computed_s: float) -> Estimate | None:
    """Return what it takes beyond after a rest, without `computed_s`; None if that is untold."""
    timed = cases(report, RECONNECTING, "rtt_s", (("rest_s", rest_s),))
    wakes = quic_wakes.waking(report)
    long_s = passage_s(report, slept_s(report, rest_s))
    short_s = passage_s(report, _BETWEEN_S)
    if not timed or _BETWEEN_S not in wakes or rest_s not in wakes:
        return None
    if long_s is None or short_s is None:
        return None
    wakes_s = wakes[rest_s].mean + 3 * max(0.0, wakes[_BETWEEN_S].mean)
    rtt = estimate_of(timed[0], "rtt_s", report)
    return replace(rtt, mean=rtt.mean - computed_s - long_s - 3 * short_s - wakes_s, rounds=())


def _mean(told: Sequence[Estimate]) -> Estimate:
    """Return the mean of estimates of one kernel, with the samples of the first."""
    mean_s = math.fsum(one.mean for one in told) / len(told)
    error_s = math.hypot(*(one.standard_error for one in told)) / len(told)
    return Estimate(mean_s, error_s, 0.0, told[0].samples)


_COSTS = {
    "proposing": ("command", ("propose_s",)),
    "receiving": ("decode", ("countersign_s", "complete_s")),
}
"""Of each own cost the step that it is part of, and quantities of the kernel, whose mean it is."""
_FILES = {
    "tftp_block": ("file_block", "block", "half of a block more, less its datagrams' passages"),
    "tftp_file": ("file_open", "opening", "half of a file of one block, less that and passages"),
}
"""Of each own cost the step, and the part of a file, with how it is told."""
_BLOCKS = (1.0, 5.0)
_CONNECTING = "its round trip, less steps in hot loops, passages and wake-ups"
_CONNECTING_STEPS = {
    "quic_handshake_start": 1,
    "quic_handshake_respond": 1,
    "quic_handshake_finish": 1,
    "quic_handshake_confirm": 1,
    "quic_packet_seal": 5 + 6,
    "quic_packet_open": 5 + 3,
    "udp_send": 6,
    "quic_stream_open": 1,
    "quic_stream_accept": 1,
    "task_spawn": 2,
}
"""By kernel, how often both ends do it for a message and its answer over a new connection.

Six datagrams that manage the path leave before what the message waits for: of the client a probe
of the MTU and its connection ids, of the server its tickets, a probe, an acknowledgement and an id
that it retires. Three come to the server before the message.
"""
_RECONNECT_RESTS_S = (2e-3, 10e-3)
_QUARTILES = 1.349  # of a normal distribution, in standard deviations apart
_BETWEEN_S = 0.2e-3  # about as long an end of it rests while the other works
