"""The workload that every simulator in this folder runs, as numbers in SI units.

Every host proposes transactions at a fixed mean rate to uniformly random peers: a message to the
peer, work there, an answer of the same size, work at home. Hosts hang on a star of split-duplex
access links. `bare_loop.cpp` repeats these constants, because it shares no code with pocketsim.
"""

from __future__ import annotations

RATE_PER_S = 1.0
MESSAGE_BYTES = 668  # a countersigned TrustChain block of 500 B payload with its headers
ACCESS_BYTES_PER_S = 10e6 / 8
ACCESS_LATENCY_S = 0.010  # paid twice: 20 ms one way between two phones
ANSWER_CPU_S = 0.15e-3  # verify, sign
CONFIRM_CPU_S = 0.10e-3  # verify

# What one transaction takes when nothing queues; every simulator must come close to it.
UNLOADED_LATENCY_S = (
    4 * ACCESS_LATENCY_S + 2 * MESSAGE_BYTES / ACCESS_BYTES_PER_S + ANSWER_CPU_S + CONFIRM_CPU_S
)
