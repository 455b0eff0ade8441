"""Trades over TrustChain, as a protocol family of scenarios; they have no options of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.engine_facts import BLOCK_BYTES, PAYLOAD_BYTES_MIN
from pocketsim.sim.scenario import town

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for what only a town has."""
    town.refuse(scenario, path)


def lists(_scenario: Scenario) -> dict[str, Sequence[Any]]:
    """Return no lists."""
    return {}


def options(_scenario: Scenario, _at: Mapping[str, Any]) -> dict[str, Any]:
    """Return no options."""
    return {}


def message_bytes(_scenario: Scenario, payload_bytes: int) -> int:
    """Return the bytes of a block around a payload."""
    return BLOCK_BYTES + max(payload_bytes, PAYLOAD_BYTES_MIN)
