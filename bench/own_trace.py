"""How long a trace of so many trades takes from file to plan, and how much memory: CSV and Parquet.

`python bench/own_trace.py 10000000`. The rows are invented and written first; what is timed reads
and checks them for a scenario, as the command does, then makes the plan, as its child does. The
peak of memory is that of one process that does both.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import peak_memory_mb

from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

SCENARIO = Path(__file__).parents[1] / "pocketsim/scenarios/own_data/own_trades.toml"
PHONES, DURATION_S = 1000, 86_400.0


def write(rows: int, folder: Path) -> list[Path]:
    """Write `rows` invented trades as CSV and as Parquet; return the two files."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    random = np.random.default_rng(1)
    sender = random.integers(0, PHONES, rows)
    trades = pa.table(
        {
            "time_s": np.sort(random.random(rows)) * DURATION_S,
            "from": sender,
            "to": (sender + random.integers(1, PHONES, rows)) % PHONES,
            "payload_bytes": random.integers(4, 1000, rows),
        }
    )
    files = [folder / "trades.csv", folder / "trades.parquet"]
    csv.write_csv(trades, files[0])
    parquet.write_table(trades, files[1])
    return files


def measure(file: Path) -> None:
    """Print seconds to check a file of trades, to plan it and on CPUs; GB at most; arrivals."""
    overrides = [f"devices[0].count={PHONES}", f"run.duration={DURATION_S:g}s"]
    started_s = time.perf_counter()
    document = load(SCENARIO, [f"workload.file={file}", *overrides])
    checked_s = time.perf_counter()
    resolved = resolve(document)[0].resolved
    plan = build_plan(resolved, 0, None, document.paths())
    planned_s = time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s, peak_gb = used.ru_utime + used.ru_stime, peak_memory_mb() * (1 << 20) / 1e9
    arrivals = plan["workload"]["time_s"].size
    print(json.dumps([checked_s - started_s, planned_s - checked_s, cpu_s, peak_gb, arrivals]))


def main() -> None:
    """Write the files and measure each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        measure(asked.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        for file in write(asked.rows, Path(folder)):
            again = [sys.executable, __file__, str(asked.rows), "--measure", str(file)]
            done = subprocess.run(again, check=True, stdout=subprocess.PIPE)
            check_s, plan_s, cpu_s, peak_gb, arrivals = json.loads(done.stdout)
            print(
                f"{file.name}: {arrivals:,} rows checked in {check_s:.1f} s, "
                f"planned in {plan_s:.1f} s ({cpu_s:.1f} s of CPU), peak {peak_gb:.2f} GB"
            )


if __name__ == "__main__":
    main()
