"""The pairwise workload on SimGrid's Python actors: what its Python binding offers.

Two actors a host: one proposes, one serves the host's mailbox. Usage: HOSTS SECONDS.
"""

from __future__ import annotations

import random
import sys

import workload
from report import print_result, stopwatch
from simgrid import Actor, Engine, Host, LinkInRoute, Mailbox, this_actor

FLOPS_PER_CPU_S = 1e9


def build_star(engine: Engine, count: int) -> list[Host]:
    """Return `count` hosts around one centre."""
    zone = engine.netzone_root.add_netzone_star("star")
    hosts = []
    for number, access_s in enumerate(workload.access_latencies_s(random.Random(1), count)):
        host = zone.add_host(f"phone-{number}", FLOPS_PER_CPU_S)
        link = zone.add_split_duplex_link(f"radio-{number}", workload.ACCESS_BYTES_PER_S)
        link.set_latency(access_s).seal()
        route = [LinkInRoute(link, LinkInRoute.Direction.UP)]
        zone.add_route(host, None, route, True)  # noqa: FBT003 - takes no keyword
        hosts.append(host)
    zone.seal()
    return hosts


class Pairwise:
    """The two actors of each host and what they count."""

    def __init__(self, count: int) -> None:
        self.mailboxes = [Mailbox.by_name(str(number)) for number in range(count)]
        self.latencies_s: list[float] = []

    def propose(self, me: int) -> None:
        """Send proposals for ever, at exponential intervals."""
        chance = random.Random(me)
        while True:
            this_actor.sleep_for(chance.expovariate(workload.RATE_PER_S))
            partner = chance.randrange(len(self.mailboxes) - 1)
            partner += partner >= me
            self.send(partner, ("proposal", me, Engine.clock))

    def serve(self, me: int) -> None:
        """Answer proposals and confirm replies, one at a time."""
        while True:
            kind, peer, started_s = self.mailboxes[me].get()
            if kind == "proposal":
                this_actor.execute(workload.ANSWER_CPU_S * FLOPS_PER_CPU_S)
                self.send(peer, ("reply", me, started_s))
            else:
                this_actor.execute(workload.CONFIRM_CPU_S * FLOPS_PER_CPU_S)
                self.latencies_s.append(Engine.clock - started_s)

    def send(self, to: int, message: tuple[str, int, float]) -> None:
        """Send without waiting."""
        self.mailboxes[to].put_init(message, workload.MESSAGE_BYTES).detach()


def main(count: int, end_s: float) -> None:
    """Run the workload on `count` hosts for `end_s` simulated seconds."""
    with stopwatch() as setup:
        options = ["--cfg=network/model:CM02", "--cfg=network/crosstraffic:0"]
        engine = Engine(["bench", *options, "--log=root.thres:critical"])
        hosts = build_star(engine, count)
        pairwise = Pairwise(count)
        for number, host in enumerate(hosts):
            server: Actor = host.add_actor("serve", pairwise.serve, number)
            # Else a message would not travel before its receiver waits for it.
            pairwise.mailboxes[number].set_receiver(server)
            server.daemonize()
            host.add_actor("propose", pairwise.propose, number).daemonize()
        hosts[0].add_actor("clock", this_actor.sleep_for, end_s)  # daemons end with it
    with stopwatch() as run:
        engine.run()
    print_result(pairwise.latencies_s, setup, run)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
