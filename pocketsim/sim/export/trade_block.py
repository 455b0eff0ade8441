"""Blocks of TrustChain as bytes, read and verified with PyNaCl alone.

A block is shared by both parties: compact JSON of eight fields, in one spelling. The proposer signs
it without both signatures and without its countersigner's previous hash, the countersigner without
its own signature, and the hash covers all of it. Nothing here calls the engine. What deliberately
does not live here: chains (`sim.export.block_check`).
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, replace

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from pocketsim.sim.export.findings import MalformedError


@dataclass(frozen=True)
class Block:
    """One trade; signatures and hashes are empty where there is none."""

    payload: str
    sender_pubkey: bytes
    receiver_pubkey: bytes
    sender_sig: bytes
    receiver_sig: bytes
    prev_hash_sender: bytes
    prev_hash_receiver: bytes
    index: int

    def encode(self) -> bytes:
        """Return the bytes that go over the air."""
        texts = {
            "payload": self.payload,
            "sender_pubkey": _base64(self.sender_pubkey),
            "receiver_pubkey": _base64(self.receiver_pubkey),
            "sender_sig": _base64(self.sender_sig),
            "receiver_sig": _base64(self.receiver_sig),
            "prev_hash_sender": self.prev_hash_sender.hex(),
            "prev_hash_receiver": self.prev_hash_receiver.hex(),
        }
        fields = "".join(f'"{name}":"{text}",' for name, text in texts.items())
        return f'{{{fields}"index":{self.index}}}'.encode()

    def proposal(self) -> bytes:
        """Return what the proposer signed."""
        unsigned = replace(self, sender_sig=b"", receiver_sig=b"", prev_hash_receiver=b"")
        return unsigned.encode()

    def agreement(self) -> bytes:
        """Return what the countersigner signed."""
        return replace(self, receiver_sig=b"").encode()

    def number(self) -> int:
        """Return the number of its transaction, which the payload begins with."""
        return int(self.payload.rstrip(_FILLER))


def digest(data: bytes) -> bytes:
    """Return what the next block of either chain refers to a block of these bytes by."""
    return hashlib.sha256(data).digest()


def decode(data: bytes) -> Block:
    """Return the block of these bytes; raise MalformedError for any other spelling."""
    found = _SPELLING.fullmatch(data)
    if found is None:
        raise MalformedError("it is not the compact JSON of a block")
    texts = {name: text.decode() for name, text in found.groupdict().items()}
    block = Block(
        payload=texts["payload"],
        sender_pubkey=base64.b64decode(texts["sender_pubkey"]),
        receiver_pubkey=base64.b64decode(texts["receiver_pubkey"]),
        sender_sig=base64.b64decode(texts["sender_sig"]),
        receiver_sig=base64.b64decode(texts["receiver_sig"]),
        prev_hash_sender=bytes.fromhex(texts["prev_hash_sender"]),
        prev_hash_receiver=bytes.fromhex(texts["prev_hash_receiver"]),
        index=int(texts["index"]),
    )
    if block.encode() != data:  # base64 has bits to spare in its last digit
        raise MalformedError("a key or a signature is not spelt as base64 spells it")
    return block


def verify(block: Block) -> None:
    """Raise MalformedError unless both parties, who are two, signed it."""
    if block.sender_pubkey == block.receiver_pubkey:
        raise MalformedError("its proposer is its countersigner")
    for name, key, message, signature in (
        ("proposer", block.sender_pubkey, block.proposal(), block.sender_sig),
        ("countersigner", block.receiver_pubkey, block.agreement(), block.receiver_sig),
    ):
        try:
            VerifyKey(key).verify(message, signature)
        except (BadSignatureError, ValueError):
            raise MalformedError(f"its {name} did not sign it") from None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


_FILLER = "x"
_KEY = rb"[A-Za-z0-9+/]{43}="
_SIGNATURE = rb"[A-Za-z0-9+/]{86}=="
_HASH = rb"(?:[0-9a-f]{64})?"
_SPELLING = re.compile(
    rb'\{"payload":"(?P<payload>(?:[0-9]{4}|[1-9][0-9]{4,9})x*)",'
    rb'"sender_pubkey":"(?P<sender_pubkey>' + _KEY + rb')",'
    rb'"receiver_pubkey":"(?P<receiver_pubkey>' + _KEY + rb')",'
    rb'"sender_sig":"(?P<sender_sig>' + _SIGNATURE + rb')",'
    rb'"receiver_sig":"(?P<receiver_sig>' + _SIGNATURE + rb')",'
    rb'"prev_hash_sender":"(?P<prev_hash_sender>' + _HASH + rb')",'
    rb'"prev_hash_receiver":"(?P<prev_hash_receiver>' + _HASH + rb')",'
    rb'"index":(?P<index>[1-9][0-9]{0,19})\}'
)
