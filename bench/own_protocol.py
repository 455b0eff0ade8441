"""What a protocol in Python costs, beside the same one in Rust and beside Python's heapq.

Usage: HOSTS SECONDS. Two protocols in Python run on the phones and links of the benchmark. `trade`
is its workload, that of every simulator of `run.py`: what a transaction takes beyond one in Rust is
what Python costs. `gossip` is the shipped example (pocketsim/scenarios/own_protocol/gossip.py); a
message with the work that it makes is half of what a transaction is elsewhere, so two count as one.
All take turns, and ratios are to heapq's transactions per second in the same turn. Exit code 3: the
median ratio of gossip is below the bar.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pocketsim_pairwise as pairwise  # first: what it sets, numpy reads when it is loaded
import run
import workload
from report import peak_memory_mb
from rivals import DOWNLINKS_S, Rival, python
from turns import ratios

from pocketsim.sim import _engine
from pocketsim.sim.base.units import DURATION, RATE
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.run import custom_objects

if TYPE_CHECKING:
    Result = dict[str, Any]
    Rates = dict[str, float]

HERE = Path(__file__).resolve().parent
CLASSES = {
    "trade": f"{HERE / 'trade.py'}:Trade",
    "gossip": f"{HERE.parent / 'pocketsim/scenarios/own_protocol/gossip.py'}:Gossip",
}
# The first three run the same workload, which is checked.
NAMES = ("heapq", "rust", "trade", "gossip")
BAR = 0.15
"""Of heapq's transactions per second, for gossip among 1000 phones."""
EXIT_CHECK_FAILED = 3
FANOUT = 4


def main() -> int:
    """Take turns, print what came of them; return the exit code."""
    options = parse()
    if options.only:
        print(json.dumps(measured(options.only, options.hosts, options.seconds)))
        return 0
    turns = [take_turn(options.hosts, options.seconds) for _ in range(options.repetitions)]
    print(
        f"\n{options.hosts} phones, {len(turns)} turns; tx/s: median, of wall time; ratio: to heapq"
    )
    print(f"{'':<8}{'tx/s':>10}{'ratio':>7} (range)")
    for name in NAMES:
        low, middle, high = ratios(turns, name, "heapq")
        rate_per_s = statistics.median(turn[name] for turn in turns)
        print(f"{name:<8}{rate_per_s:>10,.0f}{middle:>7.2f} ({low:.2f}-{high:.2f})")
    extra_us = statistics.median(1e6 / turn["trade"] - 1e6 / turn["rust"] for turn in turns)
    print(f"Python takes {extra_us:.1f} us of a trade, a transaction of two messages")
    is_met = ratios(turns, "gossip", "heapq").median >= BAR
    print(f"bar: gossip at {BAR:g} of heapq or more: {'met' if is_met else 'missed'}")
    return 0 if is_met or options.no_bar else EXIT_CHECK_FAILED


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hosts", type=int)
    parser.add_argument("seconds", type=float, help="simulated")
    parser.add_argument("--repetitions", type=int, default=5, help="turns of all")
    parser.add_argument("--no-bar", action="store_true", help="exit code 0 below it, too")
    parser.add_argument("--only", choices=("trade", "gossip"), help=argparse.SUPPRESS)
    return parser.parse_args()


def take_turn(hosts: int, seconds: float) -> Rates:
    """Run each once, in a process of its own; return transactions per second by name."""
    commands = {
        "heapq": python("heapq_pure.py"),
        "rust": python("pocketsim_pairwise.py"),
        "trade": (*python("own_protocol.py"), "--only", "trade"),
    }
    rates = {}
    for name, command in commands.items():
        print(f"{hosts} phones, {seconds:g} s: {name}", file=sys.stderr)
        further_s = 0.0 if name == "heapq" else DOWNLINKS_S
        rival = Rival(name, command, 0.0, further_s=further_s)
        rates[name] = run.measure(rival, hosts, seconds)["rate_per_s"]
    command = [*python("own_protocol.py"), "--only", "gossip", str(hosts), str(seconds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    return {**rates, "gossip": found["transactions"] / found["run_s"]}


def measured(name: str, count: int, end_s: float) -> Result:
    """Run one of the two in this process; return its line, as the other simulators print one."""
    result = simulated(name, count, end_s)
    taken_s = pairwise.latencies_s(result)
    messages = result["counters"]["datagrams_delivered"]
    return {
        "transactions": messages // 2 if name == "gossip" else taken_s.size,
        "mean_latency_s": float(taken_s.mean()),
        "latency_sd_s": float(taken_s.std()),
        "run_s": result["wall_s"],
        "memory_mb": peak_memory_mb(),
    }


def simulated(name: str, count: int, end_s: float) -> Result:
    """Return what the engine returns of `trade` or `gossip` on the benchmark's phones."""
    document = pairwise.document(count, end_s)
    document["protocol"] = {"kind": "python", "class": CLASSES[name]}
    if name == "gossip":
        document["protocol"]["options"] = {"fanout": FANOUT}
        document["operations"] = {"my_hash": {"cpu": DURATION.write(WORK_S)}}
        # A rumour is told FANOUT times by nearly every phone: two messages for a transaction.
        document["workload"]["rate"] = RATE.write(2 * workload.RATE_PER_S / (count * FANOUT))
    resolved, files = pairwise.resolved(document)
    plan = pairwise.on_links(build_plan(resolved, 0, files=files), count)
    result: Result = _engine.run(plan, None, custom_objects.given(resolved, 0, files))
    return result


WORK_S = (workload.ANSWER_CPU_S + workload.CONFIRM_CPU_S) / 2

if __name__ == "__main__":
    raise SystemExit(main())
