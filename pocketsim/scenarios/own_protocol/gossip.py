"""Push gossip: who hears a rumour for the first time tells it to some peers, chosen at random.

A rumour is a transaction of the workload; its text is a head of the rumour's number and the hops
that it has made, filled up to the payload. Each phone hashes what it hears, new or not.
"""

from struct import Struct

from pocketsim.protocol import Deliver, Observe, Outputs, Phone, Protocol, Request, Send, Work


class Gossip(Protocol):
    """A phone that passes rumours on."""

    def __init__(self, phone: Phone) -> None:
        super().__init__(phone)
        self.fanout = min(phone.options.get("fanout", 3), len(phone.peers))
        self.heard: set[int] = set()

    def command(self, request: Request, now_s: float) -> Outputs:
        """Start a rumour."""
        rumour = HEAD.pack(request.transaction, 0).ljust(request.payload_bytes, b".")
        self.heard.add(request.transaction)
        yield Work("my_hash", len(rumour))
        yield from self.tell(rumour)

    def receive(self, sender: int, message: bytes, now_s: float) -> Outputs:
        """Hear a rumour; tell it, if it is new."""
        yield Work("my_hash", len(message))
        number, hops = HEAD.unpack_from(message)
        if number in self.heard:
            yield Observe("heard_again", hops + 1)
            return
        self.heard.add(number)
        yield Deliver(message)
        yield from self.tell(HEAD.pack(number, hops + 1) + message[HEAD.size :])

    def tell(self, rumour: bytes) -> Outputs:
        """Send a rumour to as many peers as the fan-out says, drawn with replacement."""
        peers, draw = self.phone.peers, self.phone.chance.random
        for _ in range(self.fanout):
            yield Send(peers[int(draw() * len(peers))], rumour)


HEAD = Struct(">QB")
