"""The rules of a protocol family: functions that its module in this folder must have."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, cast

from pocketsim.sim.base.families import family

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


class FamilyRules(Protocol):
    """What a scenario of the family must be, and how it is resolved."""

    def check(self, scenario: Scenario, path: Path) -> None:
        """Raise ScenarioError for the first thing that does not fit the family."""

    def lists(self, scenario: Scenario) -> dict[str, Sequence[Any]]:
        """Return the fields of the family's own that take lists, by key in the document."""

    def options(self, scenario: Scenario, at: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `protocol` of a resolved scenario has of the family's own at one rung."""

    def message_bytes(self, scenario: Scenario, payload_bytes: int) -> int:
        """Return the size of the largest message that a payload makes, 0 where none is known."""


def of(scenario: Scenario) -> FamilyRules:
    """Return the rules of a scenario's family."""
    names = ("trades", family(scenario.protocol.kind).module)
    usual, own = (importlib.import_module(f"{__package__}.{name}") for name in names)
    return cast("FamilyRules", SimpleNamespace(**(vars(usual) | vars(own))))
