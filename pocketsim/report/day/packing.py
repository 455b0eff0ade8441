"""From the table of a run's map to what its page carries: columns of few bytes, as base64.

Times and places are whole numbers of 16 bits: a time is off by at most duration / 131 070, a place
by as small a share of a side. Of phones or trades too many for the page, each n-th is kept. What
deliberately does not live here: how they are drawn (map.js).
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.arrow import numbers
from pocketsim.sim.metrics import fates
from pocketsim.sim.plan.day import last_known
from pocketsim.sim.trace import places

if TYPE_CHECKING:
    import pyarrow as pa

    from pocketsim.sim.trace.columns import Columns

    Floats = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.int64]

STEPS = 65_535
"""Times and places are whole numbers up to this."""
BUDGET_BYTES = 2_000_000
"""Of a map, before base64 makes a third more of it: with plotly's source a page is below 8 MB."""
TRADES_MAX = 50_000


@dataclass(frozen=True)
class Steps:
    """Rows of phones, sorted by phone and time: those of phone k begin at `begins[k]`.

    `values` are further columns.
    """

    begins: Indices
    time_s: Floats
    values: tuple[npt.NDArray[Any], ...]

    def of_phones(self, phones: Indices) -> Steps:
        """Return the rows of some phones, which are in order."""
        sizes = np.diff(self.begins)
        kept = np.repeat(np.isin(np.arange(sizes.size), phones), sizes)
        begins = np.append(0, np.cumsum(sizes[phones]))
        return Steps(begins, self.time_s[kept], tuple(column[kept] for column in self.values))


@dataclass(frozen=True)
class Trades:
    """What was sent from whom to whom, in order of time.

    `fate` is 0 for failed, 1 for done, 2 for under way at the end.
    """

    time_s: Floats
    one: Indices
    other: Indices
    fate: Indices


@dataclass(frozen=True)
class Drawing:
    """What a map shows: of every phone its number, its way and its states; places; trades.

    A state is 0 off and 1 + n on network n of `networks`. `places` are by kind, without homes:
    there are too many.
    """

    phones: Indices
    way: Steps
    states: Steps
    places: dict[str, tuple[Floats, Floats]]
    trades: Trades
    networks: tuple[str, ...]
    width_m: float
    height_m: float


def drawing(table: pa.Table, sent: Columns | None) -> Drawing:
    """Return what the table of a map has, with what was sent in events of the same repetition."""
    kinds = table["kind"].combine_chunks()
    kind = np.array(kinds.dictionary.to_pylist())[numbers(kinds.indices)]
    phone, time_s = numbers(table["phone"]).astype(np.int64), numbers(table["time_s"])
    x_m, y_m = (np.asarray(table[name].fill_null(0.0)) for name in ("x_m", "y_m"))
    networks = tuple(sorted(set(table["name"].filter(kind == "access").to_pylist())))
    at_place, on_way = kind == "place", kind == "waypoint"
    shown = np.unique(phone[on_way])
    names = table["name"].combine_chunks()
    words = [*names.dictionary.to_pylist(), None]
    number = np.array([networks.index(one) if one in networks else -1 for one in words])
    access = number[numbers(names.indices, absent=-1)]
    states = _states(phone, time_s, kind, access)
    about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    return Drawing(
        phones=shown,
        way=_steps(shown, phone[on_way], time_s[on_way], (x_m[on_way], y_m[on_way])),
        states=_steps(shown, *states),
        places=_places(np.array(words)[numbers(names.indices, absent=-1)], at_place, x_m, y_m),
        trades=_trades(sent),
        networks=networks,
        width_m=float(about[places.WIDTH]),
        height_m=float(about[places.HEIGHT]),
    )


