"""Memory of a repetition that keeps its events, and of one that keeps none, by its length.

Usage: [SECONDS ...], 50 and 500 unless told otherwise. A hundred phones trade over TrustChain and
UDP, 20 times a second each. Every repetition is a child process as in any run, and its memory the
peak of all that process: what was drawn before it and Python are in it. Prints a line of JSON each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pocketsim.sim.run.job import Job, summary_path
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

ROOT = Path(__file__).resolve().parents[1]
SECONDS = ("50", "500")
SCENARIO = f"""
implementation = "{ROOT}/tests/support/every_transport.toml"
run = {{seed = 1, duration = "1s"}}
devices = [{{profile = "moto_g04s", count = 100, access = "wifi"}}]
network.access.wifi = {{up = "40Mbps", down = "40Mbps", latency = "1.5ms", loss_ratio = 0.001}}
workload = {{kind = "poisson", rate = "20/s", payload = "100B"}}
transport.mode = "udp"
"""


def measured(folder: Path, seconds: str, trace: str) -> dict[str, Any]:
    """Return the peak memory of a repetition of so many seconds, and its core time."""
    path = folder / "hundred.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    (rung,) = resolve(load(path, [f"run.duration={seconds}s", f"output.trace={trace}"]))
    job: Job = {
        "resolved": rung.resolved,
        "repetition": 0,
        "first_index": None,
        "out_dir": str(folder),
    }
    command = [sys.executable, "-P", "-m", "pocketsim.sim.run.child"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        assert child.stdin is not None
        child.stdin.write(json.dumps(job).encode())
        child.stdin.close()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, "the repetition has to end well"
    told = json.loads(summary_path(folder, 0).read_text(encoding="utf-8"))
    return {
        "trace": trace,
        "transactions": told["counters"]["send"],
        "held_max": told.get("ledger", {}).get("held_max"),
        "memory_mb": round(used.ru_maxrss / 1024),
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        for mode in ("full", "metrics"):
            for asked in sys.argv[1:] or SECONDS:
                print(json.dumps(measured(Path(made), asked, mode)), flush=True)
