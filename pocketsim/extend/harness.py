"""Phones with a custom protocol, driven without the engine: for tests of protocols.

Messages take as long as a test says, or are lost; work takes no time. What phones answer is checked
as the engine checks it, and kept. Users import this from `pocketsim.testing`. What deliberately
does not live here: cores, links, sockets and costs, for which there is `pocketsim run`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from pocketsim.sim.base.custom_protocol import (
    Deliver,
    Observe,
    Others,
    Output,
    Outputs,
    Phone,
    Request,
    Send,
    Work,
)
from pocketsim.sim.base.engine_facts import EVENT_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    Delay = float | Callable[[int, int, bytes], float | None]
    """Seconds of each message, or what tells them of sender, receiver and message; None: lost."""


class Said(NamedTuple):
    """An output: when, on which phone, and the transaction that it is about, None for none."""

    time_s: float
    phone: int
    output: Output
    transaction: int | None


class Harness:
    """So many phones with a protocol, at time 0.

    `make` is the protocol's class. `delay_s` is that of messages, `peers` are those of each phone,
    all others without; `operations` are names that `Work` may have, any without.

    >>> from pocketsim.protocol import Deliver, Protocol, Send
    >>> class Greeter(Protocol):
    ...     def command(self, request, now_s):
    ...         yield Send(request.peer, b"hello")
    ...     def receive(self, sender, message, now_s):
    ...         yield Deliver(message)
    >>> phones = Harness(Greeter, phones=2, delay_s=0.02)
    >>> transaction = phones.command(0, peer=1)
    >>> phones.run(until_s=1.0)
    >>> [(said.time_s, said.phone, said.output.value) for said in phones.said(Deliver)]
    [(0.02, 1, b'hello')]
    """

    def __init__(
        self,
        make: Callable[[Phone], Any],
        phones: int,
        *,
        delay_s: Delay = 0.01,
        peers: Sequence[Sequence[int]] | None = None,
        options: Mapping[str, Any] | None = None,
        operations: Container[str] | None = None,
        seed: int = 1,
    ) -> None:
        self.now_s = 0.0
        self.protocols = [
            make(
                Phone(
                    number,
                    phones,
                    peers[number] if peers else Others(number, phones),
                    options or {},
                    seed,
                    f"protocol/{number}",
                )
            )
            for number in range(phones)
        ]
        self._delay_s = delay_s
        self._operations = operations
        self._said: list[Said] = []
        self._in_air: list[tuple[float, int, Send, int, int | None]] = []
        self._sent = 0
        self._proposed = [0] * phones
        self._timeouts_s = [math.inf] * phones
        for number in range(phones):
            self._look_at_timeout(number)

    def said(self, kind: type[Output] | None = None) -> list[Said]:
        """Return the outputs so far, in order; of one class alone, if one is given."""
        return [said for said in self._said if kind is None or type(said.output) is kind]

    def command(self, phone: int, peer: int, payload_bytes: int = 100) -> int:
        """Ask a phone for a transaction, now; return its number."""
        number = phone << 32 | self._proposed[phone]
        self._proposed[phone] += 1
        request = Request(peer, payload_bytes, number)
        self._take(phone, number, self.protocols[phone].command(request, self.now_s))
        return number

    def receive(
        self, phone: int, sender: int, message: bytes, transaction: int | None = None
    ) -> None:
        """Give a phone a message, now, as if `sender` had sent it."""
        answer = self.protocols[phone].receive(sender, message, self.now_s)
        self._take(phone, transaction, answer)

    def undelivered(
        self, phone: int, to: int, message: bytes, reason: str, transaction: int | None = None
    ) -> None:
        """Tell a phone, now, that its transport has given up on a message."""
        if hasattr(self.protocols[phone], "undelivered"):
            answer = self.protocols[phone].undelivered(to, message, reason, self.now_s)
            self._take(phone, transaction, answer)

    def run(self, until_s: float) -> None:
        """Let time go on: messages arrive and timeouts come, each at its time.

        Raises TypeError or ValueError for an answer that the engine would refuse.
        """
        count, counted_s = 0, self.now_s
        while (next_s := self._next_s()) <= until_s:
            count = count + 1 if next_s == counted_s else 1
            if count > _INPUTS_AT_ONCE_MAX:
                raise ValueError(f"asked {count - 1} times and time did not go on")
            self.now_s = counted_s = next_s
            self._step()
        self.now_s = max(self.now_s, until_s)

    def _next_s(self) -> float:
        arrives_s = self._in_air[0][0] if self._in_air else math.inf
        return max(self.now_s, min(arrives_s, *self._timeouts_s))

    def _step(self) -> None:
        """Take what is next; a message before a timeout of the same time, as it came first."""
        if self._in_air and self._in_air[0][0] <= self.now_s:
            _, _, sent, sender, transaction = heapq.heappop(self._in_air)
            return self.receive(sent.to, sender, sent.message, transaction)
        phone = min(range(len(self._timeouts_s)), key=self._timeouts_s.__getitem__)
        self._timeouts_s[phone] = math.inf
        return self._take(phone, None, self.protocols[phone].handle_timeout(self.now_s))

    def _take(self, phone: int, about: int | None, answer: Outputs) -> None:
        """Check an answer, keep it, and put what it sends on its way."""
        _expect(
            answer,
            "must yield outputs, or return a list of them",
            holds=answer is None or isinstance(answer, Iterable),
        )
        for count, output in enumerate(() if answer is None else answer):
            if count == _OUTPUTS_MAX:
                raise ValueError(f"more than {_OUTPUTS_MAX} outputs of one call")
            check(output, phone, len(self.protocols), self._operations)
            named = None if isinstance(output, Work) else output.transaction
            transaction = about if named is None else named
            self._said.append(Said(self.now_s, phone, output, transaction))
            if isinstance(output, Send):
                self._send(phone, output, transaction)
        self._look_at_timeout(phone)

    def _send(self, phone: int, sent: Send, transaction: int | None) -> None:
        told = self._delay_s
        delay_s = told(phone, sent.to, sent.message) if callable(told) else told
        if delay_s is not None:
            self._sent += 1
            arrives_s = self.now_s + delay_s
            heapq.heappush(self._in_air, (arrives_s, self._sent, sent, phone, transaction))

    def _look_at_timeout(self, phone: int) -> None:
        ask = getattr(self.protocols[phone], "next_timeout", None)
        answer = ask() if ask else None
        if answer is None:
            self._timeouts_s[phone] = math.inf
            return
        time_s, _ = answer
        if not math.isfinite(time_s) or (time_s < self.now_s and time_s != self._timeouts_s[phone]):
            raise ValueError(f"{time_s} s is no time from now, {self.now_s} s, on")
        self._timeouts_s[phone] = time_s


def check(
    output: object, phone: int, phones: int, operations: Container[str] | None = None
) -> None:
    """Raise TypeError or ValueError for an output that the engine would refuse."""
    if isinstance(output, Send):
        to: Any = output.to
        is_other = isinstance(to, int) and 0 <= to < phones and to != phone
        _expect(to, f"Send.to: another phone, of 0 to {phones - 1}", holds=is_other)
        _expect(output.message, "Send.message: bytes", holds=isinstance(output.message, bytes))
    elif isinstance(output, Work):
        _expect(output.operation, "Work.operation: text", holds=isinstance(output.operation, str))
        if operations is not None and output.operation not in operations:
            raise ValueError(f"unknown operation {output.operation}")
        _expect_below(output.bytes, "Work.bytes", 32)
    elif isinstance(output, Observe):
        _expect(output.name, "Observe.name: text", holds=isinstance(output.name, str))
        if output.name in EVENT_KINDS:
            raise ValueError(f"Observe: {output.name} is a kind of event that every run has")
        _expect_below(output.value, "Observe.value", 31)
    elif isinstance(output, Deliver):
        _expect(output.value, "Deliver.value: bytes", holds=isinstance(output.value, bytes))
    else:
        _expect(output, "an output must be Work, Send, Observe or Deliver", holds=False)


def _expect_below(value: object, what: str, bits: int) -> None:
    holds = isinstance(value, int) and 0 <= value < 1 << bits
    _expect(value, f"{what}: a whole number below 2^{bits}", holds=holds)


def _expect(given: object, text: str, *, holds: bool) -> None:
    if not holds:
        raise TypeError(f"{text}, not {type(given).__name__} {given!r}")


_OUTPUTS_MAX = 100_000  # OUTPUTS_MAX of sim/engine/src/bindings/custom_outputs.rs
_INPUTS_AT_ONCE_MAX = 100_000  # as of one phone in sim/engine/src/bindings/custom_protocol.rs
