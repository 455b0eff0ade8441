"""Runs one workload on pocketsim and on other simulators, and prints how they compare.

Each measurement is a process of its own. The simulators take turns, so that a noisy minute of the
machine hurts all of them, and ratios are taken within a turn: they travel between machines, rates
do not. Slow simulators simulate fewer seconds; rates are per transaction, so they compare all the
same. What did other work than the rest is refused (`check`). The result is also written as JSON, by
default to build/bench/result.json.
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

import check
import workload

from pocketsim.sim.run import children

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "bench"
OWN = "pocketsim"


@dataclass(frozen=True)
class Rival:
    """A program that runs the workload and prints one line of JSON."""

    name: str
    command: tuple[str, ...]
    # Transactions a second that it reaches at least; it decides how long it may simulate.
    slow_rate_per_s: float
    differs: str = ""
    # What its model adds to a transaction.
    further_s: float = 0.0


def python(script: str) -> tuple[str, ...]:
    """Return the command that runs a script of this folder."""
    return (sys.executable, str(HERE / script))


def compiled(program: str) -> tuple[str, ...]:
    """Return the command that runs a program which make has built of this folder."""
    return (str(BUILD / program),)


LINKS = "messages share links instead of queueing"
QUEUES = "downlinks of 10 Mbit/s queue, too: two more transmissions"
DOWNLINKS_S = 2 * workload.TRANSMISSION_S
RIVALS = (
    Rival(
        OWN,
        python("pocketsim_pairwise.py"),
        30_000,
        f"{QUEUES}, and messages have 28 B of headers",
        DOWNLINKS_S,
    ),
    Rival(
        "SimGrid, bare C++ loop",
        compiled("bare_loop"),
        30_000,
        f"{LINKS}, and work shares cores",
    ),
    Rival("SimGrid, Python actors", python("simgrid_actors.py"), 500, LINKS),
    Rival("SimPy, tuned", python("simpy_tuned.py"), 30_000),
    Rival("SimPy, as documented", python("simpy_processes.py"), 10_000),
    Rival("Python, heapq", python("heapq_pure.py"), 60_000),
    Rival(
        "C++ heap with queues",
        compiled("bare_queues"),
        200_000,
        QUEUES,
        DOWNLINKS_S,
    ),
)

Result = dict[str, Any]


def main() -> int:
    """Measure, print the tables, write the JSON."""
    options = parse()
    report: Result = {"machine": machine(), "repetitions": options.repetitions, "hosts": {}}
    for hosts in options.hosts:
        turns = [take_turn(hosts, options.seconds) for _ in range(options.repetitions)]
        report["hosts"][hosts] = summarise(turns)
        print_table(hosts, len(turns), report["hosts"][hosts])
    print_summary(report["hosts"])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten: {options.out}", file=sys.stderr)
    return 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--seconds", type=float, default=60, help="simulated, at most")
    parser.add_argument("--repetitions", type=int, default=5, help="turns of all simulators")
    parser.add_argument("--out", type=Path, default=BUILD / "result.json")
    options = parser.parse_args()
    if min(options.hosts) < check.FEWEST_HOSTS:
        parser.error(f"fewer than {check.FEWEST_HOSTS} hosts cannot be checked")
    return options


def take_turn(hosts: int, seconds: float) -> dict[str, Result]:
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
    if rival.name == OWN:
        return seconds  # what the others are compared with, at any size
    affordable = wall_budget_s * rival.slow_rate_per_s / (hosts * workload.RATE_PER_S)
    return round(min(seconds, affordable), 1) if affordable >= shortest_s else 0.0


def measure(rival: Rival, hosts: int, simulated_s: float) -> Result:
    """Run one simulator once and check that it did the same work."""
    command = [*rival.command, str(hosts), str(simulated_s)]
    environment = {**os.environ, **children.ENVIRONMENT}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{rival.name}: exit code {done.returncode}\n{done.stderr.strip()}")
    result: Result = json.loads(done.stdout.strip().splitlines()[-1])
    if found := check.mistakes(result, hosts, simulated_s, rival.further_s):
        sys.exit(f"{rival.name}: {'; '.join(found)}: not the same workload")
    result["simulated_s"] = simulated_s
    result["rate_per_s"] = result["transactions"] / result["run_s"]
    result["expected_latency_s"] = check.mean_latency_s(rival.further_s)
    result["latency_tolerance_s"] = check.latency_tolerance_s(hosts, simulated_s)
    return result


def summarise(turns: list[dict[str, Result]]) -> dict[str, Result]:
    """Return best and median rate of each simulator, and its ratio to pocketsim's.

    The ratio is the median over turns of the ratio within a turn. Latencies do not differ between
    turns: every simulator starts from one seed.
    """
    summary = {}
    for name, first in turns[0].items():
        rates = [turn[name]["rate_per_s"] for turn in turns]
        ratios = [turn[OWN]["rate_per_s"] / turn[name]["rate_per_s"] for turn in turns]
        summary[name] = {
            **{key: first[key] for key in KEPT},
            "best_rate_per_s": max(rates),
            "median_rate_per_s": statistics.median(rates),
            "pocketsim_times_faster": statistics.median(ratios),
            "pocketsim_times_faster_range": [min(ratios), max(ratios)],
            "memory_mb": max(turn[name]["memory_mb"] for turn in turns),
        }
    return summary


def print_table(hosts: int, turns: int, summary: dict[str, Result]) -> None:
    """Print one table, pocketsim first."""
    print(f"\n{hosts} hosts, {turns} turns; tx/s: median, of wall time; ratio: pocketsim's to this")
    print(f"{'':<23}{'T, s':>5}{'tx/s':>10}{'ratio':>7} {'(range)':<13}{'mean latency, ms':<18} MB")
    for name, row in summary.items():
        ratio, spread = "", ""
        if name != OWN:
            low, high = row["pocketsim_times_faster_range"]
            ratio, spread = digits(row["pocketsim_times_faster"]), f"({digits(low)}-{digits(high)})"
        mean_ms, expected_ms, tolerance_ms = (row[key] * 1e3 for key in LATENCY)
        latency = f"{mean_ms:.1f} of {expected_ms:.1f}+-{tolerance_ms:.1f}"
        print(
            f"{name:<23}{row['simulated_s']:>5g}{row['median_rate_per_s']:>10,.0f}"
            f"{ratio:>7} {spread:<13}{latency:<18} {row['memory_mb']:.0f}"
        )


def print_summary(by_hosts: dict[int, dict[str, Result]]) -> None:
    """Print all ratios in one table, and in what the simulators differ."""
    print("\nhow many times as fast as the other pocketsim is, by hosts")
    print(f"{'':<23}" + "".join(f"{hosts:>9}" for hosts in by_hosts))
    for rival in RIVALS[1:]:
        ratios = [summary.get(rival.name) for summary in by_hosts.values()]
        cells = [
            digits(ratio["pocketsim_times_faster"]) if ratio else "not run" for ratio in ratios
        ]
        print(f"{rival.name:<23}" + "".join(f"{cell:>9}" for cell in cells))
    print("\nall run the same workload within what chance explains, but:")
    for rival in RIVALS:
        if rival.differs:
            print(f"  {rival.name}: {rival.differs}")


def digits(ratio: float) -> str:
    """Return `ratio` with two digits, or all before the point."""
    return f"{ratio:.0f}" if ratio >= _ROUND_FROM else f"{ratio:.2g}"


def machine() -> dict[str, Any]:
    """Describe the machine, without anything that names it."""
    return {
        "cores": os.cpu_count(),
        "arch": platform.machine(),
        "python": platform.python_version(),
    }


_ROUND_FROM = 10
LATENCY = ("mean_latency_s", "expected_latency_s", "latency_tolerance_s")
KEPT = ("simulated_s", "transactions", "latency_sd_s", *LATENCY)

if __name__ == "__main__":
    raise SystemExit(main())
