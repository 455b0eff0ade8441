"""Apps that people open: a section of the scenario document.

Presence laws and files say when a phone is on in the background, whatever its owner does. Who
trades or pays has the app open meanwhile: what becomes of that is `sim.plan.foreground`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from pocketsim.sim.base.documents import Duration, Section, written
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.lengths import Lengths

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


class Foreground(Section):
    """People have the app open around what they ask it for: their phone is on then."""

    lead: Duration = Field(
        default=written("5s"), description="The app is opened so long before; assumed."
    )
    stay: Lengths = Field(description="How long it stays open after.")
    whose: Literal["asker", "both"] = Field(
        default="asker",
        description="asker: who proposes or pays has the app open; both: the other, too.",
    )


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError where no phone could be opened."""
    if scenario.foreground is None:
        return
    groups = [group.churn for group in scenario.devices]
    if scenario.churn is None and all(law is None or law.kind == "none" for law in groups):
        reason = "every phone is always on; [churn] says how phones come and go"
        raise ScenarioError(path, "foreground", reason)
    if scenario.workload.kind in _AT_NO_TIME:
        reason = f'nobody opens the app for workload "{scenario.workload.kind}"'
        raise ScenarioError(path, "foreground", reason)


_AT_NO_TIME = ("paced", "compute")
"""Workloads in which programs, not people, say when something is done."""
