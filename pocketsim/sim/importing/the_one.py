"""External events of The ONE simulator, as its StandardEventsReader takes them.

`time CONN host1 host2 up|down [interface]` is a contact that begins or ends, `time C message from
to size [response]` a message that is created. A host is known by its number, whatever letters stand
before it. Events of messages on their way are dropped: a protocol simulates those.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.arrow import numbers
from pocketsim.sim.base.errors import ScenarioError, nearest, shown
from pocketsim.sim.importing.lines import Block, Form, Head, blocks
from pocketsim.sim.importing.numbering import Names
from pocketsim.sim.importing.source_data import ColumnBlocks, Options, Rows, SourceData, units_per_s

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    Mask = npt.NDArray[np.bool_]


@dataclass
class _Trace:
    """What was read of a trace: changes of connections, messages, and the time of its last line."""

    found: SourceData
    changes: ColumnBlocks = field(default_factory=ColumnBlocks)
    messages: ColumnBlocks = field(default_factory=ColumnBlocks)
    last: float = -np.inf


def read(path: Path, options: Options) -> SourceData:
    """Return contacts and messages; raises ScenarioError with the first row that is no event."""
    trace = _Trace(SourceData("StandardEventsReader", per_s=units_per_s(options.time_unit or "s")))
    for block in blocks(path, _FORM, Head([], [])):
        _add(trace, block)
    found, changes = trace.found, trace.changes.rows()
    found.trades = trace.messages.rows()
    if changes is not None:
        found.contacts = _contacts(changes, trace)
    if found.contacts is None and found.trades is None:
        raise ScenarioError(path, "", "has no connection that comes up and no message")
    return found


def _add(trace: _Trace, block: Block) -> None:
    time = block.numbers(0, "time")
    trace.found.rows += time.size
    trace.last = max(trace.last, float(time.max()))
    action = block.values[1]
    is_change, is_message = _is(action, "CONN"), _is(action, "C")
    known = is_change | is_message
    for name in _ON_THE_WAY:
        is_it = _is(action, name)
        trace.found.drop(is_it, f"{name}: a message on its way, which a protocol simulates")
        known |= is_it
    if not known.all():
        place = int((~known).argmax())
        word = action[place].as_py()
        hint = nearest(word, ("CONN", "C", *_ON_THE_WAY))
        reason = f"{shown(repr(word))} is no event of The ONE"
        raise ScenarioError(block.path, f"row {block.row[place]}", reason, hint)
    if is_change.any():
        _add_changes(trace, block.select(is_change), time[is_change])
    if is_message.any():
        _add_messages(trace, block.select(is_message), time[is_message])


def _add_changes(trace: _Trace, block: Block, time: npt.NDArray[np.float64]) -> None:
    import pyarrow.compute as pc

    says = "a change of a connection is time CONN host1 host2 up|down, and perhaps an interface"
    block.refuse((block.width < _CHANGE) | (block.width > _CHANGE + 1), says)
    state = pc.utf8_lower(block.values[4])
    is_up = _is(state, "up")
    block.refuse(~is_up & ~_is(state, "down"), "is neither up nor down")
    ids = {"phone_a": _host(block, 2), "phone_b": _host(block, 3)}
    is_named = len(block.values) > _CHANGE
    interface = block.values[5] if is_named else pc.utf8_slice_codeunits(state, 0, 0)
    trace.changes.add({**ids, "interface": interface}, {"time": time, "is_up": is_up})


def _add_messages(trace: _Trace, block: Block, time: npt.NDArray[np.float64]) -> None:
    says = "a message is time C message from to size, and perhaps the size of the response"
    block.refuse((block.width < _MESSAGE) | (block.width > _MESSAGE + 1), says)
    ids = {"from": _host(block, 3), "to": _host(block, 4)}
    trace.messages.add(ids, {"time": time, "payload_bytes": _bytes(block, 5)})


def _host(block: Block, column: int) -> pa.Array:
    """Return hosts by their numbers, which The ONE knows them by."""
    import pyarrow.compute as pc

    texts = block.values[column]
    wrong = ~numbers(pc.match_substring_regex(texts, r"^[^0-9]*[0-9]{1,9}$"))
    if wrong.any():
        place = int(wrong.argmax())
        word = shown(repr(texts[place].as_py()))
        raise block.error(place, f"{word} is no host, such as 12 or n12")
    return pc.replace_substring_regex(texts, r"^[^0-9]*0*([0-9]+)$", r"\1")


def _bytes(block: Block, column: int) -> npt.NDArray[np.float64]:
    """Return sizes, which may have a unit of The ONE's."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = block.values[column]
    plain = numbers(pc.match_substring_regex(texts, r"^[0-9]+$"))
    if plain.all():
        return block.numbers(column, "size")
    wrong = ~numbers(pc.match_substring_regex(texts, r"^[0-9]+(k|M|G|kiB|MiB|GiB)?$"))
    if wrong.any():
        place = int(wrong.argmax())
        word = shown(repr(texts[place].as_py()))
        raise block.error(place, f"{word} is no size, such as 500 or 10k")
    size = numbers(pc.cast(pc.replace_substring_regex(texts, r"[a-zA-Z]+$", ""), pa.float64()))
    found = size.copy()
    for unit, scale in _UNITS.items():
        is_it = numbers(pc.match_substring_regex(texts, f"[0-9]{unit}$"))
        found[is_it] = size[is_it] * scale
    return found


def _contacts(changes: Rows, trace: _Trace) -> Rows | None:
    """Return a contact from each time that a connection comes up until it goes down."""
    found, time, is_up = trace.found, changes.numbers["time"], changes.numbers["is_up"]
    hosts = {name: changes.ids[name] for name in ("phone_a", "phone_b")}
    names = Names([Rows(hosts, {})])
    one, other = (names.codes(column) for column in hosts.values())
    interface = Names([Rows({"interface": changes.ids["interface"]}, {})])
    low, high = np.minimum(one, other), np.maximum(one, other)
    which = interface.codes(changes.ids["interface"])
    order = np.lexsort((time, which, high, low))
    is_same = np.r_[False, np.ones(order.size - 1, bool)]
    for key in (low, high, which):
        is_same[1:] &= key[order][1:] == key[order][:-1]
    is_up = is_up[order]
    before = np.r_[False, is_up[:-1]] & is_same
    kept = found.drop(is_up & before, "up of a connection that is up")
    kept &= found.drop(~is_up & ~before, "down of a connection that is not up")
    order, is_up = order[kept], is_up[kept]  # up and down by turns, each connection from an up on
    begins = np.flatnonzero(is_up)
    follows = np.minimum(begins + 1, is_up.size - 1)
    is_ended = (begins + 1 < is_up.size) & ~is_up[follows]
    if (~is_ended).any():
        found.changed["still up at the end: until the last event"] += int((~is_ended).sum())
    end = np.where(is_ended, time[order[follows]], trace.last)
    if not begins.size:
        return None
    chosen = _places(order[begins])
    ids = {name: column.take(chosen) for name, column in hosts.items()}
    return Rows(ids, {"begin": time[order[begins]], "end": end})


def _places(places: npt.NDArray[np.int64]) -> pa.Array:
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), places.size, [None, pa.py_buffer(places)])


def _is(column: pa.Array, text: str) -> Mask:
    import pyarrow.compute as pc

    return numbers(pc.equal(column, text))


_FORM = Form(4, 7, "a line of The ONE has 4 to 7", comments=b"#")
_CHANGE, _MESSAGE = 5, 6
_ON_THE_WAY = ("S", "DE", "A", "DR", "R")
_UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "kiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3}
