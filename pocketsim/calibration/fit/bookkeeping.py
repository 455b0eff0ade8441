"""What the program that trades takes beside the operations that it asks for, by a report.

Of transactions as in the theses, and of larger ones, where reports have them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.calibration.fit.looks import cases
from pocketsim.calibration.fit.samples import Estimate, mean_estimate

if TYPE_CHECKING:
    from pocketsim.calibration.fit.probe_report import Report

KERNEL = "trade_bookkeeping"


def beside_s(report: Report, quantity: str) -> float:
    """Return what a step of a trade takes beyond its operations, s; 0 if that was not timed."""
    found = beside(report, quantity)
    return found.mean if found else 0.0


def beside(report: Report, quantity: str) -> Estimate | None:
    """Return what a report says of a small difference of two long times; None if untimed.

    It scatters by what both do, to both sides, and samples below 0 are 0: its median is what it
    is, and no lognormal's. Its error is that of a normal's median, by its quartiles.
    """
    return _beside(report, quantity, PAYLOAD_BYTES)


def received(report: Report) -> Estimate | None:
    """Return what a block that came takes, to countersign it or to complete it; None if untimed."""
    return received_by_bytes(report).get(_received_bytes(PAYLOAD_BYTES))


def received_by_bytes(report: Report) -> dict[float, Estimate]:
    """Return the same by how many bytes the block has, as serialised; empty if untimed."""
    found = {}
    for payload_bytes in (PAYLOAD_BYTES, _LARGE_BYTES):
        told = [_beside(report, quantity, payload_bytes) for quantity in _RECEIVED]
        known = [one for one in told if one is not None]
        if len(known) == len(told):
            found[_received_bytes(payload_bytes)] = mean_estimate(known)
    return found


def _received_bytes(payload_bytes: float) -> float:
    return payload_bytes + sum(_BESIDES_PAYLOAD_BYTES) / len(_BESIDES_PAYLOAD_BYTES)


def _beside(report: Report, quantity: str, payload_bytes: float) -> Estimate | None:
    found = cases(report, KERNEL, quantity, (("payload_bytes", payload_bytes),))
    if not found and payload_bytes == PAYLOAD_BYTES:
        found = cases(report, KERNEL, quantity)  # of a probe that has one size
    samples = found[0].quantity(quantity) if found else None
    if samples is None:
        return None
    low, high = np.quantile(samples.values or samples.quantiles or [samples.median], (0.25, 0.75))
    error_s = math.sqrt(math.pi / 2 / samples.count) * float(high - low) / _QUARTILES
    return Estimate(samples.median, error_s, 0.0, samples.count)


PAYLOAD_BYTES = 100.0
"""A transaction of the theses (device_probe/core/src/kernels/trading.rs)."""
_LARGE_BYTES = 1_000.0
_RECEIVED = "countersign_s", "complete_s"
_BESIDES_PAYLOAD_BYTES = 389.0, 541.0
"""Of a proposal and of an answer, as `probe trade` serialises them; an index of one digit."""
_QUARTILES = 1.349  # of a normal distribution, in standard deviations apart
