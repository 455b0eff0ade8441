"""Where a command may write what a user asks for: nowhere in a run directory.

What is written appears whole or not at all, so that a failure leaves what was there before.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pocketsim.cli.ui import console
from pocketsim.sim.base import defaults, files
from pocketsim.sim.base.errors import ScenarioError, UserError, nearest, no_room
from pocketsim.sim.run import rundir

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Form = TypeVar("Form")


def check_outside_runs(target: Path) -> None:
    """Refuse a target in a run directory, which is complete and never written to again."""
    # Links are followed: it counts where the bytes would go.
    real = Path(os.path.realpath(target))
    for folder in (real, *real.parents):
        if rundir.is_run(folder):
            reason = f"lies in the run directory {folder}, which is never written to again"
            raise ScenarioError(target, "", reason)


def journal_of(target: Path) -> Path:
    """Return the file beside a table or a result that keeps what was made so far."""
    if not target.name or target.suffix == _JOURNAL:
        raise ScenarioError(target, "", f"names no file to write, or one that ends in {_JOURNAL}")
    if target.exists() and not target.is_file():
        reason = "is no file, and a journal of what was made is kept beside it; name a file"
        raise ScenarioError(target, "", reason)
    return target.with_suffix(_JOURNAL)


def by_suffix(file: Path, forms: Mapping[str, Form], or_by: str = "") -> Form:
    """Return the form that the suffix of a file says, in capitals or not; refuse any other.

    `or_by` is what names a form otherwise.
    """
    suffix = file.suffix.lower()
    if suffix not in forms:
        reason = f'no format is called "{suffix}": name one by {", ".join(forms)}{or_by}'
        raise ScenarioError(file, "", reason, nearest(suffix, forms))
    return forms[suffix]


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a path to write a file to, which takes the place of `target` when the block ends well.

    It is flushed and renamed last, and gone if the block fails. A link is followed: where it leads
    to is replaced. A device, a pipe and our own output stay, and get the bytes of the whole file:
    a library that removes what it could not write never knows their names.
    """
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if _is_written_straight(target):
            with tempfile.TemporaryDirectory() as folder:
                aside = Path(folder) / _NEW
                yield aside
                _pour(aside, target)
            return
        real = Path(os.path.realpath(target))
        # Its name is nobody's, and fits wherever that of the target does.
        with tempfile.TemporaryDirectory(prefix=_ASIDE, dir=real.parent) as folder:
            aside = Path(folder) / _NEW
            yield aside
            if real.exists():
                shutil.copymode(real, aside)
            files.flush(aside)
            aside.replace(real)
            files.flush(real.parent)


@contextlib.contextmanager
def writing(target: Path) -> Iterator[None]:
    """Blame on who named `target` that nothing can be written there, and a full disk on nobody.

    Raises ScenarioError or NoRoomError. What fails elsewhere is ours and stays what it is.
    """
    try:
        yield
    except OSError as error:
        full = no_room(error, target)
        if full is not None:
            raise full from None
        failed = _failed(error, target)
        if failed is None:
            raise
        raise _refused(error, target, failed) from None


def put(target: Path, content: str | bytes) -> None:
    """Write a file in the place of what is there."""
    with replacing(target) as aside:
        aside.write_bytes(content.encode() if isinstance(content, str) else content)


def write(target: Path, content: str | bytes) -> None:
    """Write a file in the place of what is there, and print where it is."""
    put(target, content)
    tell(target)


def tell(target: Path) -> None:
    """Print where something was written, unless that would be written there, too."""
    if not _is_our_output(target):
        console.data(str(target))


def explained(error: OSError) -> UserError | None:
    """Return what an error says that nobody else has explained, or None if it is ours."""
    full = no_room(error, "output")
    if full is not None:
        return full
    if error.errno in _WRONG_PATH and error.filename:
        return UserError(f"{error.filename}: {_reason(error)}")
    return None


def _failed(error: OSError, target: Path) -> str | None:
    """Return what could not be written of `target`; None if the error is about something else."""
    if error.errno not in {*_WRONG_PATH, errno.ENOENT} or not isinstance(error.filename, str):
        return None
    failed = Path(error.filename).absolute()
    for path in (target.absolute(), Path(os.path.realpath(target))):
        if error.errno == errno.ENOENT and path.is_dir():
            continue  # what is missing in a folder that is there, we have not made
        asides = (folder for folder in (failed, failed.parent) if folder.parent == path.parent)
        if any(folder.name.startswith((_ASIDE, files.ASIDE)) for folder in asides):
            return str(target)
        if path in (failed, *failed.parents) or failed in path.parents:
            return error.filename
    return None


def _refused(error: OSError, target: Path, failed: str) -> ScenarioError:
    where = f" ({failed})" if failed != str(target) else ""
    reason = f"cannot be written: {_reason(error)}{where}"
    if str(target) == os.environ.get(defaults.OUT):
        reason += f"; {defaults.OUT} names it"
    return ScenarioError(target, "", reason)


def _pour(aside: Path, target: Path) -> None:
    """Write what is in `aside` to a device, a pipe or our own output."""
    is_ours = _is_our_output(target)
    if is_ours:
        sys.stdout.flush()
    try:
        descriptor = os.dup(_STDOUT) if is_ours else os.open(target, os.O_WRONLY | os.O_CLOEXEC)
        with aside.open("rb") as source, open(descriptor, "wb") as sink:  # noqa: PTH123 - no path
            shutil.copyfileobj(source, sink)
    except OSError as error:
        # Who stops reading what we print has had enough.
        if no_room(error, target) or is_ours:
            raise
        raise _refused(error, target, str(target)) from None


def _is_written_straight(target: Path) -> bool:
    """Tell whether bytes go to `target` itself; raises OSError if it is nothing to write to."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    # Who protects a file means its content, not its name.
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    return not stat.S_ISREG(mode) or _is_our_output(target)


def _is_our_output(target: Path) -> bool:
    try:
        return os.path.samestat(target.stat(), os.fstat(_STDOUT))
    except OSError:
        return False


def _reason(error: OSError) -> str:
    return os.strerror(error.errno or 0).lower()


_JOURNAL = ".journal"
_ASIDE = ".writing-"
_NEW = "new"
_STDOUT = 1
# A path of the user's that cannot be read or written.
_WRONG_PATH = {
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
