"""The pairwise workload on pocketsim's engine: a plan, without a scenario around it.

Usage: HOSTS SECONDS. The clock counts the replay; arrivals, platform and machines are set-up. The
trace keeps every event, as a run of `pocketsim run` would by default.
"""

from __future__ import annotations

import resource
import sys
import time
from json import dumps
from typing import Any

import numpy as np
import workload

from sim import _engine

NEVER_S = float("inf")


def build_plan(count: int, end_s: float) -> dict[str, Any]:
    """Return the plan of `count` phones that propose for `end_s` simulated seconds."""
    return {
        "seed": 1,
        "duration_s": end_s,
        "profiles": [profile()],
        "access": [access()],
        "sites": [{"bytes_per_s": 0.0}],
        "phones": {
            "profile": [0] * count,
            "access": [0] * count,
            "site": [0] * count,
            "first_index": [1] * count,
        },
        "backbone": {"latency_s": 0.0, "relay_latency_s": 0.0},
        "churn": {"time_s": [], "phone": [], "on": []},
        "workload": arrivals(count, end_s),
        "protocol": {
            "kind": "pairwise",
            "crypto": "counted",
            "duplicate_window_s": 30.0,
            "compute": None,
        },
        "transport": udp(count),
        "trace": {"mode": "full", "sample_ratio": 1.0, "log_capacity": 0, "tokens": False},
    }


def profile() -> dict[str, Any]:
    """Return a phone on which only answering and confirming cost anything."""
    cost_s = {"verify": workload.ANSWER_CPU_S, "store": workload.CONFIRM_CPU_S}
    free = [0.0] * len(_engine.OPERATIONS)
    return {
        "cores": 1,
        "cpu_s": [cost_s.get(name, 0.0) for name in _engine.OPERATIONS],
        "cpu_s_per_byte": free,
        "threads": [1] * len(free),
        "wait_s": free,
        "spread_sigma": free,
        "socket_buffer_bytes": 1 << 20,
    }


def access() -> dict[str, Any]:
    """Return an access link without chance; as in a bare flow model, datagrams may overtake."""
    return {
        "up_bytes_per_s": workload.ACCESS_BYTES_PER_S,
        "down_bytes_per_s": workload.ACCESS_BYTES_PER_S,
        "latency_s": workload.ACCESS_LATENCY_S,
        "jitter_median_s": 0.0,
        "jitter_sigma": 0.0,
        "loss_ratio": 0.0,
        "reorders": True,
    }


def arrivals(count: int, end_s: float) -> dict[str, Any]:
    """Return Poisson arrivals at uniformly random pairs of different phones."""
    chance = np.random.default_rng(1)
    total = chance.poisson(count * workload.RATE_PER_S * end_s)
    proposers = chance.integers(0, count, total)
    partners = chance.integers(0, count - 1, total)
    return {
        "time_s": np.sort(chance.uniform(0.0, end_s, total)).tolist(),
        "from_phone": proposers.tolist(),
        "to_phone": (partners + (partners >= proposers)).tolist(),
        "payload_bytes": [workload.MESSAGE_BYTES] * total,
        "loops": [],
    }


def udp(count: int) -> dict[str, Any]:
    """Return the plain UDP transport; fields of other transports are there and unused."""
    return {
        "kind": "udp",
        "mode": "",
        "poll_interval_s": 0.0,
        "connect_timeout_s": 3.0,
        "idle_timeout_s": 30.0,
        "keep_alive_s": 0.0,
        "relay_first": False,
        "answer_on_same_connection": False,
        "socket_timeout_s": 5.0,
        "socket_buffer_bytes": 0,
        "duplicate_dial_s": [NEVER_S] * count,
        "connection_break_s": [NEVER_S] * count,
    }


def mean_latency_s(result: dict[str, Any]) -> tuple[int, float]:
    """Return how many transactions were stored, and the mean time from send to store."""
    columns = result["columns"]
    time_s = np.frombuffer(columns["time_s"], "<f8")
    kind = np.frombuffer(columns["kind"], "u1")
    message = np.frombuffer(columns["message"], "<u8")
    stored = kind == result["event_kinds"].index("store")
    sent = kind == result["event_kinds"].index("send")
    sent_order = np.argsort(message[sent])
    position = np.searchsorted(message[sent][sent_order], message[stored])
    started_s = time_s[sent][sent_order][position]
    return int(stored.sum()), float(np.mean(time_s[stored] - started_s))


def main(count: int, end_s: float) -> None:
    """Run the workload on `count` hosts for `end_s` simulated seconds."""
    start = time.perf_counter()
    result = _engine.run(build_plan(count, end_s))
    whole_s = time.perf_counter() - start
    transactions, latency_s = mean_latency_s(result)
    line = {
        "transactions": transactions,
        "mean_latency_s": latency_s,
        "setup_s": whole_s - result["wall_s"],
        "run_s": result["wall_s"],
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(dumps(line))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
