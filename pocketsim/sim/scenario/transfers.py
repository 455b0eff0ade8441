"""One-way messages and batches of tokens that go round, as protocol families of scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.sim.base import token_bytes
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario import trades
from pocketsim.sim.scenario.workloads import Paced, Poisson

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for what only a town has, and for a batch that holds no token."""
    trades.check(scenario, path)
    workload = scenario.workload
    if scenario.protocol.kind != "token_batch" or not isinstance(workload, Paced | Poisson):
        return
    token, smallest = token_bytes.size(1), min(workload.payload)
    if smallest < token:
        reason = f"a batch of {smallest} B holds no token; one takes {token} B"
        raise ScenarioError(path, "workload.payload", reason, f"{token}B")


def message_bytes(scenario: Scenario, payload_bytes: int) -> int:
    """Return the bytes of a message, or of a batch when it comes back."""
    if scenario.protocol.kind == "transfer":
        return payload_bytes
    # Each phone of the ring names the next, and the last one the authority again.
    return payload_bytes // token_bytes.size(1) * token_bytes.size(scenario.phone_count())
