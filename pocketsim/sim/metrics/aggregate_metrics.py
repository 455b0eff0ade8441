"""The metrics of a run that kept no events: `output.trace = "metrics"`.

The engine adds up what they need while it runs (sim/engine/src/record/aggregates.rs). They are
defined on events, in `sim.metrics.trades` and `fates`. Counts, sizes and the ends of windows are
exact, means are exact but for rounding, quantiles are within the engine's `quantile_error`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pocketsim.sim.metrics import completion, histograms, trades
from pocketsim.sim.metrics.pooled_quantiles import Sample
from pocketsim.sim.trace.columns import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.base.engine_output import AggregateSummary, Sizes


def of_all(
    found: AggregateSummary, deadlines_s: Mapping[str, float] = completion.DEADLINES_S
) -> dict[str, Any]:
    """Return what `trades.of_all` does."""
    sent, stored = float(found["send_count"]), float(found["store_count"])
    first_s, last_s = found["first_s"], found["last_s"]
    window_s = math.nan
    if first_s is not None and last_s is not None and sent >= trades.FEWEST_SENT:
        window_s = last_s - first_s
    by_then = found["logged"]
    known = by_then["stored"] + by_then["lost"]
    rtt, processing = (Sample.of_spread(found[name], 1e3) for name in ("rtt", "processing"))
    return {
        **trades.counts(sent, stored, window_s),
        "success_ratio": ratio(by_then["stored"], by_then["sent"]),
        "settled_success_ratio": ratio(by_then["stored"], known),
        "in_flight_ratio": ratio(by_then["sent"] - known, by_then["sent"]),
        **completion.metrics(completion.of_ledger(found["completion"]), deadlines_s),
        **trades.quantiles(rtt, processing),
        "rtt_ms_mean": 1e3 * histograms.mean_s(found["rtt"]),
        **_block_sizes(found["blocks"], stored),
    }


def fates(found: AggregateSummary) -> dict[str, Any]:
    """Return what `fates.of` does of every transaction."""
    every = found["all"]
    lost = sum(found["lost"].values())
    assert lost == every["lost"], "a transaction has no fate"
    return {
        "sent": every["sent"],
        "stored": every["stored"],
        "lost": dict(found["lost"]),
        "in_flight": every["sent"] - every["stored"] - lost,
    }


def _block_sizes(sizes: Sizes, stored: float) -> dict[str, float]:
    found = {"min": sizes["min"], "mean": ratio(sizes["sum"], stored), "max": sizes["max"]}
    return {
        f"stored_block_bytes_{name}": math.nan if value is None else float(value)
        for name, value in found.items()
    }
