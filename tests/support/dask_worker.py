"""A dask worker, in a process of its own, that may be made to misbehave.

FAKE_ENGINE gives it the engine of tests/support/fake_child.py, FAKE_BUILD another build of
pocketsim, NO_POCKETSIM none at all.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from distributed.cli.dask_worker import main


def misbehave() -> None:
    if "NO_POCKETSIM" in os.environ:
        sys.modules["pocketsim"] = None  # type: ignore[assignment]
        return
    from pocketsim.sim.run import children, dask_backend

    if "FAKE_ENGINE" in os.environ:
        children.SERVER[:] = [sys.executable, str(Path(__file__).with_name("fake_child.py"))]
    if "FAKE_BUILD" in os.environ:
        ours = dask_backend.versions
        dask_backend.versions = lambda: {**ours(), "build": os.environ["FAKE_BUILD"]}


if __name__ == "__main__":
    misbehave()
    main()
