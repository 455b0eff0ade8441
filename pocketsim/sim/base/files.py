"""Files that somebody else wrote, as text and as plain data: bounded in size, depth and numbers.

Whatever is wrong with a file (not there, no file, too large, bad syntax, nested without end) is one
`ScenarioError` with the file, the place and the reason. What does not live here: what the data
means (`sim.base.documents`) and logs, which may be large (`sim.export.phone_logs`).
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import gzip
import json
import os
import shutil
import stat
import tempfile
import tomllib
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from io import BufferedReader
    from typing import BinaryIO

    # Where a value stands: where its table or list does, and its key or number there.
    _Place = tuple["_Place", str | int] | None


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text of the file at `path` and the table it holds.

    Raises ScenarioError when it cannot be read, is no text (`decoded`) or not TOML (with the line).
    """
    text = _read_text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).partition(" (at ")
        raise ScenarioError(
            path, place.rstrip(")"), f"not TOML: {reason[:1].lower()}{reason[1:]}"
        ) from None
    except RecursionError:
        raise ScenarioError(path, "", _TOO_DEEP) from None
    except ValueError:
        raise ScenarioError(path, "", _TOO_LONG) from None
    _check_plain(data, path)
    return text, data


def read_json(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text of the file at `path` and the object it holds.

    Raises ScenarioError when it cannot be read, is not text (`decoded`) or is not a JSON object.
    """
    text = _read_text(path)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise ScenarioError(path, f"line {error.lineno}, column {error.colno}", reason) from None
    except RecursionError:
        raise ScenarioError(path, "", _TOO_DEEP) from None
    except ValueError:
        raise ScenarioError(path, "", _TOO_LONG) from None
    if not isinstance(data, dict):
        raise ScenarioError(path, "", "not a JSON object")
    _check_plain(data, path)
    return text, data


def key_path(parts: Sequence[str | int]) -> str:
    """Return parts as they are written in messages and on the command line: devices[0].profile."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def check_same(path: Path, found: str, digest: str) -> None:
    """Raise ScenarioError where the content of a file has another digest than it had."""
    if found != digest:
        raise ScenarioError(path, "", "has changed since the run was resolved; start it again")


def at_home(path: str | Path, place: str = "", file: str | Path | None = None) -> Path:
    """Return a path that somebody wrote: "~" at its beginning is their home folder.

    Raises ScenarioError where nobody is called so, with the key `place` in a document `file`.
    """
    found = Path(path)
    try:
        # Of "./~" a Path is "~", and a text is what somebody meant.
        return found.expanduser() if str(path).startswith("~") else found
    except RuntimeError:
        reason = f"there is no home folder {found.parts[0]}"
        raise ScenarioError(file or path, place, reason) from None


def beside(path: Path, place: str, name: str) -> Path:
    """Return where the file lies that the document at `path` calls `name` under the key `place`.

    Raises ScenarioError where there is none.
    """
    file = (path.parent / at_home(name, place, path)).absolute()
    try:
        if file.is_file():  # a pipe could be read only once
            return file
        suggestion = nearest_file(file)
    except (OSError, ValueError):  # nothing is called what nothing can be called
        suggestion = None
    raise ScenarioError(path, place, f"no such file {file}", suggestion)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """Open the file or pipe at `path` for reading, or raise ScenarioError that says why not."""
    if "\0" in str(path):
        raise ScenarioError(path, "", "no such file")
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            # A device may go on for ever.
            if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
                raise ScenarioError(path, "", "is neither a file nor a pipe")
            yield file
    except FileNotFoundError:
        raise ScenarioError(path, "", "no such file", nearest_file(path)) from None
    except OSError as error:
        raise ScenarioError(path, "", os.strerror(error.errno or 0).lower()) from None


@contextlib.contextmanager
def unpacked(path: Path, file: BufferedReader) -> Iterator[BinaryIO]:
    """Yield what a file holds, unpacked if it is of gzip, whatever it is called.

    Raises ScenarioError where it is no whole gzip file.
    """
    is_packed = file.peek(2)[:2] == _GZIP
    try:
        yield gzip.GzipFile(fileobj=file) if is_packed else file  # type: ignore[misc]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        reason = f"is no whole gzip file: {str(error)[:1].lower()}{str(error)[1:]}"
        raise ScenarioError(path, "", reason) from None


def open_plain(path: Path, flags: int) -> int:
    """Return a descriptor of the file at `path`, as `os.open` does, of a plain file alone.

    For what lies beside results under a name of ours: an archive of somebody else's runs may have a
    link there, to a file of the user's, or a pipe. Raises ScenarioError for those, and OSError.
    """
    refused = ScenarioError(path, "", "is a link or no plain file, and is left alone; remove it")
    try:
        # Without O_NONBLOCK a pipe would keep us waiting.
        only = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path, flags & ~os.O_TRUNC | only, 0o644)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EISDIR, errno.ENXIO}:
            raise refused from None
        raise
    told = os.fstat(descriptor)
    # A hard link is a link, too.
    if not stat.S_ISREG(told.st_mode) or told.st_nlink > 1:
        os.close(descriptor)
        raise refused
    if flags & os.O_TRUNC:
        os.ftruncate(descriptor, 0)
    return descriptor


