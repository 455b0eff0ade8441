"""What a task of computing phones is about: which options it has, and on how many bytes it works.

The tasks themselves are in sim/protocols/src/compute.rs.
"""

from __future__ import annotations


def has_recipients(task: str) -> bool:
    """Return whether the number of a token's recipients changes the task."""
    return task in {"verify_token", "verify_packet", "handle_packet"}


def payload_bytes(task: str, asked_bytes: int, recipients: int) -> int:
    """Return the bytes of one operation or packet, or those that the proofs of a token are over.

    The first proof is over 147 bytes, each later one over 138 (offline token thesis, equation 2).
    """
    if task == "sign_token":
        return _FIRST_PROOF_BYTES
    if task == "verify_token":
        return _FIRST_PROOF_BYTES + (recipients - 1) * _NEXT_PROOF_BYTES
    return asked_bytes


_FIRST_PROOF_BYTES = 147
_NEXT_PROOF_BYTES = 138
