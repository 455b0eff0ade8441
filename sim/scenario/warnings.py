"""What a valid scenario asks for and its author may not mean: warnings, with key and reason.

A mistake that cannot be run is an error of `sim.scenario.consistency` or `limits`. Nothing is
printed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.base import token_bytes
from sim.base.engine_facts import BLOCK_BYTES, MESSAGE_BYTES_MAX, PAYLOAD_BYTES_MIN
from sim.scenario import app_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sim.scenario.document import Scenario


def warnings(scenario: Scenario) -> list[tuple[str, str]]:
    """Return pairs of a key path and what to know about it, in order of the document's sections."""
    return [*_oversized(scenario), *_stretched_faults(scenario)]


def _oversized(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield payloads whose messages a transport drops instead of sending."""
    limits_bytes = {**MESSAGE_BYTES_MAX, "eva": scenario.transport.eva.binary_size_limit}
    for mode in dict.fromkeys(scenario.transport.mode):
        for payload_bytes in dict.fromkeys(scenario.workload.payload):
            message_bytes = _message_bytes(scenario, payload_bytes)
            limit_bytes = limits_bytes.get(mode)
            if limit_bytes is not None and message_bytes > limit_bytes:
                text = (
                    f"{payload_bytes:,} B makes messages of up to {message_bytes:,} B; {mode} "
                    f"sends at most {limit_bytes:,} B and loses what is larger as `oversized`"
                )
                yield "workload.payload", text


def _message_bytes(scenario: Scenario, payload_bytes: int) -> int:
    """Return the size of the largest message that a payload makes, where that is known; else 0."""
    kind = scenario.protocol.kind
    if kind == "trustchain":
        return BLOCK_BYTES + max(payload_bytes, PAYLOAD_BYTES_MIN)
    if kind == "transfer":
        return payload_bytes
    if kind == "token_batch":
        # Each phone of the ring names the next, and the last one the authority again.
        return payload_bytes // token_bytes.size(1) * token_bytes.size(scenario.phone_count())
    return 0


def _stretched_faults(scenario: Scenario) -> Iterator[tuple[str, str]]:
    if app_faults.are_stretched(scenario):
        text = (
            "kept connections stall and break as those of the theses' app did, which is known of "
            f"two paced phones that trade for {app_faults.LONGEST_BENCHMARK_S:g} s, and not of this"
        )
        yield "transport.app_faults", text
