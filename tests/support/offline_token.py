"""Offline tokens read and verified with PyNaCl alone, for tests.

Nothing here calls our code: it follows the format, 149 + 138 k bytes for k recipients, and 16 bytes
of challenge in every pair after the first where the top bit of the count says so.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise

from nacl.signing import VerifyKey

CHALLENGED = 0x8000


@dataclass(frozen=True)
class Pair:
    key: bytes
    challenge: bytes
    proof: bytes


@dataclass(frozen=True)
class Token:
    serial: bytes
    value: int
    authority: bytes
    nonce: bytes
    pairs: tuple[Pair, ...]

    def encode(self) -> bytes:
        mark = CHALLENGED if self.pairs[-1].challenge else 0
        head = struct.pack(
            ">H8sB74s64s",
            len(self.pairs) | mark,
            self.serial,
            self.value,
            self.authority,
            self.nonce,
        )
        return head + b"".join(pair.key + pair.challenge + pair.proof for pair in self.pairs)

    def signed(self) -> list[tuple[bytes, bytes, bytes]]:
        """Return signer, message and proof of every pair."""
        first = self.pairs[0]
        minted = self.serial + bytes([self.value]) + self.nonce + first.key
        handed = [
            (giver.key, giver.proof + taker.key + taker.challenge, taker.proof)
            for giver, taker in pairwise(self.pairs)
        ]
        return [(self.authority, minted, first.proof), *handed]


def decode_batch(data: bytes) -> list[Token]:
    tokens = []
    while data:
        marked, serial, value, authority, nonce = struct.unpack(">H8sB74s64s", data[:149])
        data = data[149:]
        pairs = []
        for place in range(marked & ~CHALLENGED):
            challenge_bytes = 16 if marked & CHALLENGED and place else 0
            key, challenge, proof = struct.unpack(
                f"74s{challenge_bytes}s64s", data[: 138 + challenge_bytes]
            )
            pairs.append(Pair(key, challenge, proof))
            data = data[138 + challenge_bytes :]
        tokens.append(Token(serial, value, authority, nonce, tuple(pairs)))
    return tokens


def verify(token: Token) -> None:
    """Raise BadSignatureError unless every proof holds."""
    for signer, message, proof in token.signed():
        VerifyKey(signer[42:]).verify(message, proof)
