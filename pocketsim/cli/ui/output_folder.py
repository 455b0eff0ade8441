"""A folder of files that a command makes, and makes again: what is not its own stays as it is.

A list in the folder says which files the command wrote, and what was in them. A file that is there
and is not on it, or was changed since, is somebody's work.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pocketsim.cli.ui import output_paths
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import open_plain

if TYPE_CHECKING:
    from collections.abc import Mapping

MADE = "made.sha256"
"""The list, as `sha256sum -c` reads it."""


def check(folder: Path) -> None:
    """Refuse a folder that nothing may be written to, before what it is to hold is made."""
    output_paths.check_outside_runs(folder)
    if os.path.lexists(folder) and not folder.is_dir():
        raise ScenarioError(folder, "", "is no folder")


def write(folder: Path, files: Mapping[str, bytes], *, force: bool = False) -> None:
    """Write `files` by name into `folder`, and remove those of the last time that are none now.

    Nothing is written, ScenarioError, where another's file has one of the names, unless `force`.
    """
    lines = {_line(name, content) for name, content in files.items()}
    made = _made(folder)
    for name in files:
        theirs = os.path.lexists(folder / name) and not _is_in(made | lines, folder / name)
        if theirs and not force:
            reason = "is there already and was changed, or is not from here; --force overwrites it"
            raise ScenarioError(folder / name, "", reason)
    gone = sorted({line[_NAME:] for line in made} - {*files, MADE})
    # Both lists at first: what is half done when this ends early is ours the next time.
    output_paths.put(folder / MADE, _text(made | lines))
    for name, content in files.items():
        output_paths.put(folder / name, content)
    for path in (folder / name for name in gone):
        if _is_in(made, path):
            path.unlink()
    output_paths.put(folder / MADE, _text(lines))


def _made(folder: Path) -> set[str]:
    """Return the lines of the list in a folder; those that name what is elsewhere are not ours."""
    try:
        with os.fdopen(open_plain(folder / MADE, os.O_RDONLY), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return set()
    except UnicodeDecodeError:
        raise ScenarioError(folder / MADE, "", "is not the list of what was written here") from None
    return {line for line in lines if line[_NAME:] == Path(line[_NAME:]).name}


def _is_in(made: set[str], path: Path) -> bool:
    is_plain = path.is_file() and not path.is_symlink()
    return is_plain and _line(path.name, path.read_bytes()) in made


def _line(name: str, content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()}  {name}"


def _text(lines: set[str]) -> bytes:
    return "".join(f"{line}\n" for line in sorted(lines, key=lambda line: line[_NAME:])).encode()


_NAME = 66  # where a name begins in a line: after a digest and two spaces
