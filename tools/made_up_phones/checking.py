"""Simulation-based calibration: where the truth of made-up phones lies among what is drawn of them.

Of each phone a profile is made of its reports, and `DRAWS` values of every cost are drawn of that.
Where the profile says what it should, each rank of the truth among the draws is as likely as any
other (Talts et al., arXiv 1804.06788), so that the extreme ranks leave an interval of 95 %. What
does not live here: the phones (`tools.made_up_phones.phones`), and what is printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import stats

from pocketsim.calibration.fit.calibration import Calibration
from pocketsim.calibration.fit.scatter import rejected
from pocketsim.sim.devices import draws, profile
from pocketsim.sim.devices.prices import REFERENCE_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.sim.devices.contents import Shipped
    from tools.made_up_phones.phones import Made

Array = np.ndarray[Any, Any]

DRAWS = 39
"""With one of its 40 ranks at either end left out, 38 are 95 %."""

BINS = 10  # of four ranks each
TOGETHER = "all together"
"""The row of what all operations cost relative to the truth, on average: its error is common."""


@dataclass(frozen=True)
class Row:
    """What was found of one operation, over all phones.

    `inside_ratio` is how often the interval of 95 % had the truth, `even` the p-value of equal
    ranks, `drawn_ratio` the mean of what was drawn over the truth, less 1, `width_ratio` the median
    width of that interval over the truth.
    """

    name: str
    phones: int
    inside_ratio: float
    even: float
    drawn_ratio: float
    width_ratio: float


def calibrated(phone: Made) -> Shipped:
    """Return the profile that is made of a phone's reports."""
    found = Calibration(name="made up", bootstraps=0).fit(phone.reports).profile_
    return cast("Shipped", profile.contents(found))


def drawn(phone: Made, contents: Shipped, seed: int) -> dict[str, Array]:
    """Return costs at `REFERENCE_BYTES` over the true ones, `DRAWS` of each operation."""
    operations = [
        draws.draw(contents, seed, f"{phone.name}/draw/{draw}")["operations"]
        for draw in range(DRAWS)
    ]
    ratios = {
        key: np.array([_total_s(each[key]) for each in operations]) / total_s
        for key, total_s in phone.total_s.items()
    }
    return {**ratios, TOGETHER: np.mean(list(ratios.values()), axis=0)}


def rows(ratios: Sequence[dict[str, Array]]) -> list[Row]:
    """Return what `drawn` found of several phones, by operation."""
    return [_row(name, np.array([each[name] for each in ratios])) for name in ratios[0]]


def uneven(found: Sequence[Row], false_alarm: float) -> list[str]:
    """Return the rows whose ranks are not equally likely.

    By Holm's method, so that the chance of naming any where all are even is `false_alarm`, at most.
    """
    return rejected({row.name: row.even for row in found}, false_alarm)


def _row(name: str, ratios: Array) -> Row:
    ranks = (ratios < 1).sum(axis=1)
    counts = np.bincount(ranks * BINS // (DRAWS + 1), minlength=BINS)
    low, *_, high = np.sort(ratios, axis=1).T[_OUTSIDE - 1 : DRAWS + 1 - _OUTSIDE]
    return Row(
        name=name,
        phones=ranks.size,
        inside_ratio=float(np.mean((ranks > _OUTSIDE - 1) & (ranks < DRAWS + 1 - _OUTSIDE))),
        even=float(stats.chisquare(counts).pvalue),
        drawn_ratio=float(ratios.mean()) - 1,
        width_ratio=float(np.median(high - low)),
    )


def _total_s(cost: Any) -> float:
    fixed_s: float = cost["cpu_s"] + cost["wait_s"]
    return fixed_s + float(cost["per_byte_s"]) * REFERENCE_BYTES


_OUTSIDE = 1  # ranks at either end
