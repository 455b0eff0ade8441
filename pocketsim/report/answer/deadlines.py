"""The finding of one run that asks for deadlines: what share of what was sent met which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.runs import metric_words as words
from pocketsim.sim.metrics import completion

if TYPE_CHECKING:
    from pocketsim.report.runs.choice import Choice


def sentence(choice: Choice) -> str:
    """Return which shares are done within the deadlines; nothing but for one run with its own.

    Those of every run from 10 s on are among them.
    """
    if len(choice.points) != 1 or "metrics" not in choice.points[0].run.resolved:
        return ""
    (point,) = choice.points
    known = completion.deadlines_s(point.run.resolved)
    asked = sorted((within_s, metric) for metric, within_s in known.items() if within_s >= _LEAST_S)
    said = [
        f"{words.estimate(metric, point)} within {_worded(within_s)}"
        for within_s, metric in asked
        if point.has(metric)
    ]
    if not said:
        return ""
    *first, last = said
    return f"Of what was sent, {' and '.join(filter(None, (', '.join(first), last)))} are done."


def _worded(within_s: float) -> str:
    for unit_s, unit in _UNITS:
        if within_s >= unit_s and within_s % unit_s == 0:
            return f"{within_s / unit_s:g} {unit}"
    return f"{within_s:g} s"


_LEAST_S = 10.0
_UNITS = ((3600.0, "h"), (60.0, "min"))
