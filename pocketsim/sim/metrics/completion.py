"""Shares of what was sent that are done within so long of their send, whatever the run length.

What is lost is never done and stays in the denominator. What is in flight at the end may be done
later, so it counts only for as long as it was watched: from its send to the end. The estimator is
the product-limit estimator (Kaplan and Meier, JASA 53, 1958, section 3) of "done", where whatever
is not done, lost or in flight, is at risk until its age at the end. That keeps the lost at risk
until they would have been censored, which is known of each since all are censored by the end of the
run: the estimator of a cumulative incidence for complete censoring data (Fine and Gray, JASA 94,
1999, section 3.1). So no time of a loss is needed, and where nothing is censored it is the plain
share. One minus Kaplan-Meier with the lost censored at their loss would be of a world without
losses. What was sent early and late is taken to be done alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.metrics import histograms
from pocketsim.sim.metrics.definition import Metric
from pocketsim.sim.trace.columns import times_by_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.base import engine_output
    from pocketsim.sim.scenario.resolved import Resolved
    from pocketsim.sim.trace.columns import Columns

    Array = np.ndarray[Any, Any]


def metric_name(within_s: float) -> str:
    """Return the metric of a deadline, which is a whole number of milliseconds."""
    ms = round(1e3 * within_s)
    return f"done_within_{ms // 1000}s_ratio" if ms % 1000 == 0 else f"done_within_{ms}ms_ratio"


DEADLINES_S = {metric_name(within_s): within_s for within_s in (1.0, 10.0, 60.0, 600.0)}
"""Deadlines of every run by metric: what a user waits for, what they come back to, and minutes."""

SHARES = {f"done_{percent}_percent_s": percent / 100 for percent in (50, 90, 99)}
"""Shares by the metric that says when so much of what was sent is done."""

METRICS = {
    **{
        name: Metric(
            "1",
            f"share of sent with T3 - T1 <= {within_s:g} s",
            f"of what was sent, what is stored within {within_s:g} s: lost is not done, in flight "
            "counts for as long as it was watched; undefined where nothing was watched for so long",
        )
        for name, within_s in DEADLINES_S.items()
    },
    **{
        name: Metric(
            "s",
            f"least t with share of sent with T3 - T1 <= t at {share:g} or more",
            f"time since the send at which {100 * share:g} % of what was sent is done, by the same "
            "curve; undefined where a repetition did not come to that share",
        )
        for name, share in SHARES.items()
    },
}


def deadlines_s(resolved: Resolved) -> dict[str, float]:
    """Return the deadlines of a run by metric: those of every run, and its scenario's."""
    own = resolved["metrics"]["deadlines_s"] if "metrics" in resolved else []
    return DEADLINES_S | {metric_name(within_s): within_s for within_s in own}


@dataclass(frozen=True)
class Curve:
    """The share done since the send, in steps: `share` from each of `since_s` on, 0 before.

    It is known until `watched_s`, the age at the end of what was sent first; -1 of nothing.
    """

    since_s: Array
    share: Array
    watched_s: float

    def within(self, since_s: float) -> float:
        """Return the share that is done so long after its send; NaN beyond `watched_s`."""
        if not 0 <= since_s <= self.watched_s:
            return float("nan")
        steps = int(np.searchsorted(self.since_s, since_s, side="right"))
        return float(self.share[steps - 1]) if steps else 0.0

    def until(self, share: float) -> float:
        """Return after how many seconds that share is done; NaN if it never is while watched."""
        step = int(np.searchsorted(self.share, share - _ROUNDING))
        return float(self.since_s[step]) if step < self.since_s.size else float("nan")


def of(sent: Columns, stored: Columns, end_s: float) -> Curve:
    """Return the curve of what was `sent` and `stored` by `end_s`, infinite for the log of a trade.

    Of a transaction its first row of each counts. Times are in seconds.
    """
    messages, first = np.unique(sent.message, return_index=True)
    if not messages.size:
        return Curve(np.empty(0), np.empty(0), -1.0)
    sent = sent.where(np.isin(np.arange(sent.message.size), first))
    # A store beyond the end is one that nobody has seen.
    done_s = times_by_message(stored.where(stored.time_s <= end_s), sent) - sent.time_s
    age_s = end_s - sent.time_s
    return product_limit(done_s, age_s)


def product_limit(done_s: Array, age_s: Array) -> Curve:
    """Return the curve of transactions done after `done_s`, NaN for not done, watched for `age_s`.

    What was watched until the very moment of a step is at risk in it.
    """
    is_done = np.isfinite(done_s)
    each_s = np.maximum(done_s[is_done], 0.0)
    steps = _steps(each_s, np.ones(each_s.size), age_s[~is_done], np.ones(age_s[~is_done].size))
    return Curve(*steps, float(age_s.max()))


def of_ledger(found: engine_output.Completion) -> Curve:
    """Return the curve from durations by bucket, each taken for its middle.

    Shares within `DEADLINES_S` lose next to nothing by that: buckets begin there, and only the
    order of what is done and what is no longer watched within one bucket is unknown. Of a deadline
    within a bucket it is unknown, too, which part of it is done.
    """
    if not found["watched"]["count"]:
        return Curve(np.empty(0), np.empty(0), -1.0)
    watched = dict(zip(found["watched"]["to_s"], found["watched"]["count"], strict=True))
    for to_s, count in zip(
        found["done_watched"]["to_s"], found["done_watched"]["count"], strict=True
    ):
        watched[to_s] -= count
    done, middles_s = found["done"], histograms.middles_s(found["watched"])
    counts = np.array(list(watched.values()), dtype=float)
    steps = _steps(histograms.middles_s(done), np.array(done["count"]), middles_s, counts)
    return Curve(*steps, float(middles_s.max()))


def _steps(done_s: Array, done: Array, left_s: Array, left: Array) -> tuple[Array, Array]:
    """Return when the curve steps and the shares from there, of counts done and left undone."""
    since_s, place = np.unique(done_s, return_inverse=True)
    done_then = np.bincount(place, done, minlength=since_s.size)
    until_s, counts = np.concatenate((done_s, left_s)), np.concatenate((done, left))
    order = np.argsort(until_s, kind="stable")
    over = np.concatenate(([0.0], np.cumsum(counts[order])))
    at_risk = over[-1] - over[np.searchsorted(until_s[order], since_s, side="left")]
    return since_s, 1.0 - np.cumprod(1.0 - done_then / at_risk)


def metrics(curve: Curve, deadlines_s: Mapping[str, float] = DEADLINES_S) -> dict[str, float]:
    """Return the shares done within deadlines, by metric, and when `SHARES` are done."""
    within = {name: curve.within(within_s) for name, within_s in deadlines_s.items()}
    return within | {name: curve.until(share) for name, share in SHARES.items()}


_ROUNDING = 1e-12
