"""What people asked for, also while their phone was off, beside what availability alone allows.

Of runs whose phones come and go. A trade needs two phones: if being on were independent between
phones, and nothing else failed or was tried again, the square of the share of time that phones are
on would be the share of what was asked for that is stored. That is the baseline.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.sim.metrics import family_metrics, per_phone
from pocketsim.sim.metrics.definition import Metric
from pocketsim.sim.scenario.resolved import comes_and_goes
from pocketsim.sim.trace.columns import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import Resolved

METRICS = {
    "asked_count": Metric(
        "1",
        "sent + asked while off",
        "what phones were asked for: what they sent, and what they did not because they were off "
        "or went off before it was made; of payments also those that could not be paid",
    ),
    "stored_of_asked_ratio": Metric(
        "1", "stored / asked", "of what was asked for, also of phones that were off, what is stored"
    ),
    "on_ratio": Metric(
        "1",
        "time on / (phones T)",
        "share of the time that owners have their phones on, mean; empty batteries apart",
    ),
    "both_on_baseline_ratio": Metric(
        "1",
        "on_ratio^2",
        "the square of that share: `stored_of_asked_ratio` if phones were on independently of each "
        "other and of what they are asked for, and nothing else failed or was tried again",
    ),
}
RATIOS = {
    "stored_of_asked_ratio": "asked_count",
    "on_ratio": "watched_phones",
    "both_on_baseline_ratio": "watched_phones",
}
COUNTS = ("asked_count",)


def names(resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run has: none of phones that are always on."""
    trades = family_metrics.of(resolved).TRANSACTION is not None
    return tuple(METRICS) if trades and comes_and_goes(resolved) else ()


def measure(row: Mapping[str, float], resolved: Resolved, said: EngineOutput) -> dict[str, float]:
    """Return the metrics of one repetition; NaN for what nobody told."""
    if not names(resolved):
        return {}
    counters = said["counters"]
    missed = sum(counters.get(name, 0) for name in _MISSED) if counters else math.nan
    # A payment that the wallet does not hold was asked for, and is not sent.
    asked, on = (
        row.get("payments_asked", row["send_count"]) + missed,
        said.get("on_ratio", math.nan),
    )
    return {
        "asked_count": asked,
        "stored_of_asked_ratio": ratio(row["store_count"], asked),
        "on_ratio": on,
        "both_on_baseline_ratio": on**2,
        "watched_phones": float(per_phone.phones(resolved)),
    }


_MISSED = ("arrivals_while_off", "arrivals_cut_off")
