"""How many times as long as in hot loops a message's steps take on a thread that was woken for it.

Other kernels repeat one operation on a core that does nothing else. `trade_at_pace` countersigns a
proposal once, after system calls and a rest: caches and branch predictors are cold, and the core's
frequency may be low. Its time over that of its operations in hot loops and of what the program does
beside them (`calibration.fit.bookkeeping`) is the ratio: of whole messages, since steps of a
microsecond are timed too roughly to tell each its own. The time is that of the wall.
What does not live here: how long waking takes (`calibration.fit.wakes`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.calibration.fit import bookkeeping
from pocketsim.calibration.fit.looks import cases, estimate_of, estimates
from pocketsim.calibration.fit.rests import UNRESTED_S, Rested, pooled
from pocketsim.calibration.fit.wakes import PRICED_BYTES, by_asked_s, near_priced, rested_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.calibration.fit.samples import Estimate
    from pocketsim.sim.devices.profile import AfterRest

KERNEL, STEP = "trade_at_pace", "countersign_s"
OPERATIONS = ("block_decode", "ed25519_verify", "ed25519_sign", "sha256", "block_encode")
"""Kernels that time in hot loops what the step computes."""


def after(reports: Sequence[Report]) -> list[AfterRest]:
    """Return the ratio by rest; nothing where not every report has timed it."""
    said = (
        f"kernel {KERNEL}: {STEP}, over its bookkeeping and the core time of "
        f"{', '.join(OPERATIONS)} at {PRICED_BYTES:g} bytes or the size nearest to it"
    )
    return pooled([by_rest(report) for report in reports], reports, said)


class Pace:
    """What computing takes longer after a rest of `rest_s`, as the engine has it.

    The ratio of the report, between rests that it has timed along a line over their logarithm,
    holds for as long as a message's steps take in hot loops; what an end computes beyond that in
    one go is a hot loop itself (`Busy::paced` of the engine's `idle.rs`).
    """

    def __init__(self, report: Report, rest_s: float) -> None:
        told = sorted((one.rest_s, one.ratio) for one in by_rest(report).values() if one.rest_s)
        self._ratio, self._message_s = 1.0, 0.0
        if told and rest_s > 0:
            rests, ratios = zip(*told, strict=True)
            self._ratio = float(np.interp(math.log(rest_s), np.log(rests), ratios))
            self._message_s = _message_s(report)

    def longer_s(self, hot_s: float) -> float:
        """Return by how much longer it takes what takes `hot_s` in hot loops, s."""
        return (self._ratio - 1) * min(hot_s, self._message_s)


def queued_s(report: Report) -> float | None:
    """Return what a step takes when the next message waits, s; None if untold."""
    queued = by_rest(report).get(UNRESTED_S)
    return queued.taken_s if queued else None


def _hot(report: Report) -> list[Estimate]:
    """Return what each operation of the step takes in hot loops; nothing if one was not timed."""
    hot = [estimates(report, kernel, "cpu_s") for kernel in OPERATIONS]
    return [near_priced(each) for each in hot] if all(hot) else []


def _message_s(report: Report) -> float:
    """Return what a step takes in hot loops, with what the program does beside its operations."""
    return math.fsum(one.mean for one in _hot(report)) + bookkeeping.beside_s(report, STEP)


def by_rest(report: Report) -> dict[float, Rested]:
    """Return what a step takes after rests by how long was asked for, s, as the next waits, too."""
    near = _hot(report)
    if not near:
        return {}
    priced_s = _message_s(report)
    hot_error_s = math.hypot(*(one.standard_error for one in near))
    found = {}
    rested = by_asked_s(report, KERNEL, STEP)
    queued = cases(report, KERNEL, STEP, (("queued", 1.0),))
    for asked_s, case in [*((UNRESTED_S, case) for case in queued), *rested.items()]:
        since_s = rested_s(report, asked_s)
        if since_s <= 0 and asked_s != UNRESTED_S:
            continue  # nobody tells for how long
        step = estimate_of(case, STEP, report)
        found[asked_s] = Rested(
            since_s if asked_s >= 0 else 0.0,
            step.mean,
            step.standard_error,
            priced_s,
            hot_error_s,
            step.samples,
        )
    return found
