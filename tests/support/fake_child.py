"""A child with a fake engine, for tests of what is around the engine.

Environment variables make it misbehave: FAKE_LOG appends a line per finished repetition,
FAKE_SLEEP_S waits first, FAKE_ABORT kills the child in the repetition of that number, FAKE_HOLD
names a pipe into which it writes its process number before it waits for good. It ends with the code
that the real child ends with.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import types
from pathlib import Path

import numpy as np

from pocketsim.sim.run import child

EVENT_KINDS = ["send", "store"]


def run(plan, progress):
    progress(0.5)
    rows = 4
    columns = {
        "time_s": np.linspace(0.1, plan["duration_s"], rows).astype("<f8"),
        "node": np.zeros(rows, "<u4"),
        "kind": np.array([0, 1, 0, 1], "u1"),
        "message": np.array([1, 1, 2, 2], "<u8"),
        "peer": np.ones(rows, "<u4"),
        "size_bytes": np.full(rows, 600, "<u4"),
        "reason": np.full(rows, 255, "u1"),
        "logged": np.ones(rows, "u1"),
    }
    return {
        "columns": {name: values.tobytes() for name, values in columns.items()},
        "event_kinds": EVENT_KINDS,
        "reasons": ["duplicate"],
        "counters": {"events": rows},
        "cpu_s": {},
        "energy_j": {},
        "kept_cents": {},
        "clock_s": plan["duration_s"],
        "final_index": [index + 2 for index in plan["phones"]["first_index"].tolist()],
        "simgrid": "fake",
    }


def main():
    job = json.load(sys.stdin)
    sys.stderr.write("fake engine\n")
    if os.environ.get("FAKE_ABORT") == str(job["repetition"]):
        sys.stderr.write("the engine says why\n")
        sys.stderr.flush()
        os.abort()
    if "FAKE_HOLD" in os.environ:
        Path(os.environ["FAKE_HOLD"]).write_text(f"{os.getpid()}\n")
        signal.pause()
    time.sleep(float(os.environ.get("FAKE_SLEEP_S", "0")))
    code = child.attempt(job, types.SimpleNamespace(run=run))
    if code == 0 and "FAKE_LOG" in os.environ:
        with Path(os.environ["FAKE_LOG"]).open("a") as log:
            log.write(f"{job['resolved']['rung']['rate_per_s']:g} {job['repetition']}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
