"""What a run achieved, computed from its trace, one module for each family. Nothing here runs.

`from pocketsim.sim import metrics` gives what all families share; `measure` calls upon each.
"""

from pocketsim.sim.metrics.repetitions import interval_of_mean, measure, names, of_log, summary
from pocketsim.sim.metrics.trades import (
    COMPLETE_FROM,
    STALLED_BELOW,
    classify,
    completions,
    round_trips,
)

__all__ = [
    "COMPLETE_FROM",
    "STALLED_BELOW",
    "classify",
    "completions",
    "interval_of_mean",
    "measure",
    "names",
    "of_log",
    "round_trips",
    "summary",
]
