"""Custom code: it is loaded from a file or an installed package, and its failures are located.

It runs only in the process that simulates. It cannot import modules from the folder of its file,
since no digest covers them.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypedDict

from pocketsim.sim.base.errors import ProtocolError, ScenarioError
from pocketsim.sim.base.files import check_same

if TYPE_CHECKING:
    from collections.abc import Mapping


CustomClass = TypedDict("CustomClass", {"class": str, "digest": str, "options": dict[str, Any]})
"""A custom class in a resolved scenario, and what it is given.

`class` is "mine.py:Mine", by its file's name without its folder, or "package.module:Mine" of what
is installed; `digest` the SHA-256 of the file.
"""


def load(told: str, digest: str, files: Mapping[str, str]) -> Any:
    """Return what "mine.py:Mine" or "package.module:Mine" is; `files` are paths by digest.

    Raises ScenarioError where its file is no longer what it was, ProtocolError where it fails.
    """
    module, _, name = told.rpartition(":")
    path = Path(files[digest])
    try:
        if module.endswith(".py"):
            _check(path, digest)
            found = _of_file(path, digest)
        else:
            found = importlib.import_module(module)
            _check(Path(str(found.__file__)), digest)  # what runs, wherever the file was found
        return getattr(found, name)
    except ScenarioError:
        raise
    except BaseException as error:  # of any kind: it is the user's
        raise failed(path, error) from error


def _check(path: Path, digest: str) -> None:
    check_same(path, hashlib.sha256(path.read_bytes()).hexdigest(), digest)


def failed(path: Path, error: BaseException, where: str = "") -> ProtocolError:
    """Return what to say of an error of the code at `path`: file, lines, `where`, and reason."""
    return ProtocolError(f"{place(path, error)}{where}: {said(error)}")


def place(path: Path, error: BaseException) -> str:
    """Return the file, and the lines of it on the way to an error, the innermost last."""
    found = lines(path, error)
    return f"{path}: {', '.join(found)}" if found else str(path)


def lines(path: Path, error: BaseException) -> list[str]:
    """Return the lines of the file on the way to an error; none where it is not from there."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return [f"line {error.lineno}"]
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == str(path)][-_LINES_MAX:]
    return [f"line {frame.lineno} in {frame.name}" for frame in own]


def said(error: BaseException) -> str:
    """Return an error in words; what pocketsim says of a mistake needs no class before it."""
    if isinstance(error, Mistake):
        return str(error)
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - one's own, too
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class Mistake(Exception):  # noqa: N818 - the user's, in words that are made to be read
    """What custom code answered is not what was asked for."""


@functools.cache
def _of_file(path: Path, digest: str) -> ModuleType:
    """Return the module of a file; once for all that lies in it, so that its classes are one."""
    module = ModuleType(f"own_{path.stem}_{digest[:_DIGITS]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where a dataclass looks for its own
    exec(compile(path.read_bytes(), path, "exec"), module.__dict__)  # noqa: S102 - the user's own
    return module


_LINES_MAX = 4  # the last of a recursion that has no end
_DIGITS = 12
