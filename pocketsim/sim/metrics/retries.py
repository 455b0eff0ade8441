"""What retries cost: how often proposals and answers were sent again.

Of runs whose proposals are sent again (`protocol.retries`). The engine counts what its machines
decided to send (`Agent::repeated` in sim/protocols/src/trustchain.rs), and its bytes as any others.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.sim.metrics.definition import Metric
from pocketsim.sim.trace.columns import ratio

if TYPE_CHECKING:
    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import Resolved

METRICS = {
    "repeat_count": Metric("1", "repeats", "proposals sent again, each time"),
    "repeats_per_proposal": Metric("1", "repeats / sent", "the same, of each proposal: mean"),
    "answer_repeat_count": Metric(
        "1", "answers", "answers given again to proposals that came again, each time"
    ),
}
COUNTS = ("repeat_count", "answer_repeat_count")


def names(resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run has: none where nothing is sent again."""
    return tuple(METRICS) if "retries" in resolved["protocol"] else ()


def measure(resolved: Resolved, said: EngineOutput) -> dict[str, float]:
    """Return what was sent again in one repetition; NaN for what the engine did not tell."""
    if not names(resolved):
        return {}
    counters = said["counters"]
    if not counters:
        return dict.fromkeys(METRICS, math.nan)
    repeats = counters.get("proposals_repeated", 0)
    return {
        "repeat_count": float(repeats),
        "repeats_per_proposal": ratio(repeats, counters.get("send", 0)),
        "answer_repeat_count": float(counters.get("answers_repeated", 0)),
    }
