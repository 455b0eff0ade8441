"""The workload that every simulator in this folder runs, as numbers in SI units.

Every host proposes transactions at a fixed mean rate to uniformly random peers: a message to the
peer, work there, an answer of the same size, work at home. Each host has one core, one uplink, and
an access latency of its own, drawn once; a message takes the latencies of both ends. The C++
programs repeat these constants, because they share no code with pocketsim. Whether a simulator ran
this workload is `check`'s business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

RATE_PER_S = 1.0
MESSAGE_BYTES = 668  # a countersigned TrustChain block of 128 B payload with its headers
ACCESS_BYTES_PER_S = 10e6 / 8
TRANSMISSION_S = MESSAGE_BYTES / ACCESS_BYTES_PER_S
# Lognormal over hosts; two of them make about 20 ms one way between two phones.
ACCESS_LATENCY_MEDIAN_S = 0.010
ACCESS_LATENCY_SIGMA = 0.25
ANSWER_CPU_S = 0.15e-3  # verify, sign
CONFIRM_CPU_S = 0.10e-3  # verify


def access_latencies_s(chance: random.Random, count: int) -> list[float]:
    """Return the access latency of each of `count` hosts."""
    return [
        ACCESS_LATENCY_MEDIAN_S * chance.lognormvariate(0.0, ACCESS_LATENCY_SIGMA)
        for _ in range(count)
    ]
