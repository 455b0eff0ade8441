"""The finding of a study as one or two sentences, each value with its 95 % interval.

What differs beyond chance is told from what does not, as `choice.differ` says: repetitions with
random numbers in common are compared in pairs, as `pocketsim compare` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.runs import metric_words as words
from pocketsim.report.runs.choice import are_apart, differ, paired, pairs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.report.runs.choice import Choice, Line
    from pocketsim.report.runs.points import Axis
    from pocketsim.report.runs.pooled import Point

    Named = tuple[str, Point]


def sentences(choice: Choice) -> list[str]:
    """Return what a choice of runs shows; one sentence, and a second where lines have a trend."""
    if len(choice.points) == 1:
        return [_alone(choice)]
    if choice.axis is None:
        return [_extremes(choice)]
    if len(choice.lines) == 1:
        return [_trend(choice, choice.lines[0], choice.axis)]
    return [_widest(choice, choice.axis), *_trends(choice, choice.axis)]


def _alone(choice: Choice) -> str:
    (point,) = choice.points
    return f"The {words.name(choice.metric)} is {words.estimate(choice.metric, point)}."


def _extremes(choice: Choice) -> str:
    named = {line.name: line.points[0] for line in choice.lines}
    low, high = _ends(list(named.items()), choice.metric)
    what = words.name(choice.metric)
    if not differ(low[1], high[1], choice.metric, pairs_of(len(named))):
        return f"The {what} does not differ beyond chance: {_range(choice, low[1], high[1])}."
    return (
        f"The {what} is highest with {high[0]}, {words.estimate(choice.metric, high[1])}, and "
        f"lowest with {low[0]}, {words.estimate(choice.metric, low[1])}."
    )


def _trend(choice: Choice, line: Line, axis: Axis) -> str:
    first, last = line.points[0], line.points[-1]
    what = words.name(choice.metric)
    low, high = _ends([("", point) for point in line.points], choice.metric)
    count = pairs_of(len(line.points))
    if not differ(low[1], high[1], choice.metric, count):
        return f"The {what} does not change beyond chance: {_range(choice, low[1], high[1])}."
    begins, ends = (
        f"{words.estimate(choice.metric, end)} at {_at(end, axis)}" for end in (first, last)
    )
    for end, least in ((high[1], "highest"), (low[1], "lowest")):
        if all(differ(end, other, choice.metric, count) for other in (first, last)):
            value = words.estimate(choice.metric, end)
            return f"The {what} is {least} at {_at(end, axis)}, {value}; it is {begins} and {ends}."
    return f"The {what} {_verb(first, last, choice.metric)} from {begins} to {ends}."


def _widest(choice: Choice, axis: Axis) -> str:
    """Return where lines are furthest apart; a later place wins among equals."""
    at: dict[float, list[Named]] = {}
    for line in choice.lines:
        for point in line.points:
            at.setdefault(axis.at(point.place), []).append((line.name, point))
    every = [_ends(some, choice.metric) for _, some in sorted(at.items()) if len(some) > 1]
    count = sum(pairs_of(len(some)) for some in at.values())
    apart = [ends for ends in every if differ(ends[0][1], ends[1][1], choice.metric, count)]
    what = words.name(choice.metric)
    if not apart:
        return f"The {what} does not differ beyond chance between {_names(choice)}."
    low, high = max(reversed(apart), key=lambda ends: _gap(ends[0], ends[1], choice.metric))
    return (
        f"At {_at(high[1], axis)}, the {what} is {words.estimate(choice.metric, high[1])} with "
        f"{high[0]} and {words.estimate(choice.metric, low[1])} with {low[0]}"
        f"{_by_pairs(low[1], high[1], choice.metric)}."
    )


def _by_pairs(low: Point, high: Point, metric: str) -> str:
    """Return by how much values differ whose intervals overlap; nothing where these are apart."""
    found = paired(low, high, metric)
    if found is None or found.ci95_low <= 0 or are_apart(low, high, metric):
        return ""
    said = words.difference(metric, found.difference, found.ci95_low, found.ci95_high)
    return f"; repetition by repetition, the difference is {said}"


def _trends(choice: Choice, axis: Axis) -> list[str]:
    """Return how a few lines change over the whole axis."""
    if len(choice.lines) > _FEW:
        return []
    changes: dict[str, list[str]] = {}
    for line in choice.lines:
        first, last = line.points[0], line.points[-1]
        if not differ(first, last, choice.metric, len(choice.lines)):
            changes.setdefault("does not change beyond chance", []).append(line.name)
        else:
            one, other = (
                words.value(choice.metric, _value(end, choice.metric)) for end in (first, last)
            )
            change = f"{_verb(first, last, choice.metric)} from {one} to {other}"
            changes.setdefault(change, []).append(line.name)
    parts = [f"{change} with {' and '.join(names)}" for change, names in changes.items()]
    first, last = (
        pick(choice.points, key=lambda point: axis.at(point.place)) for pick in (min, max)
    )
    begins, ends = _at(first, axis), last.place[axis.key].text
    if len(changes) == 1:
        parts = [next(iter(changes))]
    return [f"From {begins} to {ends}, it {'; it '.join(parts)}."]


def _ends(named: Sequence[Named], metric: str) -> tuple[Named, Named]:
    """Return the lowest and the highest, with their names."""
    ordered = sorted(named, key=lambda pair: _value(pair[1], metric))
    return ordered[0], ordered[-1]


def _names(choice: Choice) -> str:
    names = [line.name for line in choice.lines]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) <= _FEW else "the lines"


def _gap(low: Named, high: Named, metric: str) -> float:
    return _value(high[1], metric) - _value(low[1], metric)


def _verb(first: Point, last: Point, metric: str) -> str:
    return "rises" if _value(last, metric) > _value(first, metric) else "falls"


def _range(choice: Choice, low: Point, high: Point) -> str:
    least, most = (words.estimate(choice.metric, point) for point in (low, high))
    return f"it is between {least} and {most}"


def _at(point: Point, axis: Axis) -> str:
    return point.place[axis.key].words


def _value(point: Point, metric: str) -> float:
    return point.mean(metric) or 0.0


_FEW = 4
"""Lines whose trends fit into a sentence."""
