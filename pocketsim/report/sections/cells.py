"""A metric of a run as a cell of a table: its value with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.html.page import interval, markup
from pocketsim.report.runs.metric_words import number

if TYPE_CHECKING:
    from pocketsim.report.runs.run import Run


def measured(run: Run, metric: str) -> str:
    """Return the mean of a metric and its interval, ratios in percent; a dash for none."""
    if not run.has(metric):
        return "\N{EN DASH}"
    write = percent if metric.endswith("_ratio") else number
    said = write(run.mean(metric) or 0.0)
    return markup("{}{}", said, interval(run.bounds(metric), write))


def percent(share: float) -> str:
    """Return a share in percent, with three digits."""
    return f"{100 * share:.3g} %"
