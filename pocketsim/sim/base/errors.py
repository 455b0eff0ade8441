"""Errors sorted by whose they are: the user's document, the environment, or the engine.

Nothing here prints or exits; the command line maps each class to an exit code. Mistakes of ours
are plain asserts and keep their traceback. What an error quotes (a document, a path, a child) is
somebody else's text: an error's own text is made of it by `shown`, and the attributes keep it.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


class UserError(Exception):
    """Something that the user can mend; shown as one line, without a traceback."""

    exit_code = 2

    def __str__(self) -> str:
        return shown(super().__str__(), _LONGEST_TEXT)


class ScenarioError(UserError):
    """A document (scenario, profile or sweep) that cannot be used.

    `file` is the document, `key_path` the place in it ("workload.rate", "line 3", or empty for the
    whole file), `reason` a sentence without a full stop, `suggestion` the nearest valid spelling.
    """

    def __init__(
        self, file: str | Path, key_path: str, reason: str, suggestion: str | None = None
    ) -> None:
        self.file = str(file)
        self.key_path = key_path
        self.reason = reason
        self.suggestion = suggestion
        super().__init__(file, key_path, reason, suggestion)

    def __str__(self) -> str:
        file = shown(self.file, _LONGEST_PATH)
        place = f"{file}: {shown(self.key_path)}" if self.key_path else file
        return f"{place}: {shown(self.reason, _LONGEST_TEXT)}{did_you_mean(self.suggestion)}"


class ProtocolError(UserError):
    """A custom protocol failed: its file and line, simulated time, phone and reason."""


class EnvironmentMissingError(UserError):
    """A library or the compiled engine is not there; the text, maybe of lines, says what to do."""

    exit_code = 5

    def __str__(self) -> str:
        return _lines(*self.args)


class NoRoomError(UserError):
    """The file system has no room for what is to be written; what was there before still is."""

    exit_code = 5


class RunInProgressError(UserError):
    """Another live process holds the lock of this run."""

    exit_code = 2


class EngineError(Exception):
    """The engine ended abnormally; carries the tail of stderr and one line that replays it."""

    exit_code = 1

    def __init__(self, what: str, stderr_tail: str, replay: str) -> None:
        self.what = what
        self.stderr_tail = stderr_tail
        self.replay = replay
        super().__init__(what, stderr_tail, replay)

    def __str__(self) -> str:
        tail = f"\n{_lines(self.stderr_tail)}" if self.stderr_tail else ""
        # Uncut: it is there to be pasted.
        replay = shown(self.replay, len(self.replay))
        return f"{shown(self.what, _LONGEST_TEXT)}{tail}\nreplay: {replay}"


def no_room(error: OSError, path: str | Path) -> NoRoomError | None:
    """Return what to say of `error` while `path` was written, if it is for want of room."""
    if error.errno not in _NO_ROOM:
        return None
    return NoRoomError(f"{error.filename or path}: {os.strerror(error.errno or 0).lower()}")


@contextlib.contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Raise NoRoomError where the block, which writes `path`, finds no room for it."""
    try:
        yield
    except OSError as error:
        full = no_room(error, path)
        if full is None:
            raise
        raise full from None


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like `word`, else the only one that begins so, or None."""
    others = [candidate for candidate in candidates if candidate != word]
    # To compare takes time that grows with both lengths, and nothing alike is as long as this.
    matches = difflib.get_close_matches(word[:_LONGEST_PATH], others, n=1, cutoff=0.6)
    begun = [candidate for candidate in others if len(word) > 1 and candidate.startswith(word)]
    return matches[0] if matches else begun[0] if len(begun) == 1 else None


def choices(word: str, known: Iterable[str], listed_by: str) -> str:
    """Return what an error says of names that are `known`: those most like `word`, which is none.

    And how all are listed.
    """
    names = [name for name in known if name != word]
    alike = difflib.get_close_matches(word[:_LONGEST_PATH], names, n=_CHOICES, cutoff=0.0)
    more = ", ..." if len(names) > len(alike) else ""
    said = ", ".join(map(shown, alike))
    return f"there is {said}{more} (`{listed_by}` lists them)" if alike else "there is none"


def did_you_mean(suggestion: str | None) -> str:
    """Return what an error's text ends with where something else was perhaps meant, or nothing."""
    return f" (did you mean {shown(suggestion)}?)" if suggestion else ""


def shown(text: str, at_most: int = 120) -> str:
    """Return `text` as it may stand in a line: no control characters, about `at_most` characters.

    What a terminal would not print, line breaks and what turns the direction of writing included,
    is escaped as in a Python literal. Of what is longer the middle is left out, and its length
    told.
    """
    if len(text) > at_most:
        half = at_most // 2
        return f"{printable(text[:half])}...({len(text)} characters)...{printable(text[-half:])}"
    return printable(text)


def printable(text: str) -> str:
    """Return `text` with what a terminal would not print escaped as in a Python literal."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def _lines(text: str) -> str:
    """Return `text` with its line breaks, each line as it may stand in one."""
    return "\n".join(shown(line, _LONGEST_TEXT) for line in text.splitlines())


NO_MEMORY = "no memory is left for this; see what else runs, and `ulimit -v`"
_NO_ROOM = {errno.EDQUOT, errno.EFBIG, errno.ENOSPC}
_CHOICES = 5
_LONGEST_PATH = 400
_LONGEST_TEXT = 1200  # lists of all that is missing are long
