"""What the first chart of a report shows: which metric, against what, a line for what.

The rules, where the author says nothing:

* The metric is the first of the family's list (`METRICS`; a metric of one's own before them) that
  differs between two points (`differ`); where there is none, the first that the runs have.
* The horizontal axis is the quantity with the most steps; of several, the one that the study names
  first.
* What else differs makes lines. A colour stands for a transport if several were run, else for what
  has the fewest values.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.report.runs import points as places
from pocketsim.report.runs import pooled
from pocketsim.report.runs.difference import between
from pocketsim.report.runs.run import PAYLOAD, RATE, TRANSPORT, labels, long_key, short_key
from pocketsim.sim.base.errors import UserError, did_you_mean, nearest, shown
from pocketsim.sim.metrics import custom_metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.report.runs.asked import Asked
    from pocketsim.report.runs.difference import Difference
    from pocketsim.report.runs.points import Axis, Place
    from pocketsim.report.runs.pooled import Point
    from pocketsim.report.runs.run import Run

METRICS = (
    *("completed_ratio", "success_ratio", "goodput_mb_per_s", "task_rate_per_s"),
    *("delivery_ms_p95", "rtt_ms_p50", "payment_ms_p95", "rtt_ms_p95"),
    *("task_us_mean", "deliveries_per_transaction", "store_rate_per_s"),
)
"""What a study is asked for, the most telling first."""


@dataclass(frozen=True)
class Line:
    """Points in order of the horizontal axis; `group` is what its colour stands for."""

    name: str
    group: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Choice:
    """What is drawn: a metric of lines of points, over an axis where there is one."""

    metric: str
    axis: Axis | None
    lines: tuple[Line, ...]

    @property
    def points(self) -> list[Point]:
        """All that is drawn."""
        return [point for line in self.lines for point in line.points]


def chosen(runs: Sequence[Run], asked: Asked) -> Choice | None:
    """Return what to draw of runs that belong together; None where they have no metric to show.

    Raises UserError, with the nearest choice, where what is asked for is not there.
    """
    every = pooled.of_runs(runs)
    metric = _metric(every, asked)
    if metric is None:
        return None
    known = [point for point in every if point.has(metric)]
    axis = _axis(known, asked)
    return Choice(metric, axis, _lines(known, axis, asked))


def check_metric(asked: Asked, known: Sequence[str]) -> None:
    """Raise UserError where a metric is asked for that is not among those that are known."""
    if asked.metric and asked.metric not in known:
        _refuse(asked, "metric", f"no run has a metric {asked.metric!r}", asked.metric, known)


def check_axes(points: Sequence[Point], asked: Asked) -> None:
    """Raise UserError where the points have not the axis or the colours that are asked for."""
    axis = _axis(points, asked)
    _colour([point.place for point in points], _told_by(axis), asked)


def differ(one: Point, other: Point, metric: str, comparisons: int = 1) -> bool:
    """Return whether a metric differs at two points beyond chance.

    Their intervals are apart, or repetitions with random numbers in common differ, in the direction
    of the means. Two points that were chosen as the ends of several are the most different of so
    many `comparisons`: their p value is multiplied by that number (Bonferroni).
    """
    if are_apart(one, other, metric):
        return True
    found = paired(one, other, metric)
    # Where nothing scatters, a difference says nothing of chance: intervals decide.
    if found is None or not found.ci95_low < found.ci95_high:
        return False
    shift = (other.mean(metric) or 0.0) - (one.mean(metric) or 0.0)
    return found.p_value * comparisons < _LEVEL and found.difference * shift > 0


def pairs_of(count: int) -> int:
    """Return how many pairs so many points make."""
    return count * (count - 1) // 2


def are_apart(one: Point, other: Point, metric: str) -> bool:
    """Return whether the intervals of a metric at two points have nothing in common."""
    return _is_below(one, other, metric) or _is_below(other, one, metric)


def paired(one: Point, other: Point, metric: str) -> Difference | None:
    """Return by how much `other` differs from `one`; None without random numbers in common."""
    found = between(metric, one.by_draw(metric), other.by_draw(metric))
    return found if found.is_paired else None


def _is_below(one: Point, other: Point, metric: str) -> bool:
    ends, begins = one.bounds(metric), other.bounds(metric)
    high = ends[1] if ends else one.mean(metric)
    low = begins[0] if begins else other.mean(metric)
    return high is not None and low is not None and high < low


def _metric(points: Sequence[Point], asked: Asked) -> str | None:
    known = list(
        dict.fromkeys(
            name
            for point in points
            for run in point.runs
            for name in run.metrics["metrics"]
            if run.has(name)
        )
    )
    if asked.metric:
        check_metric(asked, known)
        return asked.metric
    own = custom_metrics.names(points[0].run.resolved)
    able = [name for name in (*own, *METRICS) if name in known]
    telling = (name for name in able if _tells(points, name))
    return next(telling, able[0] if able else None)


def _tells(points: Sequence[Point], metric: str) -> bool:
    known = [point for point in points if point.has(metric)]
    if not known:
        return False
    at = functools.partial(_value, metric=metric)
    ends = min(known, key=at), max(known, key=at)
    return differ(*ends, metric, pairs_of(len(known)))


def _value(point: Point, metric: str) -> float:
    return point.mean(metric) or 0.0


def _axis(points: Sequence[Point], asked: Asked) -> Axis | None:
    every = [point.place for point in points]
    if asked.x:
        able, x = places.quantities(every), _of(asked.x, every)
        if x not in able:
            reason = f"{asked.x!r} is no quantity that differs between the runs"
            _refuse(asked, "x", reason, asked.x, able)
        return places.along(every, x)
    first = [_of(key, every) for key in asked.axes]
    return places.horizontal(every, last=(PAYLOAD, RATE), first=first)


def _of(key: str, every: Sequence[Place]) -> str:
    """Return the key by which places have what a key path of the scenario names."""
    return key if any(key in place for place in every) else short_key(key)


def _lines(points: Sequence[Point], axis: Axis | None, asked: Asked) -> tuple[Line, ...]:
    without = _told_by(axis)
    names = labels(points, without)
    colour = _colour([point.place for point in points], without, asked)
    found: dict[tuple[str, str], list[Point]] = {}
    for point, name in zip(points, names, strict=True):
        group = point.place[colour].words if colour and colour in point.place else ""
        found.setdefault((name or "simulated", group), []).append(point)
    return tuple(
        Line(
            name, group, tuple(sorted(some, key=lambda point: axis.at(point.place) if axis else 0))
        )
        for (name, group), some in found.items()
    )


def _told_by(axis: Axis | None) -> set[str]:
    """Return the keys of which an axis says the values, so that no line needs to."""
    return {axis.key, *axis.along} if axis else set()


def _colour(every: Sequence[Place], without: set[str], asked: Asked) -> str:
    """Return the key whose values have colours; nothing where no line differs from another."""
    able = [key for key in places.differing(every) if key not in without]
    if asked.by:
        by = _of(asked.by, every)
        if by not in able:
            is_along = by in without
            reason = (
                "is on the horizontal axis" if is_along else "does not differ between the lines"
            )
            reason = f"{asked.by!r} {reason}"
            _refuse(asked, "by", reason, asked.by, able)
        return by
    if not able:
        return ""
    if TRANSPORT in able:
        return TRANSPORT
    values = {key: len({place[key].text for place in every if key in place}) for key in able}
    return min(able, key=lambda key: values[key])


def _refuse(asked: Asked, key: str, reason: str, said: str, able: Sequence[str]) -> None:
    names = [name for name in map(long_key, able) if name]
    like = nearest(said, names)
    more = did_you_mean(like) if like else f"; {_some_of(names)}"
    raise UserError(f"{asked.place(key)}: {shown(reason)}{more}")


def _some_of(names: Sequence[str]) -> str:
    """Return what an error says there is, where nothing of it is like what was asked for."""
    if not names:
        return "there is none"
    return f"there is {', '.join(names[:_FEW])}{', ...' if len(names) > _FEW else ''}"


_LEVEL = 0.05
_FEW = 5
