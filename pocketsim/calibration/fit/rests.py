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
    """Of one report: a rest, what something takes after it and its price, with their errors, in s.

    Both errors are 0 of what is priced, which is all of the price.
    """

    rest_s: float
    taken_s: float
    taken_error_s: float
    priced_s: float
    priced_error_s: float
    samples: int

    @property
    def ratio(self) -> float:
        """How many times as long as it is priced it takes."""
        return self.taken_s / self.priced_s


def pooled(
    told: Sequence[Mapping[float, Rested]], reports: Sequence[Report], said: str
) -> list[AfterRest]:
    """Return for every rest that all reports have timed the ratio of means, rests ascending.

    `told` has one mapping for each of `reports`, by how long it was asked to rest, s; `said` names
    kernel and quotient. What is priced is a mean over reports, and so should be, by this ratio,
    what it takes after a rest: a mean of ratios is none, and one report whose price is nearly
    nothing would be all of it. An error is of the samples, or by how much reports differ, whichever
    is more (Cochran, "Sampling Techniques", 1977, section 6.3: residuals of the ratio estimate).
    """
    if not told:
        return []
    found = []
    for asked_s in sorted(set.intersection(*(set(each) for each in told))):
        each = [report[asked_s] for report in told]
        price_s = math.fsum(one.priced_s for one in each) / len(each)
        ratio = math.fsum(one.taken_s for one in each) / len(each) / price_s
        residuals_s = [one.taken_s - ratio * one.priced_s for one in each]
        differ = sum(one**2 for one in residuals_s) / max(1, len(each) - 1)
        errors_s = [math.hypot(one.taken_error_s, ratio * one.priced_error_s) for one in each]
        sampled = sum(one**2 for one in errors_s) / len(each)
        error = math.sqrt(max(differ, sampled) / len(each)) / price_s
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
    return "without a rest" if asked_s == UNRESTED_S else f"asked to rest for {1000 * asked_s:g} ms"


UNRESTED_S = -1.0
"""Asked to rest: not even until the next message came, which waited already."""
_RATIO_DIGITS = 3
