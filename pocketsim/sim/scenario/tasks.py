"""What a task of computing phones is about: which options it has, and on how many bytes it works.

The tasks themselves are in sim/protocols/src/compute.rs.
"""

from __future__ import annotations

from pocketsim.sim.base import token_bytes


def has_recipients(task: str) -> bool:
    """Return whether the number of a token's recipients changes the task."""
    return task in {"verify_token", "verify_packet", "handle_packet"}


def traced_bytes(task: str, asked_bytes: int, recipients: int, tokens: int) -> int:
    """Return the bytes that one task is about, which a row of the trace has for its size.

    `recipients` are at least one. An EVA packet has a head before the `asked_bytes` in it.
    """
    if task in {"sign", "verify"}:
        return asked_bytes
    if task in {"sign_token", "verify_token"}:
        return tokens * payload_bytes(task, asked_bytes, recipients)
    come_bytes, go_bytes = tokens * token_bytes.size(recipients), tokens * token_bytes.size(1)
    carried = {"verify_packet": (come_bytes,), "sign_packet": (go_bytes,)}
    packets = sum(
        -(-part_bytes // asked_bytes) for part_bytes in carried.get(task, (come_bytes, go_bytes))
    )
    return packets * (_PACKET_HEAD_BYTES + asked_bytes)


def payload_bytes(task: str, asked_bytes: int, recipients: int) -> int:
    """Return the bytes of one operation or packet, or those that the proofs of a token are over.

    The first proof is over 147 bytes, each later one over 138 (offline token thesis, equation 2).
    """
    if task == "sign_token":
        return _FIRST_PROOF_BYTES
    if task == "verify_token":
        return _FIRST_PROOF_BYTES + (recipients - 1) * _NEXT_PROOF_BYTES
    return asked_bytes


_PACKET_HEAD_BYTES = 119  # SIGNED_HEAD_BYTES of sim/protocols/src/transport/eva/message.rs
_FIRST_PROOF_BYTES = 147
_NEXT_PROOF_BYTES = 138
