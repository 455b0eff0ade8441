"""What the program that trades takes beside the operations that it asks for, by a report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.calibration.fit.looks import cases
from pocketsim.calibration.fit.samples import Estimate

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
    found = cases(report, KERNEL, quantity)
    samples = found[0].quantity(quantity) if found else None
    if samples is None:
        return None
    low, high = np.quantile(samples.values or samples.quantiles or [samples.median], (0.25, 0.75))
    error_s = math.sqrt(math.pi / 2 / samples.count) * float(high - low) / _QUARTILES
    return Estimate(samples.median, error_s, 0.0, samples.count)


_QUARTILES = 1.349  # of a normal distribution, in standard deviations apart
