"""What people asked for, and what phones that are on at the same time would allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.html.page import table
from pocketsim.report.runs.run import run_names
from pocketsim.report.sections.cells import measured
from pocketsim.sim.metrics.presence import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from pocketsim.report.runs.run import Run


def has_any(run: Run) -> bool:
    """Tell whether the phones of a run come and go, and its metrics say what was asked for."""
    return bool(names(run.resolved)) and run.has("asked_count")


def asked_table(runs: Sequence[Run]) -> Markup:
    """Return what was asked for and stored beside the baseline, a line for each run."""
    lines = [
        [name, *(measured(run, metric) for metric in _METRICS)]
        for run, name in zip(runs, run_names(runs), strict=True)
    ]
    return table(["run", *_METRICS.values()], lines, numeric=range(1, len(_METRICS) + 1))


_METRICS = {
    "asked_count": "asked for",
    "stored_of_asked_ratio": "stored of it",
    "both_on_baseline_ratio": "baseline: both on",
    "on_ratio": "phones on",
}
