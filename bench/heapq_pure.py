"""The pairwise workload on Python's heapq: what one writes instead of using a simulator.

One heap of events; a FIFO server of capacity 1 is the time at which it is free. Nothing is called
in the loop but the heap and chance. Usage: HOSTS SECONDS.
"""

# ruff: noqa: FURB136 - max() is a call, and slower

from __future__ import annotations

import heapq
import random
import sys

import workload
from report import print_result, stopwatch

ISSUE, PROPOSAL, ANSWERED, REPLY, CONFIRMED = range(5)
# When, a serial number that orders simultaneous events, what, proposer, partner, since when.
Event = tuple[float, int, int, int, int, float]


class Pairwise:
    """Hosts as columns of times, and the heap."""

    def __init__(self, count: int) -> None:
        self.chance = random.Random(1)
        self.access_s = workload.access_latencies_s(self.chance, count)
        self.uplink_free_s = [0.0] * count
        self.core_free_s = [0.0] * count
        self.latencies_s: list[float] = []
        self.events: list[Event] = [
            (self.chance.expovariate(workload.RATE_PER_S), host, ISSUE, host, host, 0.0)
            for host in range(count)
        ]
        heapq.heapify(self.events)

    def run(self, end_s: float) -> None:
        """Work off the events before `end_s` and what follows from them."""
        events, push, pop = self.events, heapq.heappush, heapq.heappop
        access_s, uplink_s, core_s = self.access_s, self.uplink_free_s, self.core_free_s
        uniform, gap_s = self.chance.random, self.chance.expovariate
        transmission_s, serial = workload.TRANSMISSION_S, len(events)
        others = serial - 1
        while events[0][0] <= end_s:
            now_s, _, kind, host, partner, since_s = pop(events)
            serial += 2
            if kind == ISSUE:
                push(events, (now_s + gap_s(workload.RATE_PER_S), serial, ISSUE, host, host, 0.0))
                partner = int(uniform() * others)
                partner += partner >= host
                done_s = (now_s if now_s > uplink_s[host] else uplink_s[host]) + transmission_s
                uplink_s[host] = done_s
                done_s += access_s[host] + access_s[partner]
                push(events, (done_s, serial + 1, PROPOSAL, host, partner, now_s))
                continue
            if kind == PROPOSAL:
                done_s = now_s if now_s > core_s[partner] else core_s[partner]
                done_s += workload.ANSWER_CPU_S
                core_s[partner] = done_s
            elif kind == ANSWERED:
                done_s = now_s if now_s > uplink_s[partner] else uplink_s[partner]
                done_s += transmission_s
                uplink_s[partner] = done_s
                done_s += access_s[host] + access_s[partner]
            elif kind == REPLY:
                done_s = now_s if now_s > core_s[host] else core_s[host]
                done_s += workload.CONFIRM_CPU_S
                core_s[host] = done_s
            else:
                self.latencies_s.append(now_s - since_s)
                continue
            push(events, (done_s, serial, kind + 1, host, partner, since_s))


def main(count: int, end_s: float) -> None:
    """Run the workload on `count` hosts for `end_s` simulated seconds."""
    with stopwatch() as setup:
        pairwise = Pairwise(count)
    with stopwatch() as run:
        pairwise.run(end_s)
    print_result(pairwise.latencies_s, setup, run)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
