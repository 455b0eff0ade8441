"""One-way messages and batches of tokens that go round, as protocol families of scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.base import token_bytes
from sim.scenario.trades import check, lists, options

if TYPE_CHECKING:
    from sim.scenario.document import Scenario

__all__ = ["check", "lists", "message_bytes", "options"]


def message_bytes(scenario: Scenario, payload_bytes: int) -> int:
    """Return the bytes of a message, or of a batch when it comes back."""
    if scenario.protocol.kind == "transfer":
        return payload_bytes
    # Each phone of the ring names the next, and the last one the authority again.
    return payload_bytes // token_bytes.size(1) * token_bytes.size(scenario.phone_count())
