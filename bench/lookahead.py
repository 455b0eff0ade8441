"""What a second core could gain inside one run: the lookahead of shipped scenarios, and its price.

A conservative parallel run gives each core half of the phones. Both handle what happens within a
window as long as the lookahead, in which nothing of one half can reach the other, and then wait for
each other (Chandy and Misra, 1979; Fujimoto, Parallel and Distributed Simulation Systems, 2000,
chapter 3). The lookahead is the least time that a datagram takes from phone to phone: the latencies
of both access networks and of what lies between. How many events a window holds and what each costs
is measured, and so is a meeting of two threads (`barrier.cpp`); the gain follows from them:

    one core: n * e        two: (n / 2 + sqrt(n / (2 * pi))) * e + meeting

for n events of e seconds in a window, which fall to either half by chance: of two Poisson numbers
of mean m the larger is m + sqrt(m / pi) on average. It is an upper bound: what halves must share
beside datagrams (the order of rows in the trace, sites) is not in it.

Prints a table, and with --json one line for each scenario.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pocketsim.sim.run import children

os.environ |= children.ENVIRONMENT  # before numpy is loaded, as in every child

import numpy as np
import pocketsim_pairwise

from pocketsim.api.documents import catalog
from pocketsim.sim import _engine
from pocketsim.sim.plan import build_plan as plan
from pocketsim.sim.scenario import resolve
from pocketsim.sim.scenario.load import load

BARRIER = Path(__file__).resolve().parent.parent / "build" / "bench" / "barrier"
CHURN = Path(__file__).resolve().parent.parent / "tests/support/1k_churn.toml"
NAMES = (CHURN, "market", "outage", "udp_100b", "iroh_keep_100b", "rates_by_group")
"""A thousand phones that come and go; of those that are shipped, some of each kind of access."""
SIZES = {1_000: 60.0, 10_000: 20.0, 100_000: 5.0}
"""Phones of the benchmark's workload, and for how many seconds they are simulated."""


def lookahead_s(made: dict[str, Any]) -> float:
    """Return the least time from phone to phone, over access networks or where some meet."""
    used = zip(*np.unique(made["phones"]["access"], return_counts=True), strict=True)
    # Two phones of one site have nothing between their networks.
    access_s = sorted(
        made["access"][number]["latency_s"]
        for number, phones in used
        for _ in range(min(int(phones), 2))
    )
    met = np.unique(made["proximity"]["link"])
    contacts_s = [made["proximity"]["links"][number]["latency_s"] for number in met]
    return float(min([sum(access_s[:2]), *contacts_s]))


def measured(made: dict[str, Any]) -> dict[str, float]:
    """Run a plan; return its lookahead, what happened in it, and what that took."""
    counted = [0]

    def progress(_share: float, events: int) -> None:
        counted[0] = events

    result = _engine.run(made, progress)
    window_s = lookahead_s(made)
    return {
        "phones": len(made["phones"]["access"]),
        "lookahead_s": window_s,
        "events_per_window": counted[0] * window_s / made["duration_s"],
        "event_s": result["wall_s"] / max(counted[0], 1),
    }


def gain(row: dict[str, float], meeting_s: float) -> float:
    """Return how many times as fast two cores are at most."""
    events, event_s = row["events_per_window"], row["event_s"]
    if events == 0.0:
        return 0.0
    busier = events / 2 + math.sqrt(events / (2 * math.pi))
    return events * event_s / (min(busier, events) * event_s + meeting_s)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenarios", nargs="*", default=NAMES)
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    meeting_s = float(subprocess.run([BARRIER], check=True, capture_output=True, text=True).stdout)
    rows = {}
    for name in options.scenarios:
        file = catalog.document_file(name, "scenario")
        first, *_ = resolve.resolve(load(file))
        rows[file.stem] = measured(plan.build_plan(first.resolved, repetition=0))
    for phones in options.sizes:
        made = pocketsim_pairwise.build_plan(phones, SIZES.get(phones, 1.0))
        rows[f"the benchmark, {phones} phones"] = measured(made)
    if not options.json:
        print(f"a meeting of two threads: {1e6 * meeting_s:.2f} us")
        print(
            f"{'':<32}{'phones':>8}{'lookahead':>11}{'events in it':>14}{'us each':>9}{'gain':>7}"
        )
    for name, row in rows.items():
        row["gain"] = gain(row, meeting_s)
        if options.json:
            print(json.dumps({"name": name, "meeting_s": meeting_s, **row}))
            continue
        print(
            f"{name:<32}{row['phones']:>8}{1e3 * row['lookahead_s']:>8.2f} ms"
            f"{row['events_per_window']:>14.2f}{1e6 * row['event_s']:>9.2f}{row['gain']:>7.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
