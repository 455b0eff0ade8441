"""Where runs of the real thing are expected: the bounds that metrics.json has of drawn runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.html.page import markup, table
from pocketsim.report.runs.metric_words import number
from pocketsim.report.runs.run import by_scenario, run_names
from pocketsim.sim.metrics.predicted import LOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.report.html.page import Page
    from pocketsim.report.runs.run import Run
    from pocketsim.sim.run.results import Estimate


def add(page: Page, runs: Sequence[Run]) -> None:
    """Append a section with a table, where a run has such bounds."""
    lines = [
        [f"{run.title}, {name}", markup("<code>{}</code>", metric), *map(number, _told(told))]
        for group in by_scenario(runs).values()
        for run, name in zip(group, run_names(group), strict=True)
        for metric, told in run.metrics["metrics"].items()
        if LOW in told
    ]
    if lines:
        page.section("expected", "Where real runs are expected")
        page.paragraph(ABOUT)
        page.add(table(["run", "metric", "simulated", "5 %", "95 %"], lines, numeric=(2, 3, 4)))


def _told(told: Estimate) -> list[float]:
    return [told["value"] or 0.0, told["predicted90_low"], told["predicted90_high"]]


ABOUT = (
    "90 of 100 real runs are expected between these bounds. They have the range of the simulated "
    "repetitions, each with another draw of what is not known, and what the model was off by in "
    "sessions that were left out (model_error of the implementation, by Student's t). Intervals of "
    "means, elsewhere on this page, have neither."
)
