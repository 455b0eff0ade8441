"""The pairwise workload in SimPy, tuned: four timeouts a transaction and no resources.

A FIFO server of capacity 1 needs no queue in a simulation, only the time at which it is free; each
transaction sleeps until its own turn ends. Usage: HOSTS SECONDS.
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
    """Hosts as two columns of times."""

    def __init__(self, count: int) -> None:
        self.environment = simpy.Environment()
        self.uplink_free_s = [0.0] * count
        self.cpu_free_s = [0.0] * count
        self.latencies_s: list[float] = []
        chance = random.Random(1)
        self.access_s = workload.access_latencies_s(chance, count)
        for host in range(count):
            self.environment.process(self.propose(host, chance))

    def propose(self, host: int, chance: random.Random) -> Process:
        """Start transactions for ever, at exponential intervals."""
        timeout, process = self.environment.timeout, self.environment.process
        others = len(self.cpu_free_s) - 1
        while True:
            yield timeout(chance.expovariate(workload.RATE_PER_S))
            partner = int(chance.random() * others)
            partner += partner >= host
            process(self.transact(host, partner))

    def transact(self, host: int, partner: int) -> Process:
        """Carry out one transaction."""
        environment, timeout = self.environment, self.environment.timeout
        started_s = environment.now
        way_s = self.access_s[host] + self.access_s[partner]
        yield timeout(self.turn(self.uplink_free_s, host, workload.TRANSMISSION_S) + way_s)
        yield timeout(self.turn(self.cpu_free_s, partner, workload.ANSWER_CPU_S))
        yield timeout(self.turn(self.uplink_free_s, partner, workload.TRANSMISSION_S) + way_s)
        yield timeout(self.turn(self.cpu_free_s, host, workload.CONFIRM_CPU_S))
        self.latencies_s.append(environment.now - started_s)

    def turn(self, free_s: list[float], host: int, duration_s: float) -> float:
        """Book `duration_s` of a server; return the seconds from now until it is done."""
        now_s = self.environment.now
        later_s = now_s if now_s > free_s[host] else free_s[host]  # noqa: FURB136 - max() is slower
        done_s = later_s + duration_s
        free_s[host] = done_s
        return done_s - now_s


def main(count: int, end_s: float) -> None:
    """Run the workload on `count` hosts for `end_s` simulated seconds."""
    with stopwatch() as setup:
        pairwise = Pairwise(count)
    with stopwatch() as run:
        pairwise.environment.run(until=end_s)
    print_result(pairwise.latencies_s, setup, run)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
