"""Where a command may write what a user asks for: nowhere in a run directory, and where he can."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sim.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

RUN_FILES = ("metrics.json", "resolved.json", "events.parquet")
"""What makes a folder a run directory."""


def check_outside_runs(target: Path) -> None:
    """Refuse a target in a run directory, which is complete and never written to again."""
    # Links are followed: it counts where the bytes would go.
    real = Path(os.path.realpath(target))
    for folder in (real, *real.parents):
        if all((folder / name).is_file() for name in RUN_FILES):
            reason = f"lies in the run directory {folder}, which is never written to again"
            raise ScenarioError(target, "", reason)


@contextlib.contextmanager
def writing(target: Path) -> Iterator[None]:
    """Blame what cannot be written on who named it; a full disk, say, is not his mistake."""
    try:
        yield
    except _WRONG_PATH as error:
        reason = f"cannot be written: {os.strerror(error.errno or 0).lower()}"
        raise ScenarioError(target, "", reason) from None


_WRONG_PATH = (
    *(FileNotFoundError, FileExistsError),
    *(IsADirectoryError, NotADirectoryError, PermissionError),
)
