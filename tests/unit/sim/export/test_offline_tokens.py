"""Offline tokens of the Rust code, read, verified and made again with PyNaCl alone.

`offline_tokens_rust.json` was written by `sim/protocols/tests/token/vectors.rs`, which also reads
what Python made. Nothing here calls the Rust code: both sides follow the format on their own.
"""

from __future__ import annotations

import json
from hashlib import sha256, sha512
from itertools import pairwise
from pathlib import Path

import pytest
from nacl import bindings
from nacl.signing import SigningKey

from pocketsim.sim.export.findings import MalformedError
from pocketsim.sim.export.offline_token import Pair, Token, decode_batch, verify

VECTORS = Path(__file__).resolve().parents[4] / "sim" / "protocols" / "tests" / "vectors"
HANDS = ("alice", "bob", "carol", "authority")


def secret(name: str) -> SigningKey:
    return SigningKey(sha256(f"ed25519 {name}".encode()).digest())


def public(name: str) -> bytes:
    curve = bindings.crypto_scalarmult_base(sha256(f"curve {name}".encode()).digest())
    return b"LibNaCLPK:" + curve + bytes(secret(name).verify_key)


def challenge_of(name: str) -> bytes:
    return sha256(f"challenge {name}".encode()).digest()[:16]


def make(
    serial: str, value: int, nonce: bytes, hands: tuple[str, ...], *, challenged: bool
) -> Token:
    """Return a token of the authority that went through these hands."""
    message = serial.encode() + bytes([value]) + nonce + public(hands[0])
    proof = secret("authority").sign(message).signature
    pairs = [Pair(public(hands[0]), b"", proof)]
    for giver, taker in pairwise(hands):
        challenge = challenge_of(taker) if challenged else b""
        message = pairs[-1].proof + public(taker) + challenge
        pairs.append(Pair(public(taker), challenge, secret(giver).sign(message).signature))
    return Token(serial.encode(), value, public("authority"), nonce, tuple(pairs))


@pytest.fixture
def written() -> bytes:
    document = json.loads((VECTORS / "offline_tokens_rust.json").read_text())
    return bytes.fromhex(document["batch_hex"])


def test_every_proof_of_the_rust_code_verifies(written: bytes):
    tokens = decode_batch(written)
    assert [len(token.pairs) for token in tokens] == [1, 3, 4, 1, 3]
    assert [len(token.encode()) for token in tokens] == [287, 595, 749, 287, 563]
    sizes = {len(message) for token in tokens for _, message, _ in token.signed()}
    assert sizes == {147, 138, 154}
    for token in tokens:
        verify(token)
    assert b"".join(token.encode() for token in tokens) == written


def test_every_bit_matters(written: bytes):
    token = decode_batch(written)[1]
    for place in range(2, len(token.encode())):
        altered = bytearray(token.encode())
        altered[place] ^= 1
        # The prefix of a signer's key, its Curve25519 half: what is signed covers them too, but
        # for those of the authority, whose key's halves nobody signs.
        if 11 <= place < 53:
            continue
        with pytest.raises(MalformedError):
            verify(decode_batch(bytes(altered))[0])


def test_the_same_tokens_are_made_here(written: bytes):
    fresh = sha512(b"nonce serial-3").digest()
    plain = sha512(b"nonce serial-4").digest()
    again = challenge_of("authority") + sha512(b"nonce again").digest()[16:]
    made = [
        make("serial-3", 9, fresh, HANDS[:1], challenged=True),
        make("serial-3", 9, fresh, HANDS[:3], challenged=True),
        make("serial-3", 9, fresh, HANDS, challenged=True),
        make("serial-3", 9, again, ("carol",), challenged=True),
        make("serial-4", 15, plain, HANDS[:3], challenged=False),
    ]
    assert made == decode_batch(written)


def test_tokens_made_in_python_verify():
    """The file that the Rust tests read; it was made by Python, not by this code."""
    document = json.loads((VECTORS / "offline_tokens.json").read_text())
    tokens = decode_batch(bytes.fromhex(document["batch_hex"]))
    nonces = [sha512(f"nonce serial-{number}".encode()).digest() for number in (1, 2)]
    assert tokens == [
        make("serial-1", 1, nonces[0], HANDS[:1], challenged=False),
        make("serial-2", 200, nonces[1], HANDS[:3], challenged=False),
    ]
    for token in tokens:
        verify(token)
