"""Columns of a log that somebody else wrote: filled some rows at a time, each value checked.

A column takes Python values with the lines that they are from and gives one array at the end. What
lives here is what a value may be; files and formats are the business of `sim.export.phone_logs`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base.errors import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]


class WrongLineError(Exception):
    """A line that a log cannot have: its number, counted from 1, and the reason."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(line, reason)
        self.line = line
        self.reason = reason


class Column:
    """Values of which `_part` says whether they are right."""

    def __init__(self, name: str, what: str) -> None:
        self._name = name
        self._what = what
        self._parts: list[Array] = []

    def add(self, values: Sequence[Any], lines: Sequence[int]) -> None:
        """Take values and the lines that they are from; raises WrongLineError."""
        part = self._part(values)
        if part is None:
            pairs = zip(lines, values, strict=True)
            line, value = next(
                (line, value) for line, value in pairs if self._part([value]) is None
            )
            raise _wrong(line, self._name, self._what, value)
        self._parts.append(part)

    def whole(self) -> Array:
        """Return all values."""
        nothing = self._part([])
        assert nothing is not None, "there is nothing wrong with no value"
        return np.concatenate([nothing, *self._parts])

    def _part(self, values: Sequence[Any]) -> Array | None:
        """Return the values as an array, or None if one of them is wrong."""
        raise NotImplementedError


class Numbers(Column):
    """Numbers between two bounds; whole ones if the bounds are."""

    def __init__(self, name: str, low: float, high: float, what: str = "") -> None:
        self._low, self._high = low, high
        is_whole = isinstance(low, int)
        # By type: True is a whole number to Python.
        self._types = {int} if is_whole else {int, float}
        self._type = np.int64 if is_whole else np.float64
        kind = "a whole number" if is_whole else "a number"
        super().__init__(name, what or f"{kind} from {low} to {high}")

    def _part(self, values: Sequence[Any]) -> Array | None:
        if not set(map(type, values)) <= self._types:
            return None
        try:
            array: Array = np.array(values, self._type)
        except OverflowError:
            return None
        is_right = ((array >= self._low) & (array <= self._high)).all()  # NaN is not
        return array if is_right else None


class Flags(Column):
    """True or false."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "true or false")

    def _part(self, values: Sequence[Any]) -> Array | None:
        return np.array(values, bool) if set(map(type, values)) <= {bool} else None


class Words(Column):
    """Words such as "link_loss", of which a column has few; or None where `may_lack`."""

    def __init__(self, name: str, *, may_lack: bool = False) -> None:
        super().__init__(name, "a word of letters, digits and '_'")
        self._types = {str, type(None)} if may_lack else {str}
        self._words: dict[str | None, str | None] = {}

    def _part(self, values: Sequence[Any]) -> Array | None:
        if not set(map(type, values)) <= self._types:
            return None
        words = self._words
        for new in dict.fromkeys(values):
            if new is not None and not _WORD.fullmatch(new):
                return None
            words.setdefault(new, new)
        # Of equal texts one is kept.
        return np.array([words[value] for value in values], object)


class Names(Column):
    """Texts, each a number in order of appearance."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "text")
        self.numbers: dict[str, int] = {}

    def _part(self, values: Sequence[Any]) -> Array | None:
        numbers = self.numbers
        return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


class Ids:
    """Texts that name phones or transactions, in any number of columns.

    If all are whole numbers they are those; if one is not, each is numbered in order of appearance.
    An empty one is none, -1. What programs write where there is no value is no id.
    """

    def __init__(self, low: int, high: int) -> None:
        self._low, self._high = low, high
        self._places: dict[str, int] = {}
        self._are_numbers = True
        self._wrong: WrongLineError | None = None

    def places(
        self,
        name: str,
        texts: Sequence[str],
        lines: Sequence[int],
        must_be: Sequence[bool] | None = None,
    ) -> Array:
        """Return the place of each text of column `name` among all ids.

        Raises WrongLineError for one that is none where it `must_be` one.
        """
        places = self._places
        for new in dict.fromkeys(texts):
            if new and new not in places:
                if new.casefold() in _NO_VALUES:
                    raise _wrong(lines[texts.index(new)], name, "an id", new)
                places[new] = len(places)
                self._are_numbers &= _DECIMAL.fullmatch(new) is not None
                if self._are_numbers and not self._wrong and not self._is_right(new):
                    what = f"a whole number from {self._low} to {self._high}, or a name"
                    self._wrong = _wrong(lines[texts.index(new)], name, what, new)
        found = np.array([places[text] if text else -1 for text in texts], np.int64)
        lacks = (found < 0) & np.array(must_be or False)
        if lacks.any():
            raise _wrong(lines[int(lacks.argmax())], name, "an id", "")
        return found

    def ids(self, places: Array) -> Array:
        """Return the ids at these places; raises WrongLineError if one is an absurd number."""
        if not self._are_numbers:
            return places
        if self._wrong:
            raise self._wrong
        return np.array([*map(int, self._places), -1], np.int64)[places]

    def _is_right(self, text: str) -> bool:
        return len(text) <= _LONGEST_NUMBER and self._low <= int(text) <= self._high


def whole_number(text: str) -> int | str:
    """Return the whole number that `text` is, or `text` if it is none or has too many digits."""
    is_one = len(text) <= _LONGEST_NUMBER and _DECIMAL.fullmatch(text)
    return int(text) if is_one else text


def _wrong(line: int, name: str, what: str, value: object) -> WrongLineError:
    return WrongLineError(line, f"{name}: must be {what}, not {shown(repr(value))}")


_DECIMAL = re.compile(r"-?[0-9]+")
_LONGEST_NUMBER = 40  # characters: 64 bits, and some zeros before
_NO_VALUES = frozenset({"nan", "null", "none", "nil", "na", "n/a", "<na>", "inf", "-inf"})
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
