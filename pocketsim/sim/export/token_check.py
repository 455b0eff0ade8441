"""Verifies the tokens of one repetition: every signature, whose they are, which were spent twice.

It reads bytes with `sim.export.offline_token`, so nothing here trusts the engine that wrote them.
A token that was spent twice is no failure: both branches are signed, which proves the cheat.
"""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import opened
from pocketsim.sim.export import offline_token
from pocketsim.sim.export.findings import DoubleSpend, Findings, Keys, MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pocketsim.sim.export.offline_token import Token


def check(rows: Iterable[Mapping[str, Any]], authority: bytes) -> Findings:
    """Verify tokens: rows of `node`, `state`, `serial` and `token`, as tokens.parquet has them.

    `authority` is the key, of 74 bytes, that every first proof has to verify with.
    """
    findings, keys, spends = Findings("tokens"), Keys(), _Spends()
    for row in rows:
        phone, state = row["node"], row["state"]
        findings.count(phone, "tokens", state)
        try:
            token = offline_token.decode(row["token"])
            _check_token(token, row, authority)
            _check_holder(token, phone, state, keys)
            spends.add(token)
        except MalformedError as error:
            findings.fail(phone, f"{state} token {_named(row['serial'])}", str(error))
            continue
        findings.counts[phone]["proofs"] += len(token.pairs)
    findings.double_spends = spends.found(keys)
    for spend in findings.double_spends:
        if spend.phone is not None:
            findings.count(spend.phone, "double_spends")
    return findings


def read_folder(folder: Path) -> tuple[list[dict[str, Any]], bytes]:
    """Return rows and the authority's key of a folder that `export --to tokens` made."""
    with opened(folder / "authority.pub") as file:
        text = file.read().decode("ascii", "replace").strip()
    try:
        authority = bytes.fromhex(text)
    except ValueError:
        raise ScenarioError(folder / "authority.pub", "", "is no key in hexadecimal") from None
    with opened(folder / "tokens.csv") as file:
        index = list(csv.DictReader(io.StringIO(file.read().decode("ascii", "replace"))))
    rows, batches = [], {}
    for number, line in enumerate(index, start=2):
        try:
            path = folder / line["file"]
            if path not in batches:
                batches[path] = path.read_bytes()
            size = int(line["token_bytes"])
            data, batches[path] = batches[path][:size], batches[path][size:]
            place = {"node": int(line["node"]), "state": line["state"]}
            rows.append({**place, "serial": int(line["serial"], 16), "token": data})
        except (KeyError, OSError, TypeError, ValueError) as error:
            reason = f"is damaged ({error})"
            raise ScenarioError(folder / "tokens.csv", f"line {number}", reason) from None
    for path, rest in batches.items():
        if rest:
            raise ScenarioError(path, "", f"has {len(rest)} bytes that tokens.csv does not list")
    return rows, authority


def _check_token(token: Token, row: Mapping[str, Any], authority: bytes) -> None:
    if int.from_bytes(token.serial) != row["serial"] % _SERIALS:
        raise MalformedError(f"its own serial is {token.serial.hex()}")
    if token.value not in _VALUES:
        raise MalformedError(f"value {token.value} is no money")
    if token.authority != authority:
        raise MalformedError("it is of another authority")
    offline_token.verify(token)


def _check_holder(token: Token, phone: int, state: str, keys: Keys) -> None:
    """Refuse a token that is not the phone's, for what it says that it has it for."""
    is_submitted = token.pairs[-1].key == token.authority
    if is_submitted != (state == "pending"):
        words = "is signed over to the authority" if is_submitted else "is not the authority's"
        raise MalformedError(f"it {words}")
    behind = 1 if state in _HELD else 2
    if len(token.pairs) < behind:
        raise MalformedError("nobody has signed it away")
    wrong = keys.claim(phone, token.pairs[-behind].key)
    if wrong is not None:
        raise MalformedError(f"its holder {wrong}")


class _Spends:
    """What was signed over to whom, by the proof that it continues."""

    def __init__(self) -> None:
        self._first: dict[tuple[bytes, bytes], bytes] = {}
        self._next: dict[tuple[bytes, bytes], dict[tuple[bytes, bytes], None]] = {}
        self._givers: dict[tuple[bytes, bytes], bytes] = {}

    def add(self, token: Token) -> None:
        """Note every step of a token, whose proofs hold."""
        first = token.pairs[0]
        if self._first.setdefault((token.serial, token.nonce), first.proof) != first.proof:
            raise MalformedError("the authority gave one life of it to two phones")
        for giver, taker in pairwise(token.pairs):
            place = (token.serial, giver.proof)
            self._givers[place] = giver.key
            self._next.setdefault(place, {})[taker.key, taker.challenge] = None

    def found(self, keys: Keys) -> list[DoubleSpend]:
        """Return what was signed over more than once, in the order of serials."""
        spends = [
            DoubleSpend(
                keys.owner(self._givers[place]),
                place[0].hex(),
                tuple(keys.owner(key) for key, _ in takers),
            )
            for place, takers in self._next.items()
            if len(takers) > 1
        ]
        return sorted(spends, key=lambda spend: spend.serial)


def _named(serial: int) -> str:
    return f"{serial % _SERIALS:016x}"


_SERIALS = 1 << 64  # the table has them as signed numbers
_VALUES = range(1, 16)  # euro cash, 1 c to 500 EUR
_HELD = {"held", "disputed"}
