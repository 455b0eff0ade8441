"""Where things lie, and how the tools say that something of the environment is missing."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Missing(Exception):  # noqa: N818  # the sentence is the error, `MissingError` adds nothing
    """Something that must be installed; its text is one sentence for people."""


def need_command(name: str, purpose: str) -> str:
    """Return the path of a command, or say what is missing."""
    found = shutil.which(name)
    if found is None:
        raise Missing(f"{purpose}, is missing: run tools/android/bootstrap.sh")
    return found


def exit_with(work: Callable[[], None]) -> int:
    """Do the work of a script; return its exit code."""
    try:
        work()
    except Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return EXIT_ENVIRONMENT
    return 0


ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "android"
# The same as that of the other commands: the environment lacks something.
EXIT_ENVIRONMENT = 5
