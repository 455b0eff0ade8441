"""What losses leave of a kept QUIC connection: as many packets, one by one or in bursts.

Two phones on LTE propose to each other 500 times a second over kept connections, of which each
network loses 1.4 % of the packets. The table has means over repetitions. Usage: lossy_quic.py
[--out FOLDER].
"""

from __future__ import annotations

import argparse
import tomllib
from typing import Any

import pocketsim as ps

# LTE of 1k without its losses.
SCENARIO = """
title = "A kept connection over LTE that loses 1.4 %"
implementation = "probe"

[run]
seed = 1
duration = "30s"
repetitions = 3

[[devices]]
profile = "moto_g04s"
count = 2
access = "lte"

[network.access.lte]
up = "6Mbps"
down = "13Mbps"
latency = "10ms"
jitter_median = "10ms"
jitter_sigma = 0.8

[workload]
kind = "poisson"
rate = "250/s"
payload = "100B"

[transport]
mode = "quic_keep"
relay_first = false
"""
LTE = "network.access.lte"
# 5.4 packets: the 5G data set's bursts, driving (Raca et al., MMSys 2020), at its pings of one a
# second.
LOSSES: dict[str, dict[str, Any]] = {
    "none": {},
    "one by one": {f"{LTE}.loss_ratio": 0.014},
    "bursts of 5.4 packets": {f"{LTE}.bursts": {"share": 0.014, "mean_packets": 5.4}},
    "bursts of 11 packets": {f"{LTE}.bursts": {"share": 0.014, "mean_packets": 11.0}},
    "bursts of 100 ms": {f"{LTE}.bursts": {"share": 0.014, "mean_duration": "100ms"}},
}


def main() -> int:
    """Run each law of losses and print the table; return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="build/bench/lossy_quic", help="Folder for runs.")
    out = parser.parse_args().out
    print("| losses of 1.4 % | stored a second | of 500 | p50 ms | p95 ms |")
    print("|---|---|---|---|---|")
    for name, changes in LOSSES.items():
        (run,) = ps.run(tomllib.loads(SCENARIO), changes, out=out, progress=False)
        metrics = run.metrics["metrics"]
        keys = ("store_rate_per_s", "rtt_ms_p50", "rtt_ms_p95")
        rate, p50, p95 = (metrics[key]["mean"] or 0.0 for key in keys)
        print(f"| {name} | {rate:.0f} | {rate / 500:.1%} | {p50:.0f} | {p95:.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
