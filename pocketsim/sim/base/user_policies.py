"""Base classes of custom workloads, partners, adversaries and transport policies.

Users import these as `pocketsim.protocol`. `sim.plan` calls workloads and partners before a
repetition. The engine calls adversaries and transport policies during it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from pocketsim.sim.base.streams import scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from random import Random

    from pocketsim.sim.base.custom_protocol import Outputs, Phone, Protocol, Request


class Proposal(NamedTuple):
    """Phone `phone` is asked at `time_s` for a transaction with `peer`, of `payload_bytes`."""

    time_s: float
    phone: int
    peer: int
    payload_bytes: int


@dataclass
class Setting:
    """What a workload knows: how many `phones` there are, and for how long, in seconds.

    `options` is `[workload.options]` of the scenario.
    """

    phones: int
    duration_s: float
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    stream: str = "workload"

    @cached_property
    def chance(self) -> Random:
        """The workload's own random numbers, from a named stream of the run's seed."""
        return scalar(self.seed, self.stream)


class Workload:
    """A workload that asks for nothing; a class of your own may derive from it, and need not."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def proposals(self) -> Iterable[Proposal | tuple[float, int, int, int]]:
        """Return who is asked when for what, in any order; what is at one time stays in order."""
        return ()


class Partners:
    """Whom a phone proposes to: this one chooses among its peers, each equally likely.

    Made once for each phone and repetition, and asked for each of its proposals in order of time.
    """

    def __init__(self, phone: Phone) -> None:
        self.phone = phone

    def choose(self, now_s: float) -> int:  # noqa: ARG002 - one's own may ask
        """Return the number of another phone."""
        peers = self.phone.peers
        return peers[int(self.phone.chance.random() * len(peers))]


class Adversary:
    """A phone that does as its `honest` protocol would; one of your own does some of it otherwise.

    `phone.options` are `[protocol.adversary.options]`; `honest` is an object of `protocol.class`.
    """

    def __init__(self, phone: Phone, honest: Protocol) -> None:
        self.phone = phone
        self.honest = honest

    def receive(self, sender: int, message: bytes, now_s: float) -> Outputs:
        """Take a message that phone `sender` sent."""
        return self.honest.receive(sender, message, now_s)

    def command(self, request: Request, now_s: float) -> Outputs:
        """Begin what the workload asks for."""
        return self.honest.command(request, now_s)

    def undelivered(self, to: int, message: bytes, reason: str, now_s: float) -> Outputs:
        """Hear that the transport has given up on a message to phone `to`."""
        told = getattr(self.honest, "undelivered", None)
        return told(to, message, reason, now_s) if told else None

    def handle_timeout(self, now_s: float) -> Outputs:
        """Do what was to be done at the time that `next_timeout` gave."""
        return self.honest.handle_timeout(now_s)

    def next_timeout(self) -> tuple[float, str] | None:
        """Return when to be woken, and what for."""
        asked = getattr(self.honest, "next_timeout", None)
        return asked() if asked else None


class TransportPolicy:
    """When messages are handed to the transport: at once, and never again.

    Made once for each phone and repetition; a class of your own may derive from it, and need not.
    Both methods answer with a time in seconds, not before `now_s`, or None to give the message up.
    """

    def __init__(self, phone: Phone) -> None:
        self.phone = phone

    def hand_over(self, to: int, size_bytes: int, now_s: float) -> float | None:  # noqa: ARG002
        """Say when a message to phone `to`, which the protocol has just sent, is handed over."""
        return now_s

    def failed(
        self, to: int, size_bytes: int, reason: str, attempts: int, now_s: float
    ) -> float | None:
        """Say when a message that the transport gave up is handed over again.

        `attempts` is how often it has been already, `reason` one of the fates in docs/metrics.md.
        None tells the protocol that it is lost.
        """
