"""Whether a result is of the workload: mean latency, its spread, and the number of transactions.

Simulators draw hosts and transactions for themselves, so their results differ by chance. How far
chance takes them follows from the workload, the number of hosts and the simulated time; the same
bars hold for all. Times of the machine are not looked at.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import workload

if TYPE_CHECKING:
    from collections.abc import Mapping

FEWEST_HOSTS = 20
"""With fewer the spread of latencies says little: two hosts have one latency between them."""


def mistakes(
    result: Mapping[str, Any], hosts: int, seconds: float, further_s: float = 0.0
) -> list[str]:
    """Return what in `result` another workload would explain better than chance.

    `further_s` is what the simulator adds to each transaction because its model is another.
    """
    mean_s = mean_latency_s(further_s)
    tolerance_s = latency_tolerance_s(hosts, seconds)
    found = []
    if abs(result["mean_latency_s"] - mean_s) > tolerance_s:
        found.append(
            f"mean latency of {result['mean_latency_s'] * 1e3:.2f} ms, "
            f"not {mean_s * 1e3:.2f} +- {tolerance_s * 1e3:.2f} ms"
        )
    sd_s = math.sqrt(8) * _host_sd_s()
    if not 1 / _SPREAD_FACTOR < result["latency_sd_s"] / sd_s < _SPREAD_FACTOR:
        found.append(
            f"latencies with a standard deviation of {result['latency_sd_s'] * 1e3:.2f} ms, "
            f"not about {sd_s * 1e3:.2f} ms"
        )
    expected = hosts * workload.RATE_PER_S * (seconds - mean_s)
    by_chance = STANDARD_ERRORS * math.sqrt(hosts * workload.RATE_PER_S * seconds)
    if abs(result["transactions"] - expected) > by_chance:
        found.append(
            f"{result['transactions']} transactions, not {expected:.0f} +- {by_chance:.0f}"
        )
    return found


def mean_latency_s(further_s: float = 0.0) -> float:
    """Return what a transaction takes in the mean when nothing queues.

    Four access latencies, two transmissions, two pieces of work: 42.59 ms. At 1/s a message finds
    its link busy with a probability of 0.1 %, so that queueing adds less than a microsecond.
    """
    access_s = workload.ACCESS_LATENCY_MEDIAN_S * math.exp(workload.ACCESS_LATENCY_SIGMA**2 / 2)
    cpu_s = workload.ANSWER_CPU_S + workload.CONFIRM_CPU_S
    return 4 * access_s + 2 * workload.TRANSMISSION_S + cpu_s + further_s


def latency_tolerance_s(hosts: int, seconds: float) -> float:
    """Return how far from its expectation chance may take the mean latency of a run.

    A transaction of hosts i and j takes 2 (a_i + a_j) and a constant. Over n transactions both
    sums are means over hosts, weighted by how often each was drawn: with s the standard deviation
    of a_i, the variance is 16 s^2 / hosts + 8 s^2 / n.
    """
    transactions = hosts * workload.RATE_PER_S * seconds
    standard_error_s = _host_sd_s() * math.sqrt(16 / hosts + 8 / transactions)
    return STANDARD_ERRORS * standard_error_s + _MODEL_S


def _host_sd_s() -> float:
    """Return the standard deviation of a host's access latency."""
    variance = workload.ACCESS_LATENCY_SIGMA**2
    mean_s = workload.ACCESS_LATENCY_MEDIAN_S * math.exp(variance / 2)
    return mean_s * math.sqrt(math.expm1(variance))


STANDARD_ERRORS = 4.0
"""What is further off is not chance: one run in sixteen thousand."""

# Where models differ beyond what a rival says of itself. pocketsim's messages have 28 B of UDP and
# IPv4 headers, 0.045 ms for two; a run that ends leaves out slow transactions, 0.03 ms in 2 s.
_MODEL_S = 0.1e-3

# Wide, because twenty hosts tell a standard deviation to a fifth; what has no spread at all is
# found, and so is what has it twice.
_SPREAD_FACTOR = 2.0
