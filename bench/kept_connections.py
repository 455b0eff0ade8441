"""Phones that trade with anybody over kept connections, of which most are silent.

Usage: PHONES SECONDS [wifi | lte] [events]. Each phone proposes once in five seconds to a partner
at random over `quic_keep`, so it soon has a hundred connections, each of which gives a sign of life
every second. With `events` each of those is simulated (`transport.keep_alive_events`); without,
connections rest. Ways take always as long and lose nothing, or vary as those of `1k` do, but lose
one by one.
Counted is the time of the processor, since the run takes long enough to be disturbed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from json import dumps
from pathlib import Path
from typing import Any

from pocketsim.sim.run import children

os.environ |= children.ENVIRONMENT  # before numpy is loaded, as in every child

import tomli_w
from report import peak_memory_mb

from pocketsim.sim import _engine
from pocketsim.sim.base.units import DURATION
from pocketsim.sim.plan import build_plan as plan
from pocketsim.sim.scenario import resolve
from pocketsim.sim.scenario.load import load

VARIED = {
    "wifi": {"latency": "1ms", "jitter_median": "2ms", "jitter_sigma": 1.75},
    "lte": {
        "latency": "10ms",
        "jitter_median": "10ms",
        "jitter_sigma": 0.8,
        "loss_ratio": 0.014,
    },
}


def build_plan(phones: int, end_s: float, asked: list[str]) -> dict[str, Any]:
    """Return the plan of `phones` phones that propose for `end_s` simulated seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.toml"
        path.write_text(tomli_w.dumps(document(phones, end_s, asked)), encoding="utf-8")
        (rung,) = resolve.resolve(load(path))
    return plan.build_plan(rung.resolved, repetition=0)


def document(phones: int, end_s: float, asked: list[str]) -> dict[str, Any]:
    """Return the scenario, with wide radios."""
    network = {"up": "40Mbps", "down": "40Mbps", "latency": "2ms"}
    for name in asked:
        network |= VARIED.get(name, {})
    transport = {"keep_alive_events": True} if "events" in asked else {}
    return {
        "implementation": "trustchain_throughput_2025",
        "run": {"seed": 1, "duration": DURATION.write(end_s)},
        "devices": [{"profile": "moto_g04s", "count": phones, "access": "wifi"}],
        "network": {"access": {"wifi": network}},
        "workload": {"kind": "poisson", "rate": "0.2/s", "payload": "100B"},
        "transport": {"mode": "quic_keep", **transport},
    }


def main(phones: int, end_s: float, asked: list[str]) -> None:
    """Run it and print one line."""
    made, start_s = build_plan(phones, end_s, asked), time.process_time()
    result = _engine.run(made)
    cpu_s = time.process_time() - start_s
    counters = result["counters"]
    line = {
        "phones": phones,
        "simulated_s": end_s,
        "transactions": counters["store"],
        "connections": counters["connect"],
        "datagrams": counters["datagrams_sent"],
        "run_s": round(result["wall_s"], 2),
        "cpu_s": round(cpu_s, 2),
        "cpu_ms_per_phone": round(1e3 * cpu_s / phones, 2),
        "memory_mb": round(peak_memory_mb()),
    }
    print(dumps(line))


if __name__ == "__main__":
    count, duration_s, *words = sys.argv[1:]
    if {*words} - {*VARIED, "events"}:
        sys.exit(__doc__)
    main(int(count), float(duration_s), words)
