"""How many datagrams wait for each radio, and their bytes, from the rows of a timeline.

A datagram on the air waits no longer. Rows are taken in the order of the timeline, and only
datagrams under way are in memory. What deliberately does not live here: how the queues are drawn.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LINKS = ("uplink", "downlink")


class Length(NamedTuple):
    """What waits for a phone's radio, one of `LINKS`, from a time on; `bytes` of UDP payloads."""

    time_s: float
    node: int
    link: str
    datagrams: int
    bytes: int


class Queues:
    """The queues of all radios, while rows of datagrams come in the order in which they began."""

    def __init__(self) -> None:
        # Time, +1 or -1 (what leaves goes first), order, phone and link, signed bytes.
        self._changes: list[tuple[float, int, int, tuple[int, str], int]] = []
        self._order = 0
        self._lengths: dict[tuple[int, str], tuple[int, int]] = {}

    def take(self, row: Mapping[str, Any]) -> None:
        """Take a row of a datagram: where it waits, and from when to when."""
        for link, node in zip(LINKS, (row["node"], row["peer"]), strict=True):
            from_s, until_s = row[f"{link}_from_s"], row[f"{link}_until_s"]
            if from_s is None or from_s == until_s:
                continue
            self._change(from_s, 1, (node, link), row["size_bytes"])
            if until_s is not None:
                self._change(until_s, -1, (node, link), row["size_bytes"])

    def lengths(self, until_s: float) -> Iterator[Length]:
        """Yield what changes until a time, which no row that is to come began before."""
        while self._changes and self._changes[0][0] <= until_s:
            time_s, sign, _, queue, size = heapq.heappop(self._changes)
            datagrams, held = self._lengths.get(queue, (0, 0))
            self._lengths[queue] = datagrams + sign, held + sign * size
            yield Length(time_s, *queue, *self._lengths[queue])

    def _change(self, time_s: float, sign: int, queue: tuple[int, str], size: int) -> None:
        self._order += 1
        heapq.heappush(self._changes, (time_s, sign, self._order, queue, size))
