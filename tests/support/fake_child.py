"""The process that forks, with a fake engine, for tests of what is around the engine.

Environment variables make forks misbehave: FAKE_LOG appends a line per finished repetition,
FAKE_SLEEP_S waits first, FAKE_ABORT kills the fork of the repetition of that number,
FAKE_ABORT_SEED those of runs of that seed, FAKE_HOLD is a pipe into which one writes its process
number before it waits for good, FAKE_CHATTER lets it tell its share many times; FAKE_ASSEMBLY is
how putting a run together fails, by an error's number or as "broken", "killed" or "not_finite".
Exit codes are those of real forks.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import types
from pathlib import Path

import numpy as np

from pocketsim.sim.run import child, forkserver
from pocketsim.sim.run.job import Share

EVENT_KINDS = ["send", "store"]


def run(plan, progress):
    progress(0.5, 2)
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
        "phone_cpu_s": 0.0,
        "battery": None,
        "energy_j": {},
        "energy_by_part_j": {},
        "waits": {},
        "kept_cents": {},
        "clock_s": plan["duration_s"],
        "final_index": [index + 2 for index in plan["phones"]["first_index"].tolist()],
        "tokens": None,
    }


def perform(asked, tell):
    """Do what a fork of the real server does, with this engine and what was asked of it."""
    if "job" not in asked:
        break_assembly(os.environ.get("FAKE_ASSEMBLY", ""))

    def simulated(job, tell):
        code = simulate(job, tell)
        if "assembly" in asked:
            break_assembly(os.environ.get("FAKE_ASSEMBLY", ""))
        return code

    return forkserver.perform(asked, tell, simulated)


def simulate(job, tell):
    sys.stderr.write("fake engine\n")
    sys.stderr.flush()
    seed = str(job["resolved"]["run"]["seed"])
    if str(job["repetition"]) == os.environ.get("FAKE_ABORT") or seed == os.environ.get(
        "FAKE_ABORT_SEED"
    ):
        sys.stderr.write("the engine says why\n")
        sys.stderr.flush()
        os.abort()
    if "FAKE_HOLD" in os.environ:
        Path(os.environ["FAKE_HOLD"]).write_text(f"{os.getpid()}\n")
        signal.pause()
    if "FAKE_CHATTER" in os.environ:
        sys.stdout.write("0.25\n")  # of whoever prints in a fork; no share
        for _ in range(50_000):  # more than a socket holds
            tell(Share.so_far(0.5, 2, 1.0))
    time.sleep(float(os.environ.get("FAKE_SLEEP_S", "0")))
    code = child.attempt(job, types.SimpleNamespace(run=run), tell)
    if code == 0 and "FAKE_LOG" in os.environ:
        with Path(os.environ["FAKE_LOG"]).open("a") as log:
            log.write(f"{job['resolved']['rung']['rate_per_s']:g} {job['repetition']}\n")
    return code


def break_assembly(how):
    from pocketsim.sim import metrics, trace

    def full(_parts, _path):
        raise OSError(int(how), os.strerror(int(how)))  # without a file's name, as of pyarrow

    def broken(*_):
        raise ZeroDivisionError

    if how.isdigit():
        trace.join = full
    if how == "broken":
        metrics.measure = broken
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "not_finite":
        metrics.measure = lambda *_: {"rate": float("nan")}


if __name__ == "__main__":
    sys.exit(forkserver.main(perform))
