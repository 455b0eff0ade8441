"""Another device on the same computer: its own profile has to predict it, and this one's must not.

The other device is another build of the probe, both ends of which run on one core. Where this
computer's profile told its round trips as well, the comparison of a computer with itself would show
nothing of the profile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.calibration.host.comparing import Host
from pocketsim.calibration.host.computer import Cores
from pocketsim.calibration.host.design import PAYLOADS_BYTES, SEED, Effort, Point
from pocketsim.calibration.host.judging import P50_MAX, P95_MAX, RTT_P50, RTT_P95, Bar
from pocketsim.sim.base import designs
from pocketsim.sim.base.streams import stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pocketsim.calibration.host.blocks import Measured
    from pocketsim.calibration.host.comparing import Comparison, KernelRtt
    from pocketsim.calibration.host.judging import Row
    from pocketsim.calibration.host.measuring import Kept
    from pocketsim.calibration.host.prediction import Documents

CARRIERS = ("udp", "quic_keep", "quic_reconnect")
LOADS = (0.1, 0.7)
"""Shares of the capacity: round trips are judged, which grow with queues above."""
FOREIGN_LEAST = math.log(1.5)
"""By how much this computer's profile has to miss the other device, as |log ratio| of medians."""
FULL = Effort(6, 3, 5.0, 1.0, 1.0, fitted=0, draws=32, is_judged=True)
# Too little to judge by: it shows that everything runs.
QUICK = Effort(2, 2, 2.0, 0.5, 0.5, fitted=0, draws=8, is_judged=False)
SLOWNESS = 27.0
"""Of the other device, at most: ramps begin three of their steps below those of this one."""


@dataclass(frozen=True)
class OtherComparison:
    """The same trades, simulated with the profile of their own device and with this one's."""

    own: Comparison
    foreign: Comparison
    bars: tuple[Bar, ...]

    @property
    def is_met(self) -> bool:
        """Whether every bar is; one that nothing could be asked of is not."""
        return all(bar.is_met for bar in self.bars)

    @property
    def rows(self) -> list[tuple[Row, Row]]:
        """Every point's errors by its own profile and by this computer's."""
        both = self.own.judgement.rows, self.foreign.judgement.rows
        return list(zip(*both, strict=True))


def design(effort: Effort) -> list[Point]:
    """Return the points, without a relay; the same at every call."""
    draws = stream(SEED, "validate/host/other/design")
    low, high = PAYLOADS_BYTES
    return [
        Point(
            name=f"other{number}",
            carrier=CARRIERS[int(len(CARRIERS) * row[0])],
            load_ratio=round(LOADS[0] + (LOADS[1] - LOADS[0]) * float(row[1]), 3),
            payload_bytes=round(low * (high / low) ** float(row[2])),
            delay_s=0.0,
            loss="none",
            is_fitted=False,
        )
        for number, row in enumerate(designs.latin_hypercube(effort.points, 3, draws))
    ]


def one_core(cores: Cores) -> Cores:
    """Return the core that both ends of the other device have: the listener's of this one.

    The dialler's is the first of the computer, on which most interrupts are.
    """
    return Cores(cores.listener, cores.listener, cores.listener)


@dataclass(frozen=True)
class Profiles:
    """Of a process of one core each: of the other device, and of this computer."""

    own: Documents
    foreign: Documents


def compare(
    profiles: Profiles,
    measured: Sequence[Measured],
    kernel_rtt: KernelRtt,
    effort: Effort,
    jobs: int,
    kept: Kept,
    told: Callable[[str], None],
) -> OtherComparison:
    """Simulate all points with either profile, both ends on one core, and judge."""
    # No point is dropped for its noise, which stands beside its error: there are few.
    rows_alone = replace(effort, is_judged=False)
    own, foreign = (
        Host(
            profile,
            shares_core=False,
            effort=rows_alone,
            jobs=jobs,
            kept=kept,
            told=told,
            is_one_core=True,
        ).compare(measured, kernel_rtt)
        for profile in (profiles.own, profiles.foreign)
    )
    return OtherComparison(own, foreign, judge(own, foreign) if effort.is_judged else ())


def judge(own: Comparison, foreign: Comparison) -> tuple[Bar, ...]:
    """Return what is asked of either profile."""
    wanted = (
        ("its own profile, p50", own, RTT_P50, (0.0, P50_MAX)),
        ("its own profile, p95", own, RTT_P95, (0.0, P95_MAX)),
        ("this one's profile, p50", foreign, RTT_P50, (FOREIGN_LEAST, math.inf)),
    )
    return tuple(
        Bar(
            f"other device by {said} of round trips: median error",
            _middle(comparison, quantity),
            bounds,
            len(comparison.judgement.rows),
        )
        for said, comparison, quantity, bounds in wanted
    )


def _middle(comparison: Comparison, quantity: str) -> float:
    """Return the median error without a sign; NaN, which meets no bar, if one is unknown."""
    errors = [abs(row.errors[quantity].error) for row in comparison.judgement.rows]
    return float(np.median(errors)) if errors else math.nan
