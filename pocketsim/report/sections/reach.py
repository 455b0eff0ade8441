"""By what phones reached each other: pairs by classes of NATs, hole punching, the relay.

Expected shares are those of the scenario (`sim.scenario.reachability`); all else is in
metrics.json.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.html.page import table
from pocketsim.report.runs.run import run_names
from pocketsim.report.sections.cells import measured, percent
from pocketsim.sim.metrics.reach import PAIRS, names
from pocketsim.sim.scenario.reachability import Ways, expected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from pocketsim.report.runs.run import Run


def has_any(run: Run) -> bool:
    """Tell whether the networks of a run limit who reaches whom, or its relay what it carries."""
    return bool(names(run.resolved))


def ways(run: Run) -> Ways | None:
    """Return the expected shares of pairs; None of networks without NATs."""
    resolved = run.resolved
    return expected(resolved["network"], resolved["devices"], resolved["transport"])


def pairs_table(runs: Sequence[Run]) -> Markup:
    """Return the shares of ordered pairs by how they reach each other, expected and drawn."""
    lines = []
    for run, name in zip(runs, run_names(runs), strict=True):
        shares = ways(run)
        if shares is not None:
            lines.append([name, "expected", *map(percent, shares)])
            lines.append([name, "drawn", *(measured(run, metric) for metric in PAIRS)])
    return table(["run", "classes", *_WAYS], lines, numeric=range(2, 6))


def paths_table(runs: Sequence[Run]) -> Markup:
    """Return what came of hole punching and of the relay, a line for each run of a scenario."""
    known = [metric for metric in _METRICS if any(run.has(metric) for run in runs)]
    lines = [
        [name, *(measured(run, metric) for metric in known)]
        for run, name in zip(runs, run_names(runs), strict=True)
    ]
    heads = [_METRICS[metric] for metric in known]
    return table(["run", *heads], lines, numeric=range(1, len(heads) + 1))


_WAYS = ("direct", "direct by hole punching", "by the relay alone", "not at all")
_METRICS = {
    "punching_count": "pairs that tried to punch",
    "punching_success_ratio": "succeeded",
    "punching_ms_p50": "which took, median, ms",
    "punching_ms_p90": "90th percentile, ms",
    "relayed_datagram_ratio": "relayed datagrams",
    "relayed_transaction_ratio": "relayed transactions",
    "relay_drop_ratio": "dropped by the relay",
    "relay_delay_ms_mean": "in the relay's queues, mean, ms",
}
