"""How many times as long something takes after rests, of several reports.

What does not live here: what it is that takes so long, and how a report tells it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.calibration.fit.costs import ERROR_DIGITS, named, rounded, seconds
from pocketsim.sim.devices.profile import AfterRest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.probe_report import Report


@dataclass(frozen=True)
class Rested:
    """Of one report: a rest in s, and how many times as long as it is priced something takes.

    `priced_s` is the price of that report.
    """

    rest_s: float
    ratio: float
    error: float
    samples: int
    priced_s: float


def pooled(
    told: Sequence[Mapping[float, Rested]], reports: Sequence[Report], said: str
) -> list[AfterRest]:
    """Return for every rest that all reports have timed the ratio of means, rests ascending.

    `told` has one mapping for each of `reports`, by how long it was asked to rest, s; `said` names
    kernel and quotient. What is priced is a mean over reports, and so is, by this ratio, what it
    takes after a rest: a mean of ratios is no such thing, and one report whose price is nearly
    nothing would be all of it. An error is of the samples, or by how much reports differ, whichever
    is more (Cochran, "Sampling Techniques", 1977, section 6.3: residuals of the ratio estimate).
    """
    if not told:
        return []
    found = []
    for asked_s in sorted(set.intersection(*(set(each) for each in told))):
        each = [report[asked_s] for report in told]
        # How much of the mean price each report is.
        prices_s = math.fsum(one.priced_s for one in each)
        weights = [len(each) * one.priced_s / prices_s for one in each]
        told_by = list(zip(weights, each, strict=True))
        ratio = sum(weight * one.ratio for weight, one in told_by) / len(each)
        residuals = [weight * (one.ratio - ratio) for weight, one in told_by]
        differ = sum(one**2 for one in residuals) / max(1, len(each) - 1)
        sampled = sum((weight * one.error) ** 2 for weight, one in told_by) / len(each)
        error = math.sqrt(max(differ, sampled) / len(each))
        found.append(
            AfterRest.model_validate(
                {
                    "rest": seconds(sum(one.rest_s for one in each) / len(each), ERROR_DIGITS),
                    "ratio": rounded(ratio, _RATIO_DIGITS),
                    "standard_error": rounded(error, ERROR_DIGITS),
                    "basis": "measured",
                    "samples": sum(one.samples for one in each),
                    "source": f"{named(reports)}; {said}, {_asked(asked_s)}",
                }
            )
        )
    return found


def _asked(asked_s: float) -> str:
    return f"asked to rest for {1000 * asked_s:g} ms" if asked_s >= 0 else "without a rest"


_RATIO_DIGITS = 3
