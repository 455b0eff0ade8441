"""What the probe's libraries make, libsodium takes.

The other way round is tested in the probe's kernels. Seed and secret are the bytes 0 to 31; the
vectors were made once by the crates of the probe, ed25519-dalek 2.2 and crypto_box 0.9.
"""

from __future__ import annotations

import pytest
from nacl import bindings
from nacl.exceptions import CryptoError

SEED = bytes(range(32))
SIGNATURE = bytes.fromhex(
    "abbcd48de35f2961afec32ade2f19d4dbd28747cfb34a1f6dc064b54f5c22838"
    "9244ac66ecce9bf062c01b0a57ceeb68325641631dc8026764c5e9cb44508009"
)
SEALED = bytes.fromhex(
    "81e535db821bf88eb9b9b93c101c8339b7024d8e47cf21bb894bf03d2ef7da77"
    "a1b4653afa3462b864b28afb614c7b12517c36c2aacda7f5cde81d90861644da"
    "8cc37994d44423e6e0fd59540ed150b521af0669bea24c1e"
)


def test_a_signature_of_the_probe_verifies():
    public, secret = bindings.crypto_sign_seed_keypair(SEED)
    message = b"signed by the probe, verified by libsodium"
    assert bindings.crypto_sign_open(SIGNATURE + message, public) == message
    # Ed25519 leaves nothing to chance: both sign alike.
    assert bindings.crypto_sign(message, secret) == SIGNATURE + message
    with pytest.raises(CryptoError):
        bindings.crypto_sign_open(SIGNATURE + message[:-1], public)


def test_a_sealed_box_of_the_probe_opens():
    public = bindings.crypto_scalarmult_base(SEED)
    opened = bindings.crypto_box_seal_open(SEALED, public, SEED)
    assert opened == b"sealed by the probe, opened by libsodium"
    with pytest.raises(CryptoError):
        bindings.crypto_box_seal_open(SEALED[:-1] + b"\0", public, SEED)
