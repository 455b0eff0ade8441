"""The timeline of a run as a trace for Perfetto (https://ui.perfetto.dev): protobuf, as it streams.

A phone is a process, and each of its lanes a track below it: a slice is an operation. Datagrams are
instants on two more tracks, out and in, and a flow joins both ends of each; what waits for its
radio, up and down, is counters, where anything waited. Only the fields that
this takes are written, by the numbers that Perfetto's trace_packet.proto and its neighbours give
them; tests read the result with Perfetto's own schema.
"""

from __future__ import annotations

import functools
import itertools
import math
import struct
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.export import radio_queues
from pocketsim.sim.run import results, rundir
from pocketsim.sim.trace import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from pocketsim.sim.scenario.resolved import Resolved


def check_kept(directory: Path, resolved: Resolved, repetition: int) -> int:
    """Return how many rows the timeline of a repetition left out for want of room.

    Raises ScenarioError for a run that keeps none.
    """
    if resolved["output"]["trace"] != "work":
        reason = "the run kept no timeline"
        raise ScenarioError(directory, "output.trace", reason, 'output.trace = "work"')
    told = results.read_manifest(directory)["repetitions"][repetition]
    return told.get("counters", {}).get("timeline_rows_left_out", 0)


def of_run(directory: Path, resolved: Resolved, repetition: int, sink: BinaryIO) -> None:
    """Write the timeline of one repetition of a run that keeps it."""
    profiles = [group["profile"] for group in resolved["devices"] for _ in range(group["count"])]
    phones = [f"phone {number} ({profile})" for number, profile in enumerate(profiles)]
    file = directory / rundir.TIMELINE
    with results.parquet(file):
        batches = tables.batches(file, repetition)
        write((row for batch in batches for row in batch), phones, sink)


def lane_name(lane: int) -> str:
    """Return what the track of a lane is called: "receive", "send", "task 16"."""
    return _NAMES.get(lane, f"task {lane}")


def write(rows: Iterable[Mapping[str, Any]], phones: Sequence[str], sink: BinaryIO) -> None:
    """Write the rows of one repetition's timeline.parquet; `phones` are their names, by number.

    Rows are taken one after the other, and only the tracks that there are stay in memory.
    """
    tracks, queues = _Tracks(phones), radio_queues.Queues()
    for number, row in enumerate(rows, start=1):
        if row["peer"] is None:
            packets = _work(row, tracks)
        else:
            queues.take(row)
            lengths = queues.lengths(row["begin_s"])
            packets = itertools.chain(_datagram(row, number, tracks), _counters(lengths, tracks))
        sink.writelines(_bytes(_TRACE_PACKET, packet) for packet in packets)
    rest = _counters(queues.lengths(math.inf), tracks)
    sink.writelines(_bytes(_TRACE_PACKET, packet) for packet in rest)


def _work(row: Mapping[str, Any], tracks: _Tracks) -> Iterator[bytes]:
    """Yield the packets of an operation: a slice, without an end if it has none."""
    node, lane = row["node"], row["lane"]
    yield from tracks.new(node, lane)
    track = tracks.uuid(node, lane)
    arguments = _number("bytes", row["size_bytes"])
    if row["reason"] is not None:
        arguments += _text("cut off", row["reason"])
    yield _event(row["begin_s"], _BEGIN, track, row["operation"], arguments)
    if row["end_s"] is not None:
        yield _event(row["end_s"], _END, track)


def _datagram(row: Mapping[str, Any], flow: int, tracks: _Tracks) -> Iterator[bytes]:
    """Yield the packets of a datagram: it leaves, and it arrives or is dropped."""
    node, peer, reason = row["node"], row["peer"], row["reason"]
    arguments = _number("bytes", row["size_bytes"])
    if row["message_id"] is not None:
        message = f"{row['message_id'] >> 32}:{row['message_id'] & 0xFFFFFFFF}"
        arguments += _text("message", message)
    yield from tracks.new(node, _OUT)
    more = arguments + _fixed64(_EVENT_FLOWS, flow)
    yield _event(row["begin_s"], _INSTANT, tracks.uuid(node, _OUT), f"to phone {peer}", more)
    if row["end_s"] is None:
        return
    yield from tracks.new(peer, _IN)
    name = f"from phone {node}" if reason is None else f"{reason}: from phone {node}"
    more = arguments + _fixed64(_EVENT_TERMINATING_FLOWS, flow)
    yield _event(row["end_s"], _INSTANT, tracks.uuid(peer, _IN), name, more)


def _counters(lengths: Iterable[radio_queues.Length], tracks: _Tracks) -> Iterator[bytes]:
    """Yield the packets of what waits for radios: two counters for each that anything waits for."""
    for length in lengths:
        for track, value in zip(
            _COUNTERS[length.link], (length.datagrams, length.bytes), strict=True
        ):
            yield from tracks.new(length.node, track)
            more = _varint(_EVENT_COUNTER_VALUE, value)
            yield _event(length.time_s, _COUNTER, tracks.uuid(length.node, track), more=more)


