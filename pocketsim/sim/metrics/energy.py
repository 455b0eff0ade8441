"""What energy a run took, per payment or transaction; totals by component are in `energy_j`.

The engine adds joules up (sim/engine/src/record/energy.rs) over every phone but the tokens'
authority, where the scenario says what draws how much. What a phone draws when idle, and its
battery, are not in them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.sim.metrics import family_metrics
from pocketsim.sim.metrics.definition import Metric
from pocketsim.sim.trace.columns import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.scenario.resolved import Resolved


def names(resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run has: none unless its scenario has powers and transactions."""
    one = family_metrics.of(resolved).TRANSACTION
    if resolved["energy"] is None or one is None:
        return ()
    return tuple(metrics(one))


def metrics(one: str) -> dict[str, Metric]:
    """Return how the metrics of a family are defined that counts energy for each of `one`."""
    completed = "stored" if one == "transaction" else "completed"
    return {
        f"{part}_mj_per_{one}": Metric("mJ", f"{sum_of} / {completed}", meaning)
        for part, (sum_of, meaning) in _MEANINGS.items()
    }


def measure(
    found: Mapping[str, float], resolved: Resolved, energy_j: Mapping[str, float]
) -> dict[str, float]:
    """Return millijoules per completed payment, or per stored transaction, of one repetition.

    `found` are its other metrics, `energy_j` its joules by component; NaN where they do not tell.
    """
    if not names(resolved):
        return {}
    family = family_metrics.of(resolved)
    one, completed = family.TRANSACTION, found.get(family.COMPLETED, math.nan)
    total_mj = 1e3 * math.fsum(energy_j.values()) if energy_j else math.nan
    parts_mj = {part: 1e3 * _sum(energy_j, components) for part, components in _PARTS.items()}
    per_one = {**parts_mj, "energy": total_mj}
    return {f"{part}_mj_per_{one}": ratio(mj, completed) for part, mj in per_one.items()}


def _sum(energy_j: Mapping[str, float], components: tuple[str, ...]) -> float:
    return math.fsum(energy_j.get(name, math.nan) for name in components)


_MEANINGS = {
    "cpu": ("E_cpu", "busy cores of all phones but the authority"),
    "contact": ("E_contact", "links between phones near each other, both ends"),
    "access": (
        "E_access_active + E_access_tail + E_access_promotion",
        "radios of access networks: active, tails, wake-ups",
    ),
    "energy": ("sum(E)", "all components together"),
}
_PARTS = {
    "cpu": ("cpu",),
    "contact": ("contact",),
    "access": ("access_active", "access_tail", "access_promotion"),
}