@contextlib.contextmanager
def aside(target: Path, scratch: Path | None = None) -> Iterator[Path]:
    """Yield a folder to build `target` in, beside it or in `scratch`, which vanishes in the end.

    Whoever has built it renames it before. The folder of `target` is made if there is none.
    """
    if scratch:
        folder = Path(tempfile.mkdtemp(prefix=ASIDE, dir=scratch))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = target.parent / f"{ASIDE}{os.getpid()}-{target.name}"
        folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def flush(path: Path) -> None:
    """Wait until a file, or a folder's list of files, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_text(path: Path) -> str:
    with opened(path) as file:
        read = file.read(_LARGEST_BYTES + 1)
    if len(read) > _LARGEST_BYTES:
        reason = f"is larger than {_LARGEST_BYTES >> 20} MiB, which no document is"
        raise ScenarioError(path, "", reason)
    # As Python opens a text file: every line break is the same.
    return decoded(path, read).replace("\r\n", "\n").replace("\r", "\n")


def decoded(path: str | Path, data: bytes) -> str:
    """Return the text of a whole file: UTF-8, or UTF-16 that begins with a mark of byte order.

    Raises ScenarioError for any other, with the first byte that is none.
    """
    encoding = "utf-16" if data.startswith(UTF_16_MARKS) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text (byte {error.start}); save it as UTF-8"
        raise ScenarioError(path, "", reason) from None
    if "\0" in text[:_BEGINNING]:
        raise ScenarioError(path, "", NOT_TEXT)
    return text


def _check_plain(data: dict[str, Any], path: Path) -> None:
    """Refuse what recursive readers and 64-bit numbers cannot hold; it need not recurse itself.

    Where a value stands is spelled out for the one that is refused alone: of all of a hostile
    document's values the texts would take its length squared.
    """
    left: list[tuple[_Place, Any, int]] = [(None, data, 0)]
    while left:
        place, value, depth = left.pop()
        if depth > _DEEPEST:
            raise ScenarioError(path, _spelled(place), _TOO_DEEP)
        inside: Iterable[tuple[str | int, Any]] = ()
        if isinstance(value, dict):
            inside = value.items()
        elif isinstance(value, list):
            inside = enumerate(value)
        elif type(value) is int and value.bit_length() > _INTEGER_BITS:
            reason = f"takes more than {_INTEGER_BITS} bits"
            raise ScenarioError(path, _spelled(place), reason)
        left += [((place, part), item, depth + 1) for part, item in inside]


def _spelled(place: _Place) -> str:
    parts: list[str | int] = []
    while place is not None:
        place, part = place
        parts.append(part)
    return key_path(parts[::-1])


def nearest_file(path: Path, *, folders: bool = False) -> str | None:
    """Return the file, or folder, beside `path` that has a name much like its own, if any."""
    with contextlib.suppress(OSError):
        found = [
            sibling.name
            for sibling in sorted(path.parent.iterdir())
            if (sibling.is_dir() if folders else sibling.is_file()) and _is_alike(sibling, path)
        ]
        best = difflib.get_close_matches(path.name, found, n=1, cutoff=0.0)
        return str(path.parent / best[0]) if best else None
    return None


def _is_alike(one: Path, other: Path) -> bool:
    """Tell whether two names are nearly the same; an extension that they share says nothing."""
    stems = (one.stem, other.stem)
    if one.name == other.name or max(map(len, stems)) > _LONGEST_NAME:
        return False
    if one.suffix != other.suffix:
        return one.stem == other.stem
    differences = sum(a != b for a, b in zip(*stems, strict=False))
    is_one_letter = len(one.stem) == len(other.stem) > 1 and differences == 1
    return is_one_letter or difflib.SequenceMatcher(None, *stems).ratio() >= _ALIKE


ASIDE = ".tmp-"
"""What names of folders begin with that are not built yet."""
_GZIP = b"\x1f\x8b"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
NOT_TEXT = "has zero bytes: is UTF-16 without a mark, or no text; save it as UTF-8"
_BEGINNING = 1 << 12  # in which text of any language has a blank or a line break
_LARGEST_BYTES = 16 << 20  # a hundred times the largest report of the probe
_DEEPEST = 32  # no document of ours is deeper than eight
_INTEGER_BITS = 64
_TOO_DEEP = "is nested too deeply"
_TOO_LONG = "has a number of thousands of digits"  # Python refuses to read those
_ALIKE = 0.75  # "small" and "smal" 0.89, "nothere" and "share" 0.5
_LONGEST_NAME = 255
