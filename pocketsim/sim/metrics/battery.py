"""What batteries came to: phones that died of an empty one, and the app's part in it.

Of runs whose phones have batteries. The engine keeps the levels (sim/engine/src/phone/battery.rs);
what the app takes is the energy of `sim.metrics.energy`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.sim.metrics.definition import Metric
from pocketsim.sim.scenario.resolved import has_batteries
from pocketsim.sim.trace.columns import ratio

if TYPE_CHECKING:
    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import Resolved

METRICS = {
    "battery_death_count": Metric(
        "1", "deaths", "how often a phone went off because its battery was empty"
    ),
    "battery_dead_ratio": Metric(
        "1",
        "time dead / (phones T)",
        "share of the time that a phone with a battery is dead: from then until it is charged "
        "enough, mean",
    ),
    "battery_level_end_ratio": Metric(
        "1", "mean(level / capacity)", "level of a battery when the run ends, mean"
    ),
    "battery_app_ratio": Metric(
        "1",
        "E_app / (E_app + E_other)",
        "of what phones with a battery drew, also while plugged in, the share of the simulated app",
    ),
}
RATIOS = dict.fromkeys(
    ("battery_dead_ratio", "battery_level_end_ratio", "battery_app_ratio"), "battery_phones"
)
COUNTS = ("battery_death_count",)


def names(resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run has: none without batteries, no share without prices."""
    if not has_batteries(resolved):
        return ()
    unpriced = resolved["energy"] is None
    return tuple(name for name in METRICS if not (unpriced and name == "battery_app_ratio"))


def measure(resolved: Resolved, said: EngineOutput) -> dict[str, float]:
    """Return the metrics of one repetition; NaN for what nobody told."""
    if not names(resolved):
        return {}
    found = said.get("battery")
    if not found:
        return dict.fromkeys((*METRICS, "battery_phones"), math.nan)
    phones = found["phones"]
    return {
        "battery_death_count": float(found["deaths"]),
        "battery_dead_ratio": ratio(found["dead_s"], phones * resolved["run"]["duration_s"]),
        "battery_level_end_ratio": ratio(found["level_end_ratio_sum"], phones),
        "battery_app_ratio": ratio(found["app_j"], found["app_j"] + found["other_j"]),
        "battery_phones": float(phones),
    }
