"""The finding of one town: what became of the payments that people asked for, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.runs import metric_words as words
from pocketsim.report.sections.fates import cause_of

if TYPE_CHECKING:
    from pocketsim.report.runs.choice import Choice
    from pocketsim.report.runs.pooled import Point


def sentences(choice: Choice) -> list[str]:
    """Return what became of payments; nothing but for one run of a town."""
    if len(choice.points) != 1 or not choice.points[0].has("completed_ratio"):
        return []
    (point,) = choice.points
    done = f"{words.estimate('completed_ratio', point)} are completed"
    parts = [done, *_unpayable(point), *_lost(point)]
    found = [f"Of the payments that people asked for, {'; '.join(parts)}."]
    if point.mean("outage_completed_ratio") is not None:
        share = words.estimate("outage_completed_ratio", point)
        found.append(f"While a network was out, {share} were completed.")
    return found


def _unpayable(point: Point) -> list[str]:
    """Return the share of payments that the payer's wallet did not hold."""
    share = point.mean("unpayable_ratio")
    if not share:
        return []
    said = words.estimate("unpayable_ratio", point)
    return [f"of {said} the payer's wallet did not hold the amount"]


def _lost(point: Point) -> list[str]:
    """Return the share of payments that were lost, and the most frequent cause."""
    asked, lost = point.mean("payments_asked"), point.run.metrics["counts"]["lost"]
    total = sum(lost.values()) / point.run.metrics["repetitions"]
    if not asked or not total:
        return []
    causes: dict[str, int] = {}
    for reason, count in lost.items():
        causes[cause_of(reason)] = causes.get(cause_of(reason), 0) + count
    most = max(causes, key=lambda cause: causes[cause])
    share = words.value("lost_ratio", total / asked)
    return [f"{share} were lost, most often: {most}"]
