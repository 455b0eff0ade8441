"""Errors sorted by whose they are: the user's document, the environment, or the engine.

Nothing here prints or exits; the command line maps each class to an exit code. Mistakes of ours
are plain asserts and keep their traceback.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class UserError(Exception):
    """Something that the user can mend; shown as one line, without a traceback."""

    exit_code = 2


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
        super().__init__(str(self))

    def __str__(self) -> str:
        place = f"{self.file}: {self.key_path}" if self.key_path else self.file
        hint = f" (did you mean {self.suggestion}?)" if self.suggestion else ""
        return f"{place}: {self.reason}{hint}"


class EnvironmentMissingError(UserError):
    """A library or the compiled engine is not there; the text says how to get it."""

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
        super().__init__(str(self))

    def __str__(self) -> str:
        tail = f"\n{self.stderr_tail}" if self.stderr_tail else ""
        return f"{self.what}{tail}\nreplay: {self.replay}"


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like `word`, or None when none is alike."""
    matches = difflib.get_close_matches(word, list(candidates), n=1, cutoff=0.6)
    return matches[0] if matches else None
