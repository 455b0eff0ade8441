"""Phones that hear rumours and pass none on, and a metric of how far rumours come all the same."""

from collections.abc import Iterator
from typing import Any

from pocketsim.protocol import Adversary, Events, Observe, Output, Send


class FreeRider(Adversary):
    """Does what the protocol says, but sends nothing that it has heard."""

    def receive(self, sender: int, message: bytes, now_s: float) -> Iterator[Output]:
        """Hear a rumour and keep it."""
        for output in self.honest.receive(sender, message, now_s) or ():
            if isinstance(output, Send):
                yield Observe("kept_back")
            else:
                yield output


def heard_ratio(events: Events, resolved: dict[str, Any]) -> float:
    """Return which share of all others hears a rumour, mean over rumours."""
    phones = sum(group["count"] for group in resolved["devices"])
    rumours = events.of_kind("send").message.size
    heard = events.of_kind("deliver").message.size
    return heard / (rumours * (phones - 1)) if rumours else float("nan")
