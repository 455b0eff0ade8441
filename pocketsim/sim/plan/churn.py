"""Phones that come and go: as a file says, or drawn, alternating sessions and gaps.

What is drawn is stationary from the start. A phone begins in a random place of its on/off process:
on with the long-run share of time, then for the residual of an interval drawn in proportion to its
length. Without that, every run would begin with a burst that no real population shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.plan.population import ROLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.sim.base.streams import Floats, Lanes
    from pocketsim.sim.base.tables import Table
    from pocketsim.sim.plan import plan
    from pocketsim.sim.scenario import resolved as given


@dataclass(frozen=True)
class Transitions:
    """Changes as columns of one length, sorted by time; a phone is on before its first."""

    time_s: Floats
    phone: npt.NDArray[np.int64]
    on: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Weibull:
    """A Weibull length of time, given that it is at most `longest_s`."""

    shape: float
    scale_s: float
    longest_s: float

    def quantile(self, share: Floats) -> Floats:
        """Return the inverse of the distribution function, in seconds."""
        within = -math.expm1(-self._longest_power())
        power: Floats = -np.log1p(-share * within)
        return self.scale_s * power ** (1 / self.shape)

    def length_biased_quantile(self, share: Floats) -> Floats:
        """Return the same for an interval met at a random moment, of density x f(x) / mean.

        Then (x/scale)^shape is Gamma(1 + 1/shape).
        """
        from scipy import special

        order = 1 + 1 / self.shape
        within = special.gammainc(order, self._longest_power())
        power: Floats = special.gammaincinv(order, share * within)
        return self.scale_s * power ** (1 / self.shape)

    def mean_s(self) -> float:
        """Return the mean, in seconds."""
        from scipy import special

        order, power = 1 + 1 / self.shape, self._longest_power()
        within = special.gammainc(order, power) / -math.expm1(-power)
        return float(self.scale_s * math.gamma(order) * within)

    def _longest_power(self) -> float:
        try:
            return float((self.longest_s / self.scale_s) ** self.shape)
        except OverflowError:
            return math.inf  # as good as none: nothing is cut


@dataclass(frozen=True)
class Lognormal:
    """A lognormal length of time, given that it is at most `longest_s`."""

    median_s: float
    sigma: float
    longest_s: float

    def quantile(self, share: Floats) -> Floats:
        """Return the inverse of the distribution function, in seconds."""
        return self._at(share, 0)

    def length_biased_quantile(self, share: Floats) -> Floats:
        """Return the same for an interval met at a random moment, of density x f(x) / mean.

        That is lognormal again, with a median exp(sigma^2) times as large.
        """
        return self._at(share, self.sigma)

    def mean_s(self) -> float:
        """Return the mean, in seconds."""
        within = self._within(self.sigma) / self._within(0)
        return float(self.median_s * math.exp(self.sigma**2 / 2) * within)

    def _at(self, share: Floats, shift: float) -> Floats:
        from scipy import special

        score: Floats = special.ndtri(share * self._within(shift))
        return self.median_s * np.exp(self.sigma * (shift + score))

    def _within(self, shift: float) -> float:
        """Return the probability of at most `longest_s` when the mean score is `shift`."""
        from scipy import special

        return float(special.ndtr(math.log(self.longest_s / self.median_s) / self.sigma - shift))


def lengths(table: given.Lengths) -> Weibull | Lognormal:
    """Return the distribution that a resolved table describes."""
    longest_s = math.inf if table["longest_s"] is None else table["longest_s"]
    match table["distribution"]:
        case "weibull":
            return Weibull(table["shape"], table["scale_s"], longest_s)
        case "lognormal":
            return Lognormal(table["median_s"], table["sigma"], longest_s)


def on_share(churn: given.Churn) -> float:
    """Return the long-run share of time that a phone is on."""
    session_s, gap_s = lengths(churn["session"]).mean_s(), lengths(churn["gap"]).mean_s()
    return session_s / (session_s + gap_s)


def transitions(
    churn: given.Churn, lanes: Lanes, lane: npt.NDArray[np.uint64], duration_s: float
) -> Transitions:
    """Return the transitions of every phone before `duration_s`.

    `lane` holds each phone's stream in `lanes`: draw 0 decides whether it starts on, 1 and 2 its
    first interval and the place in it, the rest one interval each.
    """
    session, gap = lengths(churn["session"]), lengths(churn["gap"])
    on = lanes.uniform(lane, 0) < on_share(churn)
    share = lanes.uniform(lane, 1)
    met_s = np.where(on, session.length_biased_quantile(share), gap.length_biased_quantile(share))
    time_s = met_s * lanes.uniform(lane, 2)
    phone = np.arange(lane.size)
    columns = [(np.zeros(np.count_nonzero(~on)), phone[~on], on[~on])]
    draw = 3
    while phone.size:
        alive = time_s < duration_s
        phone, time_s, on = phone[alive], time_s[alive], ~on[alive]
        columns.append((time_s, phone, on))
        share = lanes.uniform(lane[phone], draw)
        time_s = time_s + np.where(on, session.quantile(share), gap.quantile(share))
        draw += 1
    return in_order(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def told(churn: given.ChurnFile, table: Table, duration_s: float) -> Transitions:
    """Return the transitions that a file tells before `duration_s`.

    A phone that it names is on in its intervals only; those that touch are one.
    """
    phone, on_s, off_s = (table.columns[name] for name in ("phone", "on_s", "off_s"))
    order = np.lexsort((on_s, phone))
    phone, on_s, off_s = phone[order], on_s[order] - churn["origin_s"], off_s[order]
    off_s = off_s - churn["origin_s"]
    is_first = np.r_[True, phone[1:] != phone[:-1]]
    begins = is_first | np.r_[True, on_s[1:] > off_s[:-1]]
    phone, on_s, off_s = phone[begins], on_s[begins], off_s[np.r_[begins[1:], True]]
    # Every phone starts on: who is not in an interval then goes off at once.
    every = np.unique(phone)
    waiting = np.setdiff1d(every, phone[(on_s <= 0) & (off_s > 0)])
    comes, goes = (on_s > 0) & (on_s < duration_s), (off_s > 0) & (off_s < duration_s)
    return in_order(
        np.concatenate([np.zeros(waiting.size), on_s[comes], off_s[goes]]),
        np.concatenate([waiting, phone[comes], phone[goes]]),
        np.repeat([False, True, False], [waiting.size, comes.sum(), goes.sum()]),
    )


def together(several: Sequence[Transitions]) -> Transitions:
    """Return transitions of different phones as one, in order of time."""
    return in_order(
        np.concatenate([np.empty(0), *(changes.time_s for changes in several)]),
        np.concatenate([np.empty(0, np.int64), *(changes.phone for changes in several)]),
        np.concatenate([np.empty(0, bool), *(changes.on for changes in several)]),
    )


def on_ratio(whole: plan.Plan) -> float:
    """Return the share of the time that the phones of a plan are on, without an authority."""
    changes, duration_s = whole["churn"], whole["duration_s"]
    rest_s = duration_s - np.asarray(changes["time_s"])
    off_s = float(np.sum(np.where(changes["on"], -rest_s, rest_s)))
    phones = np.count_nonzero(np.asarray(whole["phones"]["role"]) != ROLES.index("authority"))
    return 1 - off_s / (phones * duration_s)


def in_order(
    time_s: Floats, phone: npt.NDArray[np.int64], on: npt.NDArray[np.bool_]
) -> Transitions:
    """Return changes in order of time, of one time in order of phones."""
    order = np.lexsort((phone, time_s))
    return Transitions(time_s[order], phone[order], on[order])
