"""What a verification comes to: counts by phone, checks that failed, tokens spent twice.

What deliberately does not live here: what is checked (`sim.export.token_check`, `block_check`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


class MalformedError(ValueError):
    """Bytes that are not what they should be, or that break a rule; the text says which."""


@dataclass(frozen=True)
class Failure:
    """A check that failed: whose what, and why, as words."""

    phone: int
    what: str
    reason: str


@dataclass(frozen=True)
class DoubleSpend:
    """A token that a phone signed over to several: its serial in hexadecimal digits, the payees.

    A payee is named as often as it has another branch; None is one that no phone's tokens name.
    """

    phone: int | None
    serial: str
    payees: tuple[int | None, ...]


@dataclass
class Findings:
    """What was found in one kind of thing of one repetition; `counts` by phone, by name."""

    kind: str
    counts: dict[int, Counter[str]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    double_spends: list[DoubleSpend] = field(default_factory=list)

    def count(self, phone: int, *names: str) -> None:
        """Count one of each of `names` at a phone."""
        self.counts.setdefault(phone, Counter()).update(names)

    def fail(self, phone: int, what: str, reason: str) -> None:
        """Note a check that failed."""
        self.failures.append(Failure(phone, what, reason))
        self.count(phone, "failed")


class Keys:
    """Which phone signs with which key: one each, and none has another's."""

    def __init__(self) -> None:
        self._by_phone: dict[int, bytes] = {}
        self._by_key: dict[bytes, int] = {}

    def claim(self, phone: int, key: bytes) -> str | None:
        """Note that `key` is the phone's; return what is wrong with that, or None."""
        owner = self._by_key.setdefault(key, phone)
        if owner != phone:
            return f"has the key of phone {owner}"
        if self._by_phone.setdefault(phone, key) != key:
            return f"has another key than what phone {phone} signed before"
        return None

    def owner(self, key: bytes) -> int | None:
        """Return whose a key is, if that is known."""
        return self._by_key.get(key)