def fitted(found: Drawing, budget_bytes: int) -> tuple[Drawing, int, int]:
    """Return what fits a page: each n-th phone, and each m-th trade between these; n and m too."""
    every = 1
    part = found
    while _bytes(part) > budget_bytes and part.phones.size > 1:
        every += 1
        kept = np.arange(0, found.phones.size, every)
        part = replace(
            found,
            phones=found.phones[kept],
            way=found.way.of_phones(kept),
            states=found.states.of_phones(kept),
        )
    trades = found.trades
    known = np.isin(trades.one, part.phones) & np.isin(trades.other, part.phones)
    times = max(1, -(-int(known.sum()) // TRADES_MAX))
    rows = np.flatnonzero(known)[::times]
    kept_trades = Trades(
        trades.time_s[rows], trades.one[rows], trades.other[rows], trades.fate[rows]
    )
    return replace(part, trades=kept_trades), every, times


def packed(found: Drawing, duration_s: float) -> dict[str, Any]:
    """Return what a map shows as JSON."""
    x_m, y_m = found.way.values
    trades = found.trades
    return {
        "duration_s": duration_s,
        "width_m": found.width_m,
        "height_m": found.height_m,
        "networks": list(found.networks),
        "phones": _coded(found.phones, "<u4"),
        "way": {
            "begins": _coded(found.way.begins, "<u4"),
            "time": _scaled(found.way.time_s, duration_s),
            "x": _scaled(x_m, found.width_m),
            "y": _scaled(y_m, found.height_m),
        },
        "states": {
            "begins": _coded(found.states.begins, "<u4"),
            "time": _scaled(found.states.time_s, duration_s),
            "state": _coded(found.states.values[0], "u1"),
        },
        "places": [
            {
                "name": _NAMES[kind],
                "x": _scaled(x_m, found.width_m),
                "y": _scaled(y_m, found.height_m),
            }
            for kind, (x_m, y_m) in found.places.items()
        ],
        "trades": {
            "time": _scaled(trades.time_s, duration_s),
            "one": _coded(np.searchsorted(found.phones, trades.one), "<u4"),
            "other": _coded(np.searchsorted(found.phones, trades.other), "<u4"),
            "fate": _coded(trades.fate, "u1"),
        },
    }


def unpacked(text: str, most: float) -> Floats:
    """Return the numbers of 16 bits that `packed` made of those between 0 and `most`."""
    steps = np.frombuffer(base64.b64decode(text), "<u2")
    found: Floats = steps * (most / STEPS)
    return found


def _places(
    names: npt.NDArray[Any], at_place: npt.NDArray[np.bool_], x_m: Floats, y_m: Floats
) -> dict[str, tuple[Floats, Floats]]:
    found = {}
    for kind in _NAMES:
        here = at_place & (names == kind)
        if here.any():
            found[kind] = x_m[here], y_m[here]
    return found


def _states(
    phone: Indices, time_s: Floats, kind: npt.NDArray[np.str_], access: Indices
) -> tuple[Indices, Floats, tuple[Indices]]:
    """Return the states of phones as rows; each begins on, on the first network that it has."""
    kept = np.flatnonzero(np.isin(kind, ("on", "off", "access")))
    # Of one moment, the network comes first: a phone that begins off is on a network nevertheless.
    later = (kind[kept] != "access").astype(np.int64)
    kept = kept[np.lexsort((later, time_s[kept], phone[kept]))]
    phone, time_s, kind, access = phone[kept], time_s[kept], kind[kept], access[kept]
    is_first = np.append(True, phone[1:] != phone[:-1])[: phone.size]
    on = np.select([kind == "on", (kind == "off")], [1, 0], np.where(is_first, 1, -1))
    state = np.where(last_known(on) == 1, 1 + last_known(access), 0)
    return phone, time_s, (state,)


def _steps(
    shown: Indices, phone: Indices, time_s: Floats, values: tuple[npt.NDArray[Any], ...]
) -> Steps:
    order = np.lexsort((np.arange(phone.size), time_s, phone))
    order = order[np.isin(phone[order], shown)]
    begins = np.append(np.searchsorted(phone[order], shown), order.size)
    return Steps(begins, time_s[order], tuple(column[order] for column in values))


def _trades(part: Columns | None) -> Trades:
    """Return the first send of each transaction, and what became of it."""
    if part is None:
        nothing = np.zeros(0, dtype=np.int64)
        return Trades(np.zeros(0), nothing, nothing, nothing)
    sent = part.of_kind("send")
    message, first = np.unique(sent.message, return_index=True)
    ended = fates.each(part, message)
    fate = np.zeros(message.size, dtype=np.int64)
    for number, some in ((1, ended.stored), (2, ended.in_flight)):
        fate[np.isin(message, some)] = number
    order = np.argsort(first, kind="stable")
    rows = first[order]
    columns = (sent.node[rows].astype(np.int64), sent.peer[rows].astype(np.int64))
    return Trades(sent.time_s[rows], *columns, fate[order])


def _bytes(found: Drawing) -> int:
    return 6 * found.way.time_s.size + 3 * found.states.time_s.size + 12 * found.phones.size


def _scaled(values: Floats, most: float) -> str:
    return _coded(np.rint(np.clip(values / most, 0.0, 1.0) * STEPS), "<u2")


def _coded(values: npt.NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.asarray(values).astype(kind).tobytes()).decode()


_NAMES = {"shop": "shop", "stand": "stall", "work": "workplace"}
