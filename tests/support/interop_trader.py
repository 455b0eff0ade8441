"""The other end of a trade, written from the formats alone: no code of the probe is in it.

Control messages, blocks and their signatures, with the Ed25519 of `cryptography`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

MAGIC = b"\xc5pst\x06"
HELLO, WELCOME, START, READY, FINISH, SUMMARY = range(1, 7)
COOKIE = 9
SIGNATURE_BYTES = 64
QUESTION_BYTES = 182  # without the signature: as long as the longest answer
CARRIERS = ["udp", "quic_reconnect", "quic_keep", "tftp"]
FIELDS = [
    "payload",
    "sender_pubkey",
    "receiver_pubkey",
    "sender_sig",
    "receiver_sig",
    "prev_hash_sender",
    "prev_hash_receiver",
    "index",
]


def text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def spelled(block: dict) -> bytes:
    return json.dumps({name: block[name] for name in FIELDS}, separators=(",", ":")).encode()


def without(block: dict, *names: str) -> bytes:
    return spelled({**block, **dict.fromkeys(names, "")})


class Trader:
    """A key pair with a chain: proposes, countersigns, stores."""

    def __init__(self):
        self.secret = Ed25519PrivateKey.generate()
        self.key = self.secret.public_key().public_bytes_raw()
        self.head = ""
        self.stored: list[bytes] = []

    def propose(self, receiver: bytes, index: int, payload_bytes: int = 100) -> dict:
        block = dict.fromkeys(FIELDS, "") | {
            "payload": f"{index - 1:04}".ljust(payload_bytes, "x"),
            "sender_pubkey": text(self.key),
            "receiver_pubkey": text(receiver),
            "prev_hash_sender": self.head,
            "index": index,
        }
        return block | {"sender_sig": text(self.secret.sign(self.proposal_bytes(block)))}

    @staticmethod
    def proposal_bytes(block: dict) -> bytes:
        return without(block, "sender_sig", "receiver_sig", "prev_hash_receiver")

    def countersign(self, proposal: bytes) -> bytes:
        """Return the agreement to a proposal for this key, and store it."""
        block = json.loads(proposal)
        assert spelled(block) == proposal, "one spelling for each block"
        assert block["receiver_pubkey"] == text(self.key)
        verify(block["sender_pubkey"], block["sender_sig"], self.proposal_bytes(block))
        block["prev_hash_receiver"] = self.head
        block["receiver_sig"] = text(self.secret.sign(without(block, "receiver_sig")))
        return self.store(spelled(block))

    def complete(self, proposal: dict, answer: bytes) -> bytes:
        """Check the answer to a proposal of this key, and store it."""
        block = json.loads(answer)
        assert spelled(block) == answer, "one spelling for each block"
        assert block | {"receiver_sig": "", "prev_hash_receiver": ""} == proposal
        verify(block["receiver_pubkey"], block["receiver_sig"], without(block, "receiver_sig"))
        return self.store(answer)

    def store(self, block: bytes) -> bytes:
        self.head = hashlib.sha256(block).hexdigest()
        self.stored.append(block)
        return block

    def digest(self) -> bytes:
        """Return the sum of the SHA-256 of the stored blocks, word by word."""
        sums = [0, 0, 0, 0]
        for block in self.stored:
            words = struct.unpack(">4Q", hashlib.sha256(block).digest())
            sums = [(one + other) % 2**64 for one, other in zip(sums, words, strict=True)]
        return struct.pack(">4Q", *sums)


def verify(key: str, signature: str, message: bytes) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(base64.b64decode(key)).verify(
            base64.b64decode(signature), message
        )
    except InvalidSignature:
        raise AssertionError("a signature does not hold") from None


def hello(session: int, trader: Trader, carrier: str, cookie: bytes = bytes(16)) -> bytes:
    carried = bytes([CARRIERS.index(carrier)])
    repetition_number_round = bytes(12)
    said = struct.pack(">Q", session) + trader.key + carried + repetition_number_round + cookie
    return sealed(bytes([HELLO]) + said, trader, QUESTION_BYTES)


def question(kind: int, session: int, repetition: int, trader: Trader) -> bytes:
    """Return a start or a finish; the padding of a start says that its proposals begin at 0."""
    said = bytes([kind]) + struct.pack(">QI", session, repetition)
    return sealed(said, trader, QUESTION_BYTES)


def sealed(said: bytes, trader: Trader, size: int = 0) -> bytes:
    """Return a message of control with padding up to `size` and its signature."""
    said = (MAGIC + said).ljust(size, b"\0")
    return said + trader.secret.sign(said)


def opened(datagram: bytes, key: bytes) -> bytes:
    """Check the signature of `key`; return what follows the kind."""
    said, signature = datagram[:-SIGNATURE_BYTES], datagram[-SIGNATURE_BYTES:]
    Ed25519PublicKey.from_public_bytes(key).verify(signature, said)
    return said[6:]


class Host:
    """A listener's half of control, for one dialler."""

    cookie = bytes(range(16))

    def __init__(self, trader: Trader):
        self.trader = trader
        self.dialler = b""

    def answer(self, datagram: bytes) -> bytes:
        """Return what a listener says to a question."""
        assert datagram.startswith(MAGIC)
        assert len(datagram) == QUESTION_BYTES + SIGNATURE_BYTES
        kind, session = datagram[5], datagram[6:14]
        if kind == HELLO:
            return self.welcome(datagram, session)
        said = opened(datagram, self.dialler)
        if kind == START:
            return sealed(bytes([READY]) + said[:12], self.trader)
        assert kind == FINISH
        stored = self.trader.stored
        tally = struct.pack(">Q", len(stored)) + self.trader.digest() + bytes(8) + bytes(1)
        return sealed(bytes([SUMMARY]) + said[:12] + tally, self.trader)

    def welcome(self, datagram: bytes, session: bytes) -> bytes:
        self.dialler = datagram[14:46]
        said = opened(datagram, self.dialler)
        ask_round, cookie = said[49:53], said[53:69]
        if cookie != self.cookie:
            return MAGIC + bytes([COOKIE]) + session + self.cookie
        number = struct.pack(">I", 1)
        return sealed(
            bytes([WELCOME]) + session + self.trader.key + number + ask_round, self.trader
        )
