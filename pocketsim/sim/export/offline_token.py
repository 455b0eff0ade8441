"""Offline tokens as bytes, read and verified with PyNaCl alone.

Nothing here calls the engine: it follows the format, 149 + 138 k bytes for k recipients, and 16
bytes of challenge in every pair after the first where the top bit of the count says so. Whatever is
not exactly that is refused. What deliberately does not live here: whose a token should be, and
tokens that were spent twice (`sim.export.token_check`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from pocketsim.sim.export.findings import MalformedError

CHALLENGED = 0x8000
"""Marks, in the count of recipients, the layout with challenges."""


@dataclass(frozen=True)
class Pair:
    """A recipient: 74 bytes of key, 16 or none of challenge, 64 of the giver's signature."""

    key: bytes
    challenge: bytes
    proof: bytes


@dataclass(frozen=True)
class Token:
    """One coin and its way, from whom the authority gave it to on."""

    serial: bytes
    value: int
    authority: bytes
    nonce: bytes
    pairs: tuple[Pair, ...]

    def encode(self) -> bytes:
        """Return the bytes that go over the air."""
        mark = CHALLENGED if self.pairs[-1].challenge else 0
        count = len(self.pairs) | mark
        head = (count, self.serial, self.value, self.authority, self.nonce)
        pairs = (pair.key + pair.challenge + pair.proof for pair in self.pairs)
        return _HEAD.pack(*head) + b"".join(pairs)

    def signed(self) -> list[tuple[bytes, bytes, bytes]]:
        """Return signer, message and proof of every pair."""
        first = self.pairs[0]
        minted = self.serial + bytes([self.value]) + self.nonce + first.key
        handed = [
            (giver.key, giver.proof + taker.key + taker.challenge, taker.proof)
            for giver, taker in pairwise(self.pairs)
        ]
        return [(self.authority, minted, first.proof), *handed]


def decode(data: bytes) -> Token:
    """Return the token of these bytes; raise MalformedError if they are anything else or more."""
    token, rest = _take(data)
    if rest:
        raise MalformedError(f"{len(rest)} bytes follow the token")
    return token


def decode_batch(data: bytes) -> list[Token]:
    """Return tokens that stand one after the other; raise MalformedError for anything else."""
    tokens = []
    while data:
        token, data = _take(data)
        tokens.append(token)
    return tokens


def verify(token: Token) -> None:
    """Raise MalformedError, which names the first bad pair, unless every proof holds."""
    for place, (signer, message, proof) in enumerate(token.signed(), start=1):
        try:
            VerifyKey(signer[_ED25519]).verify(message, proof)
        except (BadSignatureError, ValueError):
            giver = f"recipient {place - 1}" if place > 1 else "the authority"
            raise MalformedError(f"{giver} did not sign pair {place}") from None


def _take(data: bytes) -> tuple[Token, bytes]:
    head, data = _split(data, _HEAD.size)
    marked, serial, value, authority, nonce = _HEAD.unpack(head)
    count, is_challenged = marked & ~CHALLENGED, bool(marked & CHALLENGED)
    if count == 0 or (count == 1 and is_challenged):
        raise MalformedError(f"its count of recipients is {marked:#06x}")
    pairs = []
    for place in range(count):
        layout = _CHALLENGED_PAIR if is_challenged and place else _PAIR
        pair, data = _split(data, layout.size)
        pairs.append(Pair(*layout.unpack(pair)))
    if not all(key.startswith(_PREFIX) for key in (authority, *(pair.key for pair in pairs))):
        raise MalformedError(f"a key does not start with {_PREFIX.decode()}")
    return Token(serial, value, authority, nonce, tuple(pairs)), data


def _split(data: bytes, size: int) -> tuple[bytes, bytes]:
    if len(data) < size:
        raise MalformedError("it is cut short")
    return data[:size], data[size:]


_HEAD = struct.Struct(">H8sB74s64s")  # recipients, serial, value, authority, nonce
_PAIR = struct.Struct("74s0s64s")
_CHALLENGED_PAIR = struct.Struct("74s16s64s")
_PREFIX = b"LibNaCLPK:"
_ED25519 = slice(42, 74)  # behind the prefix and the Curve25519 half, which signs nothing
