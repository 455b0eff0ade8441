"""Runs one workload on pocketsim and on other simulators, and prints how they compare.

Each measurement is a process of its own. The simulators take turns, so that a noisy minute of the
machine hurts all of them, and ratios are taken within a turn. Slow simulators simulate fewer
seconds; rates are per transaction, so they compare all the same. The result is also written as
JSON, by default to build/bench/result.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import workload

from sim import children

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "bench"
OWN = "pocketsim"

# How far a simulator's mean latency may be from an unloaded transaction: more would mean that it
# runs another workload. Queueing and packet headers stay below 0.5 %.
LATENCY_TOLERANCE = 0.01


@dataclass(frozen=True)
class Rival:
    """A program that runs the workload and prints one line of JSON."""

    name: str
    command: tuple[str, ...]
    # Transactions a second that it reaches at least; it decides how long it may simulate.
    slow_rate_per_s: float


def python(script: str) -> tuple[str, ...]:
    """Return the command that runs a script of this folder."""
    return (sys.executable, str(HERE / script))


RIVALS = (
    Rival(OWN, python("pocketsim_pairwise.py"), 30_000),
    Rival("SimGrid, bare C++ loop", (str(BUILD / "bare_loop"),), 30_000),
    Rival("SimGrid, Python actors", python("simgrid_actors.py"), 500),
    Rival("SimPy, tuned", python("simpy_tuned.py"), 30_000),
    Rival("SimPy, as documented", python("simpy_processes.py"), 10_000),
)


def main() -> int:
    """Measure, print the tables, write the JSON."""
    options = parse()
    report = {"machine": machine(), "repetitions": options.repetitions, "hosts": {}}
    for hosts in options.hosts:
        turns = [take_turn(hosts, options.seconds) for _ in range(options.repetitions)]
        report["hosts"][str(hosts)] = summarise(turns)
        print_table(hosts, report["hosts"][str(hosts)])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=2) + "\n")
    print(f"\nwritten: {options.out}", file=sys.stderr)
    return 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--seconds", type=float, default=60, help="simulated, at most")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", type=Path, default=BUILD / "result.json")
    return parser.parse_args()


def take_turn(hosts: int, seconds: float) -> dict[str, dict[str, Any]]:
    """Run every simulator once; return their results by name."""
    results = {}
    for rival in RIVALS:
        if simulated_s := affordable_s(rival, hosts, seconds):
            print(f"{hosts} hosts, {simulated_s:g} s: {rival.name}", file=sys.stderr)
            results[rival.name] = measure(rival, hosts, simulated_s)
    return results


def affordable_s(rival: Rival, hosts: int, seconds: float) -> float:
    """Return how long `rival` may simulate to stay within some seconds of wall time, or 0."""
    wall_budget_s, shortest_s = 8.0, 2.0
    affordable = wall_budget_s * rival.slow_rate_per_s / (hosts * workload.RATE_PER_S)
    return round(min(seconds, affordable), 1) if affordable >= shortest_s else 0.0


def measure(rival: Rival, hosts: int, simulated_s: float) -> dict[str, Any]:
    """Run one simulator once and check that it did the same work."""
    command = [*rival.command, str(hosts), str(simulated_s)]
    environment = {**os.environ, **children.ENVIRONMENT}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    error = result["mean_latency_s"] / workload.UNLOADED_LATENCY_S - 1
    if abs(error) > LATENCY_TOLERANCE:
        sys.exit(f"{rival.name}: mean latency is off by {error:+.1%}; not the same workload")
    result["simulated_s"] = simulated_s
    result["rate_per_s"] = result["transactions"] / result["run_s"]
    return result


def summarise(turns: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """Return best and median rate of each simulator, and its ratio to pocketsim's.

    The ratio is the median over turns of the ratio within a turn.
    """
    summary = {}
    for name in turns[0]:
        rates = [turn[name]["rate_per_s"] for turn in turns]
        ratios = [turn[OWN]["rate_per_s"] / turn[name]["rate_per_s"] for turn in turns]
        summary[name] = {
            "best_rate_per_s": max(rates),
            "median_rate_per_s": statistics.median(rates),
            "pocketsim_times_faster": statistics.median(ratios),
            "simulated_s": turns[0][name]["simulated_s"],
            "memory_mb": max(turn[name]["memory_mb"] for turn in turns),
        }
    return summary


def print_table(hosts: int, summary: dict[str, dict[str, float]]) -> None:
    """Print one table, pocketsim first."""
    print(f"\n{hosts} hosts{'':>18}   best tx/s  median tx/s  pocketsim is      MB")
    for name, row in summary.items():
        ratio = f"{row['pocketsim_times_faster']:.2f} x as fast" if name != OWN else ""
        print(
            f"  {name:<24}{row['best_rate_per_s']:>13,.0f}{row['median_rate_per_s']:>13,.0f}"
            f"{ratio:>16}{row['memory_mb']:>8.0f}"
        )


def machine() -> dict[str, Any]:
    """Describe the machine, without anything that names it."""
    return {
        "cores": os.cpu_count(),
        "arch": platform.machine(),
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    raise SystemExit(main())
