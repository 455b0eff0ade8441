"""How long tests wait for clusters, whose daemons start other daemons, on a busy machine."""

from __future__ import annotations

import functools
import subprocess

from support.interop_programs import wait_until

PATIENCE_S = 180.0
patiently = functools.partial(wait_until, patience_s=PATIENCE_S)


def end(process: subprocess.Popen) -> None:
    """End a daemon that a test started, in its own way if it does so soon."""
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
