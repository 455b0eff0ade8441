"""The pairwise workload in SimPy, as its documentation teaches it: processes and resources.

One process per host and one per transaction; the uplink and the CPU are resources of capacity 1.
Usage: HOSTS SECONDS.
"""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, Any

import simpy
import workload
from report import print_result, stopwatch

if TYPE_CHECKING:
    from collections.abc import Generator

    Process = Generator[simpy.Event, Any, None]


class Pairwise:
    """Hosts with an uplink and a CPU each."""

    def __init__(self, count: int) -> None:
        self.environment = simpy.Environment()
        self.uplinks = [simpy.Resource(self.environment) for _ in range(count)]
        self.cpus = [simpy.Resource(self.environment) for _ in range(count)]
        self.access_s = workload.access_latencies_s(random.Random(1), count)
        self.latencies_s: list[float] = []
        for host in range(count):
            self.environment.process(self.propose(host))

    def propose(self, host: int) -> Process:
        """Start transactions for ever, at exponential intervals."""
        chance = random.Random(host)
        while True:
            yield self.environment.timeout(chance.expovariate(workload.RATE_PER_S))
            partner = chance.randrange(len(self.cpus) - 1)
            partner += partner >= host
            self.environment.process(self.transact(host, partner))

    def transact(self, host: int, partner: int) -> Process:
        """Carry out one transaction."""
        started_s = self.environment.now
        yield from self.send(host, partner)
        yield from self.use(self.cpus[partner], workload.ANSWER_CPU_S)
        yield from self.send(partner, host)
        yield from self.use(self.cpus[host], workload.CONFIRM_CPU_S)
        self.latencies_s.append(self.environment.now - started_s)

    def send(self, host: int, to: int) -> Process:
        """Hold the uplink for the transmission, then wait for the way."""
        yield from self.use(self.uplinks[host], workload.TRANSMISSION_S)
        yield self.environment.timeout(self.access_s[host] + self.access_s[to])

    def use(self, resource: simpy.Resource, duration_s: float) -> Process:
        """Hold a resource for a while."""
        with resource.request() as granted:
            yield granted
            yield self.environment.timeout(duration_s)


def main(count: int, end_s: float) -> None:
    """Run the workload on `count` hosts for `end_s` simulated seconds."""
    with stopwatch() as setup:
        pairwise = Pairwise(count)
    with stopwatch() as run:
        pairwise.environment.run(until=end_s)
    print_result(pairwise.latencies_s, setup, run)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
