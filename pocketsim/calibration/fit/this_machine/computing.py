"""What computes: libsodium through PyNaCl, JSON and struct, and PyPI's `ed25519` if it is there.

Kernels are called as the probe calls its own; those that it does not have price nothing.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import struct
from typing import TYPE_CHECKING

from nacl import bindings

from pocketsim.calibration.fit.this_machine.rounds import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = (64, 668, 4096)
"""Bytes: below, at and above the size that relative errors are taken at."""

PAYLOADS = (10, 100, 1000)
"""Bytes of the payload of the blocks that are encoded and decoded."""


def computing() -> Iterator[Batch]:
    """Yield the works that compute alone."""
    for size_bytes in SIZES:
        message = bytes(number % 251 for number in range(size_bytes))
        yield from _libsodium(message)
        if importlib.util.find_spec("ed25519") is not None:
            yield from _pypi_ed25519(message)
    for payload_bytes in PAYLOADS:
        yield from _json(payload_bytes)
    yield from _struct()


def _libsodium(message: bytes) -> Iterator[Batch]:
    public, secret = bindings.crypto_sign_seed_keypair(_SEED)
    box_public, box_secret = bindings.crypto_box_seed_keypair(_SEED)
    signed = bindings.crypto_sign(message, secret)
    sealed = bindings.crypto_box_seal(message, box_public)
    works: dict[str, Callable[[], object]] = {
        "ed25519_sign": lambda: bindings.crypto_sign(message, secret),
        "ed25519_verify": lambda: bindings.crypto_sign_open(signed, public),
        "sha256": lambda: bindings.crypto_hash_sha256(message),
        "sealed_box_seal": lambda: bindings.crypto_box_seal(message, box_public),
        "sealed_box_open": lambda: bindings.crypto_box_seal_open(sealed, box_public, box_secret),
    }
    for kernel, run in works.items():
        yield Batch(kernel, len(message), run)


def _pypi_ed25519(message: bytes) -> Iterator[Batch]:
    import ed25519  # type: ignore[import-not-found]  # which nothing here requires

    signer = ed25519.SigningKey(_SEED)
    verifier, signature = signer.get_verifying_key(), signer.sign(message)
    yield Batch("pypi_ed25519_sign", len(message), lambda: signer.sign(message))
    yield Batch("pypi_ed25519_verify", len(message), lambda: verifier.verify(signature, message))


def _json(payload_bytes: int) -> Iterator[Batch]:
    block = _block(payload_bytes)
    text = _encoded(block)
    yield Batch("block_encode", len(text), lambda: _encoded(block))
    yield Batch("block_decode", len(text), lambda: json.loads(text))


def _block(payload_bytes: int) -> dict[str, object]:
    """Return a block as those of the theses: two keys, two signatures and two hashes, as text."""
    key, signature = (base64.b64encode(bytes(size)).decode() for size in (32, 64))
    return {
        "proposer": 1,
        "payload": "x" * payload_bytes,
        **dict.fromkeys(("sender_pubkey", "receiver_pubkey"), key),
        **dict.fromkeys(("sender_sig", "receiver_sig"), signature),
        **dict.fromkeys(("prev_hash_sender", "prev_hash_receiver"), key),
        "index": 10_000,
    }


def _encoded(block: dict[str, object]) -> bytes:
    return json.dumps(block, separators=(",", ":")).encode()


def _struct() -> Iterator[Batch]:
    """Yield packing of a half-block's fixed fields: keys, sequence numbers, a hash, a signature."""
    form = struct.Struct(">74sI74sI32s64sQ")
    fields = (bytes(74), 1, bytes(74), 1, bytes(32), bytes(64), 1)
    packed = form.pack(*fields)
    yield Batch("struct_pack", form.size, lambda: form.pack(*fields))
    yield Batch("struct_unpack", form.size, lambda: form.unpack(packed))


_SEED = bytes(range(32))
