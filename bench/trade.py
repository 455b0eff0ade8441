"""The benchmark's trade as a protocol in Python: what `Pairwise` of sim/protocols is in Rust."""

from __future__ import annotations

from pocketsim.protocol import Deliver, Outputs, Protocol, Request, Send, Work


class Trade(Protocol):
    """A message there and one back, with work for each."""

    def command(self, request: Request, now_s: float) -> Outputs:  # noqa: ARG002
        """Propose."""
        return [Send(request.peer, PROPOSAL)]

    def receive(self, sender: int, message: bytes, now_s: float) -> Outputs:  # noqa: ARG002
        """Answer a proposal, or take the answer to one."""
        if message == PROPOSAL:
            return [Work("verify", len(message)), Send(sender, REPLY)]
        return [Work("store", len(message)), Deliver(message)]


MESSAGE_BYTES = 668  # of workload.py, which no folder leads to where this runs
PROPOSAL, REPLY = b"?" * MESSAGE_BYTES, b"!" * MESSAGE_BYTES
