"""The pairwise workload on the code of IPv8: communities of a real network, on virtual time.

Each host is a community with a key of its own, which signs what it sends and verifies what it gets
in earnest: that the wall clock pays, and no simulated core. An event loop whose clock jumps to
what comes next stands for asyncio's, endpoints without sockets for the network: an uplink
that is free at some time, and latencies of both ends. Usage: HOSTS SECONDS.
"""

from __future__ import annotations

import asyncio
import random
import sys
from typing import TYPE_CHECKING, Any

import workload
from ipv8.community import Community, CommunitySettings
from ipv8.keyvault.crypto import default_eccrypto
from ipv8.lazy_community import lazy_wrapper
from ipv8.messaging.lazy_payload import VariablePayload, vp_compile
from ipv8.peer import Peer
from ipv8.peerdiscovery.network import Network
from ipv8.test.mocking.endpoint import AutoMockEndpoint, internet
from report import print_result, stopwatch

if TYPE_CHECKING:
    from collections.abc import Callable


class Jumping:
    """A selector that never waits: the clock jumps over what it would have waited for."""

    def __init__(self, selector: Any) -> None:
        self.selector = selector
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        """Pass the time; nothing real is listened to."""
        self.now_s += max(timeout or 0.0, 0.0)
        return []

    def __getattr__(self, name: str) -> Any:
        """Return whatever else is asked of the selector."""
        return getattr(self.selector, name)


class VirtualTime(asyncio.SelectorEventLoop):
    """asyncio's loop on a clock that jumps."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self.clock = Jumping(self._selector)
        self._clock_resolution = 1e-9

    def time(self) -> float:
        """Return virtual seconds."""
        return self.clock.now_s


class Server:
    """A FIFO server of capacity 1 needs no queue, only the time at which it is free."""

    def __init__(self) -> None:
        self.free_s = 0.0

    def serve(self, now_s: float, length_s: float) -> float:
        """Book it; return when it is done."""
        self.free_s = max(now_s, self.free_s) + length_s
        return self.free_s


class Uplink(AutoMockEndpoint):  # type: ignore[misc, unused-ignore]
    """A host's end of the network."""

    def __init__(self, access_s: float) -> None:
        super().__init__()
        self.access_s, self.server = access_s, Server()
        self.open()

    def send(self, socket_address: Any, packet: bytes) -> None:
        """Let a packet arrive when it has left the uplink and crossed both accesses."""
        loop, peer = asyncio.get_running_loop(), internet[socket_address]
        left_s = self.server.serve(loop.time(), workload.TRANSMISSION_S)
        arrival_s = left_s + self.access_s + peer.access_s
        loop.call_at(arrival_s, peer.notify_listeners, (self.wan_address, packet))


@vp_compile
class Proposal(VariablePayload):  # type: ignore[misc, unused-ignore]
    """A block to be countersigned, and when it was sent."""

    msg_id = 1
    format_list = ("d", "varlenH")
    names = ("since_s", "block")


@vp_compile
class Reply(VariablePayload):  # type: ignore[misc, unused-ignore]
    """The block that answers."""

    msg_id = 2
    format_list = ("d", "varlenH")
    names = ("since_s", "block")


class Trader(Community):  # type: ignore[misc, unused-ignore]
    """A host that answers proposals and confirms replies."""

    community_id = b"pairwise-trade-bench"  # 20 B

    def __init__(self, settings: CommunitySettings) -> None:
        super().__init__(settings)
        self.core, self.latencies_s = Server(), settings.latencies_s
        self.add_message_handler(Proposal, self.on_proposal)
        self.add_message_handler(Reply, self.on_reply)

    def work(self, length_s: float, then: Callable[..., None], *arguments: Any) -> None:
        """Do something when the core has worked so long."""
        loop = asyncio.get_running_loop()
        loop.call_at(self.core.serve(loop.time(), length_s), then, *arguments)

    @lazy_wrapper(Proposal)  # type: ignore[untyped-decorator, unused-ignore]
    def on_proposal(self, peer: Peer, proposal: Proposal) -> None:
        """Answer."""
        reply = Reply(proposal.since_s, BLOCK)
        self.work(workload.ANSWER_CPU_S, self.ez_send, peer, reply)

    @lazy_wrapper(Reply)  # type: ignore[untyped-decorator, unused-ignore]
    def on_reply(self, _peer: Peer, reply: Reply) -> None:
        """Confirm."""
        self.work(workload.CONFIRM_CPU_S, self.confirmed, reply.since_s)

    def confirmed(self, since_s: float) -> None:
        """Note how long a transaction took."""
        self.latencies_s.append(asyncio.get_running_loop().time() - since_s)


class Pairwise:
    """Hosts, and what their transactions took."""

    def __init__(self, count: int) -> None:
        self.chance = random.Random(1)
        self.latencies_s: list[float] = []
        accesses_s = workload.access_latencies_s(self.chance, count)
        self.traders = [self.trader(Uplink(access_s)) for access_s in accesses_s]
        self.peers = [
            Peer(trader.my_peer.public_key, trader.endpoint.wan_address) for trader in self.traders
        ]

    def trader(self, uplink: Uplink) -> Trader:
        """Return a community with a key of its own."""
        peer = Peer(default_eccrypto.generate_key("curve25519"), uplink.wan_address)
        settings = CommunitySettings(my_peer=peer, endpoint=uplink, network=Network())
        settings.latencies_s = self.latencies_s
        return Trader(settings)

    def issue(self, host: int) -> None:
        """Propose now, and again after an exponential interval."""
        partner = int(self.chance.random() * (len(self.traders) - 1))
        partner += partner >= host
        loop = asyncio.get_running_loop()
        self.traders[host].ez_send(self.peers[partner], Proposal(loop.time(), BLOCK))
        self.later(host)

    def later(self, host: int) -> None:
        """Propose after an exponential interval."""
        gap_s = self.chance.expovariate(workload.RATE_PER_S)
        asyncio.get_running_loop().call_later(gap_s, self.issue, host)


async def simulate(count: int, end_s: float) -> None:
    """Run the workload on `count` hosts for `end_s` simulated seconds."""
    with stopwatch() as setup:
        pairwise = Pairwise(count)
        for host in range(count):
            pairwise.later(host)
    with stopwatch() as run:
        await asyncio.sleep(end_s)
    print_result(pairwise.latencies_s, setup, run)


def main(count: int, end_s: float) -> None:
    """Run on virtual time."""
    loop = VirtualTime()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(simulate(count, end_s))


BLOCK = b"x" * 495
"""With IPv8's prefix, key and signature, a packet is as long as the workload's messages."""

if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
