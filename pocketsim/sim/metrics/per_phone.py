"""What a run takes of each phone in a day: core seconds, joules by cause, MB of access networks.

Phones are all but the tokens' authority. A day is the run's duration, scaled up or down to 24 h:
that is a day of a phone only if the run is as long as what it repeats. The engine adds joules up
where the scenario says what draws how much (sim/engine/src/record/energy.rs), and counts bytes in
any case.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.sim.metrics import family_metrics
from pocketsim.sim.metrics.definition import Metric

if TYPE_CHECKING:
    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import Resolved

_CAUSES = {
    "cpu": "busy cores",
    "contact": "links between phones near each other",
    "access_active": "radios of access networks that send or receive",
    "access_tail": "radios of access networks that are silent and not asleep yet",
    "access_promotion": "radios of access networks that wake up",
}
_SCALED = "of a phone in 24 h, scaled from the run's duration"
ENERGY = {
    "energy_j_per_phone_day": Metric("J", "sum(E) / phones / days", f"all joules {_SCALED}"),
    **{
        f"{cause}_j_per_phone_day": Metric(
            "J", f"E_{cause} / phones / days", f"joules {_SCALED}: {words}"
        )
        for cause, words in _CAUSES.items()
    },
}
USE = {
    "core_s_per_phone_day": Metric(
        "s", "core seconds / phones / days", f"core seconds that the program computes, {_SCALED}"
    ),
    "mb_per_phone_day": Metric(
        "MB",
        "bytes sent and received / phones / days / 10^6",
        f"sent and received over access networks, with all headers, {_SCALED}",
    ),
}
METRICS = {**ENERGY, **USE}


def names(resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run has: none where phones only compute, joules if priced."""
    if family_metrics.of(resolved).TRANSACTION is None:
        return ()
    return tuple(USE if resolved["energy"] is None else METRICS)


def measure(resolved: Resolved, said: EngineOutput) -> dict[str, float]:
    """Return the metrics of one repetition; NaN for what the engine did not tell."""
    known = names(resolved)
    if not known:
        return {}
    days = phone_days(resolved)
    energy_j, counters = said["energy_j"], said["counters"]
    total_j = math.fsum(energy_j.values()) if energy_j else math.nan
    # Counters of nothing are left out; where there are none at all, nothing was told.
    carried_bytes = counters.get("phone_access_bytes", 0) if counters else math.nan
    found = {
        "energy_j_per_phone_day": total_j / days,
        **{f"{cause}_j_per_phone_day": energy_j.get(cause, math.nan) / days for cause in _CAUSES},
        "core_s_per_phone_day": said.get("phone_cpu_s", math.nan) / days,
        "mb_per_phone_day": carried_bytes / _MB / days,
    }
    return {name: found[name] for name in known}


def phone_days(resolved: Resolved) -> float:
    """Return how many days of one phone a repetition is, over all phones but the authority."""
    return phones(resolved) * resolved["run"]["duration_s"] / _DAY_S


def phones(resolved: Resolved) -> int:
    """Return how many phones there are beside the authority."""
    return sum(group["count"] for group in resolved["devices"] if group["role"] != "authority")


_MB = 1e6
_DAY_S = 86_400.0
