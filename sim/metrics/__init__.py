"""What a run achieved, computed from its trace, one module for each family. Nothing here runs.

`from sim import metrics` gives what all families share; `measure` calls upon each.
"""

from sim.metrics.repetitions import (
    COMPLETE_FROM,
    NAMES,
    QUANTILES,
    RATIOS,
    STALLED_BELOW,
    classify,
    measure,
    of_log,
    round_trips,
    summary,
)

__all__ = [
    "COMPLETE_FROM",
    "NAMES",
    "QUANTILES",
    "RATIOS",
    "STALLED_BELOW",
    "classify",
    "measure",
    "of_log",
    "round_trips",
    "summary",
]
