"""A part of what the program takes, priced after as long a rest as waking is, and after others.

What does not live here: what part that is, and how a report tells it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.calibration.fit.rests import Rested, pooled
from pocketsim.calibration.fit.wakes import PRICED_REST_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.calibration.fit.samples import Estimate
    from pocketsim.sim.devices.profile import AfterRest

    Lasting = Callable[[Report, float], float]
    """For how long who was asked to rest so long has rested in a report, s."""


@dataclass(frozen=True)
class Part:
    """What reports say of a part: each of them, how, and of other rests."""

    told: list[Estimate | None]
    said: str
    after_rest: list[AfterRest]


def part(
    reports: Sequence[Report],
    by_rest: Sequence[Mapping[float, Estimate]],
    said: str,
    lasting: Lasting,
) -> Part | None:
    """Return a part with its rests, by how long each report asked to rest; None if most do not."""
    telling = [
        (each, report)
        for each, report in zip(by_rest, reports, strict=True)
        if PRICED_REST_S in each
    ]
    if 2 * len(telling) <= len(reports):
        return None
    ratios = [_ratios(report, each, lasting) for each, report in telling]
    over = f"kernel {said}, over that after {1000 * PRICED_REST_S:g} ms"
    rests = pooled(ratios, [report for _, report in telling], over)
    return Part([each.get(PRICED_REST_S) for each in by_rest], said, rests)


def _ratios(
    report: Report, by_rest: Mapping[float, Estimate], lasting: Lasting
) -> dict[float, Rested]:
    priced = by_rest[PRICED_REST_S]
    found = {}
    for asked_s, one in by_rest.items():
        errors_s = [one.standard_error, priced.standard_error]
        if one is priced:
            errors_s = [0.0, 0.0]
        found[asked_s] = Rested(
            lasting(report, asked_s),
            one.mean,
            errors_s[0],
            priced.mean,
            errors_s[1],
            one.samples,
        )
    return found
