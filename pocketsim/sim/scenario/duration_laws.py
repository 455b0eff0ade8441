"""Checks of laws of durations: those that mean nothing, or overflow a double, are refused.

Mistakes are `ScenarioError`s with the place of the mistake. `sim.plan.churn` and `sim.plan.town`
draw from the laws.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.churn import Churn
from pocketsim.sim.scenario.town import Contacts

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for the first law of `scenario` that cannot be drawn from."""
    if isinstance(scenario.contacts, Contacts):
        duration = scenario.contacts.duration
        _check_not_instant(path, "contacts.duration", {"shortest": duration.shortest})
    if isinstance(scenario.churn, Churn):
        _check_churn(path, "churn", scenario.churn)
    for number, group in enumerate(scenario.devices):
        if isinstance(group.churn, Churn):
            _check_churn(path, f"devices[{number}].churn", group.churn)


def _check_churn(path: Path, churn_place: str, churn: Churn) -> None:
    for part, law in (("session", churn.session), ("gap", churn.gap)):
        place = f"{churn_place}.{part}"
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
