"""What a custom protocol is written with: outputs, a phone's view of itself, a base class.

Users import these as `pocketsim.protocol`. A protocol owns no socket and no clock: it receives
inputs and answers with outputs, in order, as a list or by `yield`. It cannot tell whether the
engine or a test (`pocketsim.testing`) drives it. What deliberately does not live here: how a file
becomes objects, which is in `sim.run.custom_objects`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from pocketsim.sim.base.streams import scalar

if TYPE_CHECKING:
    from random import Random


# A class with slots takes half the time that a tuple with names takes to be made.
@dataclass(slots=True)
class Work:
    """Spend one operation on `bytes` bytes: one of a device's, or of the scenario's `[operations]`.

    What follows in the same answer waits until it is done.
    """

    operation: str
    bytes: int = 0


@dataclass(slots=True)
class Send:
    """Give `message` to the transport, which carries it to phone `to`, another one.

    `transaction` is what it belongs to; None: what the phone is being asked about.
    """

    to: int
    message: bytes
    transaction: int | None = None


@dataclass(slots=True)
class Observe:
    """Write a row of the trace, of a kind of your own; its size is a whole number below 2^31."""

    name: str
    value: int = 0
    transaction: int | None = None


@dataclass(slots=True)
class Deliver:
    """Hand a value to the layer above: a transaction has come to its end, on this phone."""

    value: bytes = b""
    transaction: int | None = None


Output = Work | Send | Observe | Deliver
Outputs = Iterable[Output] | None
"""What a method answers: a generator, a list, or None for nothing."""


class Request(NamedTuple):
    """What the workload asks a phone for: something with phone `peer`, of `payload_bytes` bytes.

    `transaction` is its number in the trace: the phone's own, times 2^32, plus how many it was
    asked for before.
    """

    peer: int
    payload_bytes: int
    transaction: int


@dataclass
class Phone:
    """The phone that a protocol runs on, as the protocol sees it.

    `number` is its place among `phones`, from 0; `peers` are its neighbours in the workload's
    graph, or all others without one; `options` is `[protocol.options]` of the scenario.
    """

    number: int
    phones: int
    peers: Sequence[int]
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    stream: str = "protocol"

    @cached_property
    def chance(self) -> Random:
        """This phone's own random numbers, from a named stream of the run's seed."""
        return scalar(self.seed, self.stream)


class Protocol:
    """A protocol that does nothing; a class of your own may derive from it, and need not.

    Times are seconds since the run began. Every method but `next_timeout` answers with outputs.
    """

    def __init__(self, phone: Phone) -> None:
        self.phone = phone

    def receive(self, sender: int, message: bytes, now_s: float) -> Outputs:
        """Take a message that phone `sender` sent."""

    def command(self, request: Request, now_s: float) -> Outputs:
        """Begin what the workload asks for."""

    def undelivered(self, to: int, message: bytes, reason: str, now_s: float) -> Outputs:
        """Hear that the transport has given up on a message to phone `to`; datagrams never do."""

    def handle_timeout(self, now_s: float) -> Outputs:
        """Do what was to be done at the time that `next_timeout` gave, which has come."""

    def next_timeout(self) -> tuple[float, str] | None:
        """Return when to be woken, and what for; asked after every other call, and at the start."""
        return None


class Others(Sequence[int]):
    """All phones but one, without a list of them for each phone."""

    def __init__(self, number: int, phones: int) -> None:
        self._number = number
        self._count = phones - 1

    def __len__(self) -> int:
        """Return how many others there are."""
        return self._count

    @overload
    def __getitem__(self, place: int) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> list[int]: ...

    def __getitem__(self, place: int | slice) -> int | list[int]:
        """Return the phone at a place among the others, or those of a slice."""
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(self._count))]
        if not -self._count <= place < self._count:
            raise IndexError(place)
        place %= self._count
        return place + (place >= self._number)


class Failure(Exception):  # noqa: N818 - what failed is a protocol, and this tells where
    """A protocol failed, by its `__cause__`, when `call` was called on `phone` at `time_s`.

    `answer` is what the call returned, where that was wrong and not the call itself.
    """

    def __init__(self, call: str, phone: int, time_s: float, answer: object) -> None:
        self.call = call
        self.phone = phone
        self.time_s = time_s
        self.answer = answer
        super().__init__(call, phone, time_s)


OPTIONAL = ("undelivered", "handle_timeout", "next_timeout")
"""Methods that a class may leave out, and that are not called where `Protocol`'s would be."""
