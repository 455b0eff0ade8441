"""A profile beside the round trips of its own reports: sums of its costs, and what was timed.

A datagram there and its like back: twice a `sendto`, the wake-up of who waits, and a `recvfrom`.
What does not live here: how the costs came about, and what to make of a difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from pocketsim.calibration.fit.kernels import WAKE
from pocketsim.calibration.fit.looks import cases
from pocketsim.calibration.fit.wakes import PRICED_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.probe_report import Measurement, Report
    from pocketsim.sim.devices.profile import Profile

FACTOR_MAX = 1.5
"""Beyond it, either way, costs miss something: sizes and rounds make less of a difference."""

MADE_OF_IT = "costs are made of it"
NO_WAKE_UP = "costs have wake-ups, it has none"


@dataclass(frozen=True)
class RoundTrip:
    """One size of datagrams: the sum of costs, and the median over reports of the medians, s.

    `rest_s` is how long both ends had slept; 0 for a hot loop of threads that may share a core.
    Only `is_judged` ones tell whether costs are right: neither those whose passage is a cost
    already, so that they agree by themselves, nor, beside these, those of threads on one core.
    """

    kernel: str
    size_bytes: float
    rest_s: float
    added_up_s: float
    measured_s: float
    is_judged: bool

    @property
    def ratio(self) -> float:
        """The sum over the measured one."""
        return self.added_up_s / self.measured_s

    @property
    def verdict(self) -> str:
        """What the two tell of the costs: that they agree, a warning, or why they tell nothing."""
        if not self.is_judged:
            why = MADE_OF_IT if self.kernel == WAKE.kernel else NO_WAKE_UP
            return f"not judged: {why}"
        return f"warning: a factor of {FACTOR_MAX:g} apart" if self.is_far_off else "agree"

    @property
    def is_far_off(self) -> bool:
        """Whether it is judged, and more than `FACTOR_MAX` too long or too short."""
        return self.is_judged and abs(math.log(self.ratio)) > math.log(FACTOR_MAX)


def compared(profile: Profile, reports: Sequence[Report]) -> tuple[RoundTrip, ...]:
    """Return every round trip that all `reports` have timed over loopback; none of none."""
    known = [_round_trips(report) for report in reports]
    told = [key for key in known[0] if all(key in each for each in known)] if known else []
    wakes_apart = "udp_wake" in profile.operations
    found = []
    for key in told:
        kernel, size_bytes, rest_s = key
        measured_s = median(each[key] for each in known)
        added_s = added_up_s(profile, size_bytes)
        is_judged = size_bytes != PRICED_BYTES if kernel == WAKE.kernel else not wakes_apart
        found.append(RoundTrip(kernel, size_bytes, rest_s, added_s, measured_s, is_judged))
    return tuple(found)


def added_up_s(profile: Profile, size_bytes: float) -> float:
    """Return what a round trip of datagrams of so many bytes takes by the costs of a profile, s."""
    names = [name for name in ("udp_send", "udp_wake", "udp_receive") if name in profile.operations]
    each = [profile.operations[name] for name in names]
    return 2 * math.fsum(one.cpu + one.wait + one.per_byte * size_bytes for one in each)


def _round_trips(report: Report) -> dict[tuple[str, float, float], float]:
    """Return medians by kernel, size and rest; those of 0 s are none."""
    found: list[Measurement] = cases(report, "udp_round_trip", "rtt_s")
    found += cases(report, WAKE.kernel, "rtt_s", WAKE.variant)
    told = {}
    for case in found:
        samples = case.quantity("rtt_s")
        if samples and samples.median > 0:
            asked = case.parameters
            told[case.kernel, asked.get("bytes", 0.0), asked.get("rest_s", 0.0)] = samples.median
    return told