class _Tracks:
    """The tracks that were described: a process for each phone, and what is below it."""

    def __init__(self, phones: Sequence[str]) -> None:
        self._phones = phones
        self._known: set[tuple[int, int]] = set()

    def uuid(self, node: int, lane: int) -> int:
        """Return the number of a lane's track; no lane has that of its phone."""
        return ((node + 1) << 32) + lane + 1

    def new(self, node: int, lane: int) -> Iterator[bytes]:
        """Yield what describes a track that was not there yet, and its phone if that was not."""
        if (node, lane) in self._known:
            return
        if not self._known:
            yield _packet(_varint(_PACKET_FLAGS, _STATE_CLEARED))
        if (node, _PHONE) not in self._known:
            self._known.add((node, _PHONE))
            process = _varint(_PROCESS_PID, node + 1) + _words(_PROCESS_NAME, self._phones[node])
            track = _varint(_TRACK_UUID, self.uuid(node, _PHONE)) + _bytes(_TRACK_PROCESS, process)
            yield _packet(_bytes(_PACKET_TRACK, track + _varint(_TRACK_ORDERING, _EXPLICIT)))
        self._known.add((node, lane))
        track = (
            _varint(_TRACK_UUID, self.uuid(node, lane))
            + _varint(_TRACK_PARENT, self.uuid(node, _PHONE))
            + _words(_TRACK_NAME, lane_name(lane))
            + _varint(_TRACK_RANK, _RANKS.get(lane, lane))
        )
        if lane in _UNITS:
            track += _bytes(_TRACK_COUNTER, _varint(_COUNTER_UNIT, _UNITS[lane]))
        yield _packet(_bytes(_PACKET_TRACK, track))


def _event(time_s: float, kind: int, track: int, name: str = "", more: bytes = b"") -> bytes:
    """Return a packet with an event of a track; `more` are fields of it, encoded."""
    event = _varint(_EVENT_TYPE, kind) + _varint(_EVENT_TRACK, track) + more
    if name:
        event += _words(_EVENT_NAME, name)
    time = _varint(_PACKET_TIMESTAMP, round(time_s * _NS_PER_S))
    return _packet(time + _bytes(_PACKET_EVENT, event))


def _packet(fields: bytes) -> bytes:
    """Return a packet of the one sequence that this writes."""
    return fields + _SEQUENCE


def _number(name: str, value: int) -> bytes:
    """Return an argument of an event, as a field of it."""
    fields = _words(_ARGUMENT_NAME, name) + _varint(_ARGUMENT_UINT, value)
    return _bytes(_EVENT_ARGUMENTS, fields)


def _text(name: str, value: str) -> bytes:
    fields = _words(_ARGUMENT_NAME, name) + _words(_ARGUMENT_STRING, value)
    return _bytes(_EVENT_ARGUMENTS, fields)


# The wire format: a field is its number and its type, then a number, eight bytes, or a length and
# so many bytes (https://protobuf.dev/programming-guides/encoding).
def _varint(field: int, value: int) -> bytes:
    return _plain(field << 3) + _plain(value)


def _fixed64(field: int, value: int) -> bytes:
    return _plain(field << 3 | 1) + struct.pack("<Q", value)


def _bytes(field: int, content: bytes) -> bytes:
    return _plain(field << 3 | 2) + _plain(len(content)) + content


@functools.lru_cache(maxsize=1 << 12)
def _words(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())


def _plain(value: int) -> bytes:
    """Return a number in seven bits a byte, the lowest first; all but the last have the top bit."""
    if value < _SEVEN_BITS:
        return _SHORT[value]
    digits = bytearray()
    while value >= _SEVEN_BITS:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


_NS_PER_S = 1e9
_SEVEN_BITS = 1 << 7
_SHORT = [bytes([value]) for value in range(_SEVEN_BITS)]
# Below a phone: itself, its lanes by number, and tracks that are no lanes.
_PHONE, _OUT, _IN = -1, (1 << 32) - 3, (1 << 32) - 2
# Of each radio how many datagrams wait, and how many bytes.
_COUNTERS = {
    "uplink": ((1 << 32) - 7, (1 << 32) - 6),
    "downlink": ((1 << 32) - 5, (1 << 32) - 4),
}
_NAMES = {
    0: "receive",
    1: "send",
    _OUT: "datagrams out",
    _IN: "datagrams in",
    **{
        track: f"{link} queue ({what})"
        for link, queue in _COUNTERS.items()
        for track, what in zip(queue, ("datagrams", "bytes"), strict=True)
    },
}
# Last, and signed numbers of 32 bits.
_RANKS = {lane: lane - (1 << 31) for lane in (*itertools.chain(*_COUNTERS.values()), _OUT, _IN)}
_TRACE_PACKET = 1
_PACKET_TIMESTAMP, _PACKET_SEQUENCE, _PACKET_EVENT = 8, 10, 11
_PACKET_FLAGS, _PACKET_TRACK = 13, 60
_STATE_CLEARED = 1
_SEQUENCE = _varint(_PACKET_SEQUENCE, 1)
_TRACK_UUID, _TRACK_NAME, _TRACK_PROCESS, _TRACK_PARENT = 1, 2, 3, 5
_TRACK_ORDERING, _TRACK_RANK = 11, 12
_EXPLICIT = 3
_PROCESS_PID, _PROCESS_NAME = 1, 6
_EVENT_ARGUMENTS, _EVENT_TYPE, _EVENT_TRACK, _EVENT_NAME = 4, 9, 11, 23
_EVENT_FLOWS, _EVENT_TERMINATING_FLOWS = 47, 48
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_EVENT_COUNTER_VALUE = 30
_TRACK_COUNTER, _COUNTER_UNIT = 8, 3
_COUNT, _SIZE_BYTES = 2, 3
_UNITS = {
    track: unit
    for queue in _COUNTERS.values()
    for track, unit in zip(queue, (_COUNT, _SIZE_BYTES), strict=True)
}
_ARGUMENT_UINT, _ARGUMENT_STRING, _ARGUMENT_NAME = 3, 6, 10
