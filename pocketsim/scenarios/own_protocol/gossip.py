"""Push gossip: who hears a rumour for the first time tells it to some peers, chosen at random.

A rumour is a transaction of the workload: its number, the hops that it has made, and dots up to the
payload. Each phone hashes what it hears, new or not.
"""

from struct import Struct

from pocketsim.protocol import Deliver, Observe, Outputs, Phone, Protocol, Request, Send, Work


class Gossip(Protocol):
    """A phone that passes rumours on."""

    def __init__(self, phone: Phone) -> None:
        super().__init__(phone)
        self.fanout = phone.options.get("fanout", 3)
        self.heard: set[int] = set()

    def command(self, request: Request, now_s: float) -> Outputs:
        """Start a rumour."""
        self.heard.add(request.transaction)
        rumour = HEAD.pack(request.transaction, 0).ljust(request.payload_bytes, b".")
        return [Work("my_hash", len(rumour)), *self.tell(rumour)]

    def receive(self, sender: int, message: bytes, now_s: float) -> Outputs:
        """Hear a rumour; tell it, if it is new."""
        work = Work("my_hash", len(message))
        number, hops = HEAD.unpack_from(message)
        if number in self.heard:
            return [work]
        self.heard.add(number)
        rumour = HEAD.pack(number, hops + 1) + message[HEAD.size :]
        return [work, Observe("hops", hops + 1), Deliver(message), *self.tell(rumour)]

    def tell(self, rumour: bytes) -> list[Send]:
        """Send a rumour to as many peers as the fan-out says, some perhaps twice."""
        peers, draw = self.phone.peers, self.phone.chance.random
        count = len(peers)
        return [Send(peers[int(draw() * count)], rumour) for _ in range(self.fanout)]


HEAD = Struct(">QB")
