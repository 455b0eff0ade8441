"""Phones that come and go by a presence law: each has an availability and a rhythm of its own.

A phone draws its availability a and its sessions a day n, with rank correlation, from tables of
quantiles. Its sessions then last 86 400 a / n s on average and its gaps 86 400 (1 - a) / n s: they
follow the tables of all phones' lengths, with normal scores that are shifted by the phone.

Hours of the day speed up two clocks: gaps run down on one, sessions on the other, so that sessions
begin and end when people make them. The clocks are common to all phones and keep the length of a
day. A process starts in its stationary state two days before the run, so that the hours have
shaped it when the run begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.plan.churn import Transitions, in_order
from pocketsim.sim.plan.quantile_law import PiecewiseLognormal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.sim.base.streams import Floats, Lanes
    from pocketsim.sim.scenario import resolved as given

DAY_S = 86_400.0


@dataclass(frozen=True)
class DayClock:
    """A clock that goes by hours of the day at 24 speeds of mean 1; it is right at midnight."""

    speed: tuple[float, ...]

    def reads(self, second_s: Floats) -> Floats:
        """Return what the clock reads at seconds since a midnight, also before it."""
        return self._along(second_s, self._hours_s(), self._read_s())

    def second(self, reading_s: Floats) -> Floats:
        """Return the seconds at which the clock reads so much."""
        return self._along(reading_s, self._read_s(), self._hours_s())

    def _hours_s(self) -> Floats:
        hours: Floats = np.linspace(0, DAY_S, len(self.speed) + 1)
        return hours

    def _read_s(self) -> Floats:
        read: Floats = np.concatenate(([0.0], np.cumsum(self.speed)))
        scaled: Floats = read * (DAY_S / read[-1])
        return scaled

    def _along(self, at_s: Floats, knots_s: Floats, values_s: Floats) -> Floats:
        midnight_s = np.floor(at_s / DAY_S) * DAY_S
        along: Floats = midnight_s + np.interp(at_s - midnight_s, knots_s, values_s)
        return along


@dataclass(frozen=True)
class Rhythms:
    """What each phone draws for itself: its availability, and shifts of its sessions and gaps.

    The shifts make the means of its sessions and gaps what its availability and its sessions a day
    ask for, as far as the law's tables go. A phone that is not `ever_on` never comes on.
    """

    availability: Floats
    session_shift: Floats
    gap_shift: Floats
    ever_on: npt.NDArray[np.bool_]


def rhythms(law: given.PresenceLaw, lanes: Lanes, lane: npt.NDArray[np.uint64]) -> Rhythms:
    """Return what each phone draws for itself: 0 to 2 of its stream in `lanes`."""
    from scipy import special

    first, second = (special.ndtri(lanes.uniform(lane, draw)) for draw in (0, 1))
    correlation = law["rank_correlation"]
    mixed = correlation * first + np.sqrt(1 - correlation**2) * second
    share = PiecewiseLognormal.of_table(law["availability"]).at_score(first)
    per_day = PiecewiseLognormal.of_table(law["sessions_per_day"]).at_score(mixed)
    session, gap = (PiecewiseLognormal.of_table(law[name]) for name in ("session_s", "gap_s"))
    return Rhythms(
        share,
        session.shift_of_mean(DAY_S * share / per_day, law["session_within"]),
        gap.shift_of_mean(DAY_S * (1 - share) / per_day, law["gap_within"]),
        lanes.uniform(lane, 2) >= law["never_ratio"],
    )


def drawn(
    law: given.PresenceLaw,
    lanes: Lanes,
    lane: npt.NDArray[np.uint64],
    duration_s: float,
    time_of_day_s: float = 0.0,
) -> Transitions:
    """Return the transitions of every phone before `duration_s`.

    `lane` holds each phone's stream in `lanes`: 0 to 2 are its rhythm, 3 to 5 its state when the
    process starts, the rest one interval each. The run begins `time_of_day_s` after a midnight.
    """
    found = rhythms(law, lanes, lane)
    lengths = (
        _Lengths(law["gap_s"], found.gap_shift, law["gap_within"], law["begins"]),
        _Lengths(law["session_s"], found.session_shift, law["session_within"], law["ends"]),
    )
    phone = np.flatnonzero(found.ever_on)
    start_s, until_s = time_of_day_s - _WARM_UP_S, time_of_day_s + duration_s
    on = lanes.uniform(lane[phone], 3) < found.availability[phone]
    time_s = np.full(phone.size, start_s)
    share, part = lanes.uniform(lane[phone], 4), lanes.uniform(lane[phone], 5)
    for its, those in zip(lengths, (~on, on), strict=True):
        time_s[those] = its.met(time_s[those], phone[those], share[those], part[those])
    is_on = np.zeros(lane.size, dtype=bool)  # when the run begins
    is_on[phone] = on
    columns = []
    draw = 6
    while phone.size:
        alive = time_s < until_s
        phone, time_s, on = phone[alive], time_s[alive], ~on[alive]
        inside = time_s >= time_of_day_s
        is_on[phone[~inside]] = on[~inside]
        columns.append((time_s[inside] - time_of_day_s, phone[inside], on[inside]))
        share = lanes.uniform(lane[phone], draw)
        for its, those in zip(lengths, (~on, on), strict=True):
            time_s[those] = its.end(time_s[those], phone[those], share[those])
        draw += 1
    off = np.flatnonzero(~is_on)
    columns.insert(0, (np.zeros(off.size), off, is_on[off]))
    return in_order(*(np.concatenate(column) for column in zip(*columns, strict=True)))


class _Lengths:
    """Sessions of all phones, or their gaps: when one ends that begins at some time."""

    def __init__(
        self, table: Mapping[str, float], shift: Floats, within: float, speed: Sequence[float]
    ) -> None:
        self.law = PiecewiseLognormal.of_table(table)
        self.shift = shift
        self.within = within
        self.clock = DayClock(tuple(speed))

    def end(self, time_s: Floats, phone: npt.NDArray[np.int64], share: Floats) -> Floats:
        """Return when those end that begin now, of lengths at these shares of their law."""
        return self._after(time_s, self.law.quantile(share, self.shift[phone], self.within))

    def met(
        self, time_s: Floats, phone: npt.NDArray[np.int64], share: Floats, part: Floats
    ) -> Floats:
        """Return when those end that are met now, with such a part of their length to go."""
        length_s = self.law.length_biased_quantile(share, self.shift[phone], self.within)
        return self._after(time_s, length_s * part)

    def _after(self, time_s: Floats, length_s: Floats) -> Floats:
        return self.clock.second(self.clock.reads(time_s) + length_s)


_WARM_UP_S = 2 * DAY_S
