"""Tokens and blocks made and signed in Python, for tests of what verifies them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from nacl.signing import SigningKey

from pocketsim.sim.export.offline_token import Pair, Token
from pocketsim.sim.export.trade_block import Block, digest


def secret(name: object) -> SigningKey:
    """Return the key pair that goes by a name."""
    return SigningKey(hashlib.sha256(f"key of {name}".encode()).digest())


def key(name: object) -> bytes:
    """Return the 74 bytes of a key as tokens have them."""
    return b"LibNaCLPK:" + bytes(32) + bytes(secret(name).verify_key)


def minted(serial: int, first: object, *, value: int = 3, life: int = 0) -> Token:
    """Return a token as the authority gives it."""
    nonce = hashlib.sha512(f"nonce {serial} {life}".encode()).digest()
    message = serial.to_bytes(8) + bytes([value]) + nonce + key(first)
    pair = Pair(key(first), b"", secret("authority").sign(message).signature)
    return Token(serial.to_bytes(8), value, key("authority"), nonce, (pair,))


def handed(token: Token, giver: object, *takers: object, challenge: int | None = None) -> Token:
    """Return a token signed over from `giver` on to all of `takers`, one after the other."""
    asked = b"" if challenge is None else challenge.to_bytes(16)
    for taker in takers:
        message = token.pairs[-1].proof + key(taker) + asked
        pair = Pair(key(taker), asked, secret(giver).sign(message).signature)
        token, giver = replace(token, pairs=(*token.pairs, pair)), taker
    return token


def token_row(phone: int, token: Token, state: str = "held") -> dict[str, Any]:
    """Return the row that tokens.parquet has of a token."""
    serial = int.from_bytes(token.serial, signed=True)
    return {"node": phone, "state": state, "serial": serial, "token": token.encode()}


def signed(block: Block, proposer: int, countersigner: int) -> Block:
    """Return a block with the signatures of both parties."""
    signature = secret(proposer).sign(replace(block, sender_sig=b"").proposal()).signature
    block = replace(block, sender_sig=signature)
    return replace(block, receiver_sig=secret(countersigner).sign(block.agreement()).signature)


class Traders:
    """Phones that trade, one after the other; `chains` are what each stores, by phone."""

    def __init__(self) -> None:
        """Nobody has traded yet."""
        self.chains: dict[int, list[tuple[Block, int, int]]] = {}
        self._numbers: dict[int, int] = {}

    def head(self, phone: int) -> bytes:
        """Return the hash of the last block of a phone's chain."""
        chain = self.chains.get(phone)
        return digest(chain[-1][0].encode()) if chain else b""

    def propose(self, proposer: int, countersigner: int) -> Block:
        """Return the next proposal of a phone, on the head of its chain, unsigned."""
        number = self._numbers.get(proposer, 0)
        self._numbers[proposer] = number + 1
        keys = [bytes(secret(phone).verify_key) for phone in (proposer, countersigner)]
        text = f"{number:04}xxxx"
        return Block(text, *keys, b"", b"", self.head(proposer), b"", number + 1)

    def agree(
        self, block: Block, proposer: int, countersigner: int, *, lost: bool = False
    ) -> Block:
        """Let both sign and store a proposal; only the countersigner if the answer is `lost`."""
        block = signed(
            replace(block, prev_hash_receiver=self.head(countersigner)), proposer, countersigner
        )
        self.store(countersigner, block, proposer, proposer)
        if not lost:
            self.store(proposer, block, countersigner, proposer)
        return block

    def trade(self, proposer: int, countersigner: int, *, lost: bool = False) -> Block:
        """Let two phones trade once."""
        return self.agree(self.propose(proposer, countersigner), proposer, countersigner, lost=lost)

    def store(self, phone: int, block: Block, peer: int, proposer: int) -> None:
        """Append a block to the chain of a phone."""
        self.chains.setdefault(phone, []).append((block, peer, proposer))

    def rows(self) -> list[dict[str, Any]]:
        """Return what blocks.parquet has of all chains."""
        return [
            {
                "node": phone,
                "place": place,
                "peer": peer,
                "message_id": (proposer << 32) + block.number(),
                "block": block.encode(),
            }
            for phone, chain in sorted(self.chains.items())
            for place, (block, peer, proposer) in enumerate(chain, start=1)
        ]
