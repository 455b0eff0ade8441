"""Checks of laws of durations: those that mean nothing, or overflow a double, are refused.

Mistakes are `ScenarioError`s with the place of the mistake. `sim.plan.churn` and `sim.plan.town`
draw from the laws.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario import android
from pocketsim.sim.scenario.battery import Battery
from pocketsim.sim.scenario.churn import Churn
from pocketsim.sim.scenario.town import Contacts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.lengths import Lengths


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for the first law of `scenario` that cannot be drawn from."""
    if isinstance(scenario.contacts, Contacts):
        duration = scenario.contacts.duration
        _check_not_instant(path, "contacts.duration", {"shortest": duration.shortest})
    laws: dict[str, object] = {"churn": scenario.churn}
    laws |= {
        f"devices[{number}].churn": group.churn for number, group in enumerate(scenario.devices)
    }
    for place, churn in laws.items():
        if isinstance(churn, Churn):
            _check_lengths(path, place, {"session": churn.session, "gap": churn.gap})
    for place, law in android.laws(scenario).items():
        for key, episodes in law.episodes().items():
            _check_lengths(path, f"{place}.{key}", {"length": episodes.length})
    batteries: dict[str, object] = {"battery": scenario.battery}
    batteries |= {
        f"devices[{number}].battery": group.battery for number, group in enumerate(scenario.devices)
    }
    for place, battery in batteries.items():
        if isinstance(battery, Battery) and battery.charging is not None:
            _check_lengths(path, f"{place}.charging", {"length": battery.charging.length})


def _check_lengths(path: Path, section: str, laws: Mapping[str, Lengths]) -> None:
    for part, law in laws.items():
        place = f"{section}.{part}"
        middle, middle_s = law.middle_s
        _check_not_instant(path, place, {middle: middle_s, "longest": law.longest})
        if law.longest is not None and law.log_share_below(law.longest) < _NEVER:
            reason = f"no {part} is that short: one in 10^{-_NEVER / math.log(10):.0f} or fewer"
            raise ScenarioError(path, f"{place}.longest", reason)


def _check_not_instant(path: Path, place: str, lengths_s: dict[str, float | None]) -> None:
    for key, length_s in lengths_s.items():
        if length_s is not None and length_s < _SHORTEST_S:
            raise ScenarioError(path, f"{place}.{key}", "is less than a nanosecond")


_NEVER = -500.0  # 1e-217: times the least share that is drawn, 1e-16, it is still a normal number
_SHORTEST_S = 1e-9
