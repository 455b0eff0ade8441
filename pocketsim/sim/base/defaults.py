"""What holds where neither a command line nor a call says it: variables, then what is usual."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pocketsim.sim.base.cores import usable_cores
from pocketsim.sim.base.errors import UserError, shown
from pocketsim.sim.base.files import at_home

if TYPE_CHECKING:
    from pathlib import Path

OUT, JOBS, QUIET = "POCKETSIM_OUT", "POCKETSIM_JOBS", "POCKETSIM_QUIET"
"""Variables of the environment; one that is empty is as good as none."""
USUAL_OUT = "runs"


def out() -> Path:
    """Return the folder for run directories.

    Raises UserError where the variable names what is there and no folder.
    """
    folder = at_home(os.environ.get(OUT) or USUAL_OUT)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{OUT}: {folder} is no folder")
    return folder


def jobs() -> int:
    """Return how many repetitions run at a time: as many as there are cores for this process.

    Raises UserError where the variable is no whole number from 1 on.
    """
    said = os.environ.get(JOBS)
    if not said:
        return usable_cores()
    if not said.isdecimal() or int(said) < 1:
        raise UserError(f"{JOBS}: must be a whole number from 1 on, not {shown(repr(said))}")
    return int(said)


def is_quiet() -> bool:
    """Tell whether progress is not to be shown.

    Raises UserError where the variable is neither yes nor no.
    """
    said = os.environ.get(QUIET, "").lower()
    if said in _YES or said in _NO:
        return said in _YES
    raise UserError(f"{QUIET}: must be 1 or 0, not {shown(repr(said))}")


_YES, _NO = (
    {"1", "true", "t", "yes", "y", "on"},
    {"", "0", "false", "f", "no", "n", "off"},
)  # click's
