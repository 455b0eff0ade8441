"""Runs one workload on pocketsim and on other simulators, and shows what each costs at each size.

Each measurement is a process of its own. The simulators take turns, so that a noisy minute of the
machine hurts all of them, and ratios are taken within a turn: they travel between machines, rates
do not. Slow simulators simulate fewer seconds; rates are per transaction, so they compare all the
same. What did other work than the rest is refused (`check`). What a phone of pocketsim's takes of
memory is measured for itself (`memory`). All of it is printed and written as JSON, by default to
build/bench/result.json, and as a page, cost.html beside it (`cost`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import check
import cost
import tables
import workload
from rivals import BUILD, HEAPQ, LIMIT, OWN, Rival, found, python
from turns import ratios, spread

from pocketsim.sim.run import children

if TYPE_CHECKING:
    from collections.abc import Sequence

Result = dict[str, Any]


def main() -> int:
    """Measure, print the tables, write the JSON and the page."""
    options = parse()
    report: Result = {
        "machine": machine(),
        "repetitions": options.repetitions,
        "differs": {rival.name: rival.differs for rival in found() if rival.differs},
        "hosts": {},
    }
    for hosts in options.hosts:
        turns = [take_turn(hosts, options.seconds) for _ in range(options.repetitions)]
        report["hosts"][hosts] = summarise(turns)
        tables.print_table(hosts, len(turns), report["hosts"][hosts])
    report["memory"] = memory(options.memory)
    tables.print_summary(report)
    tables.print_memory(report["memory"])
    options.out.parent.mkdir(parents=True, exist_ok=True)
    page = options.out.with_name("cost.html")
    options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    page.write_text(cost.page(report).html(), encoding="utf-8")
    print(f"\nwritten: {options.out}, {page}", file=sys.stderr)
    return 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--seconds", type=float, default=60, help="simulated, at most")
    parser.add_argument("--repetitions", type=int, default=5, help="turns of all simulators")
    parser.add_argument(
        "--memory",
        type=int,
        nargs=2,
        default=[20_000, 120_000],
        metavar=("SMALL", "LARGE"),
        help="numbers of phones between which memory is compared",
    )
    parser.add_argument("--out", type=Path, default=BUILD / "result.json")
    options = parser.parse_args()
    if min(options.hosts) < check.FEWEST_HOSTS:
        parser.error(f"fewer than {check.FEWEST_HOSTS} hosts cannot be checked")
    if options.memory[0] >= options.memory[1]:
        parser.error("--memory: the second number is to be larger")
    return options


def take_turn(hosts: int, seconds: float) -> dict[str, Result]:
    """Run every simulator once; return their results by name."""
    results = {}
    for rival in found():
        if simulated_s := affordable_s(rival, hosts, seconds):
            print(f"{hosts} hosts, {simulated_s:g} s: {rival.name}", file=sys.stderr)
            results[rival.name] = measure(rival, hosts, simulated_s)
    return results


def affordable_s(rival: Rival, hosts: int, seconds: float) -> float:
    """Return how long `rival` may simulate to stay within some seconds of wall time, or 0."""
    wall_budget_s, shortest_s = 8.0, 2.0
    if rival.name == OWN:  # what the others are compared with, at any size
        return min(seconds, OWN_TRANSACTIONS_MAX / (hosts * workload.RATE_PER_S))
    affordable = wall_budget_s * rival.slow_rate_per_s / (hosts * workload.RATE_PER_S)
    return round(min(seconds, affordable), 1) if affordable >= shortest_s else 0.0


def measure(rival: Rival, hosts: int, simulated_s: float) -> Result:
    """Run one simulator once and check that it did the same work."""
    result = told(rival.name, [*rival.command, str(hosts), str(simulated_s)])
    if wrong := check.mistakes(result, hosts, simulated_s, rival.further_s):
        sys.exit(f"{rival.name}: {'; '.join(wrong)}: not the same workload")
    result["simulated_s"] = simulated_s
    result["rate_per_s"] = result["transactions"] / result["run_s"]
    result["expected_latency_s"] = check.mean_latency_s(rival.further_s)
    result["latency_tolerance_s"] = check.latency_tolerance_s(hosts, simulated_s)
    return result


def told(name: str, command: Sequence[str]) -> Result:
    """Return the line of JSON that a program ends with."""
    environment = children.environment()  # the rivals' pages are large, too
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{name}: exit code {done.returncode}\n{done.stderr.strip()}")
    line: Result = json.loads(done.stdout.strip().splitlines()[-1])
    return line


def summarise(turns: list[dict[str, Result]]) -> dict[str, Result]:
    """Return what each simulator's turns came to: rates, and ratios within a turn.

    Latencies do not differ between turns: every simulator starts from one seed.
    """
    rates = [{name: result["rate_per_s"] for name, result in turn.items()} for turn in turns]
    return {
        name: {
            **{key: first[key] for key in KEPT},
            "rate_per_s": spread([turn[name] for turn in rates])._asdict(),
            "pocketsim_times_faster": ratios(rates, OWN, name)._asdict(),
            # What one is compared with may be too slow for a size, too.
            **{
                key: ratios(rates, name, other)._asdict() if other in rates[0] else None
                for key, other in (("to_limit", LIMIT), ("to_heapq", HEAPQ))
            },
            "memory_mb": max(turn[name]["memory_mb"] for turn in turns),
        }
        for name, first in turns[0].items()
    }


def memory(phones: Sequence[int]) -> Result:
    """Return what `memory.py` finds between two numbers of phones."""
    small, large = map(str, phones)
    print(f"memory, {small} and {large} phones: {OWN}", file=sys.stderr)
    return told(OWN, [*python("memory.py"), small, large])


def machine() -> dict[str, Any]:
    """Describe the machine, without anything that names it."""
    return {
        "cores": os.cpu_count(),
        "arch": platform.machine(),
        "python": platform.python_version(),
    }


KEPT = (
    *("simulated_s", "transactions", "latency_sd_s"),
    *("mean_latency_s", "expected_latency_s", "latency_tolerance_s"),
)
OWN_TRANSACTIONS_MAX = 2_000_000
"""So that a turn of a hundred thousand phones takes seconds, too: 20 simulated ones."""

if __name__ == "__main__":
    raise SystemExit(main())
