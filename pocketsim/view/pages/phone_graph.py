"""Phones as a graph: where each stands, and the chart of what they do within a time.

Where phones stand follows from who trades with whom in the whole repetition, and stays while the
time moves. A scenario has no places, so this is no map.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.report.charts import theme
from pocketsim.sim.export import graph
from pocketsim.view.recorded import activity
from pocketsim.view.recorded import repetition as recorded

if TYPE_CHECKING:
    from pathlib import Path

    import plotly.graph_objects as go

    from pocketsim.sim.scenario.resolved import Resolved
    from pocketsim.view.recorded.activity import Activity, Pairs

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Places:
    """Where the phones stand that are drawn: `phone` are their numbers; all within a unit disc."""

    phone: Array
    x: Array
    y: Array


@functools.lru_cache(maxsize=4)
def places(directory: Path, repetition: int, repetitions: int, phones: int) -> Places:
    """Return where to draw the phones of a repetition: the busiest ones, where there are many.

    Those that trade are drawn to each other, by Fruchterman and Reingold's forces; if they are more
    than `FORCES_MAX`, they fill a disc in the order of their numbers. The others stand around them.
    """
    events = recorded.read(directory, repetition, repetitions).events
    found = activity.pairs(events, phones)
    busy = np.bincount(found.one, found.done + found.failed, phones)
    busy += np.bincount(found.other, found.done + found.failed, phones)
    drawn = np.sort(np.argsort(-busy, kind="stable")[:PHONES_MAX])
    inside, idle = drawn[busy[drawn] > 0], drawn[busy[drawn] == 0]
    x, y = _by_forces(inside, found) if inside.size <= FORCES_MAX else _spiral(inside.size)
    around_x, around_y = _ring(idle.size)
    columns = ((inside, idle), (x, around_x), (y, around_y))
    return Places(*(np.concatenate(both) for both in columns))


def chart(found: Activity, where: Places, resolved: Resolved) -> go.Figure:
    """Return phones and the pairs among them that did something within a time."""
    drawn = theme.figure("", "", _HEIGHT_PX)
    shown = shown_pairs(found.pairs, where)
    at = np.full(found.is_on.size, -1)
    at[where.phone] = np.arange(where.phone.size)
    is_bad = shown.done == 0
    for name, mask, colour in (
        ("nothing done, all failed", is_bad, theme.TRANSPORT_COLOURS["quic_keep"]),
        ("transactions done", ~is_bad, theme.SEND),
    ):
        ends = at[shown.one[mask]], at[shown.other[mask]]
        line = {"color": colour, "width": 1}
        x, y = (_joined(axis[ends[0]], axis[ends[1]]) for axis in (where.x, where.y))
        drawn.add_scatter(x=x, y=y, mode="lines", name=name, line=line, hoverinfo="skip")
    _add_phones(drawn, found, where, resolved)
    axis = {"visible": False, "range": [-_EDGE, _EDGE], "fixedrange": False}
    drawn.update_xaxes(**axis)
    drawn.update_yaxes(**axis, scaleanchor="x")
    # The user's zoom stays while the time moves.
    drawn.update_layout(uirevision="phones", hovermode="closest")
    return drawn


def shown_pairs(pairs: Pairs, where: Places) -> Pairs:
    """Return the pairs that are drawn: the busiest of those whose phones are."""
    is_drawn = np.isin(pairs.one, where.phone) & np.isin(pairs.other, where.phone)
    columns = (pairs.one, pairs.other, pairs.done, pairs.failed)
    return activity.Pairs(*(column[is_drawn] for column in columns)).first(PAIRS_MAX)


def _add_phones(drawn: go.Figure, found: Activity, where: Places, resolved: Resolved) -> None:
    about = graph.phones(resolved)
    is_on, size = found.is_on[where.phone], _sizes(found, where)
    words = [" ".join(said) for said in zip(*reversed(about.values()), strict=True)]
    counts = (found.sent, found.done, found.failed)
    columns = [where.phone.tolist(), *(count[where.phone].tolist() for count in counts)]
    text = [
        f"phone {phone}, {words[phone]}<br>sent {sent}, done {done}, failed {failed}"
        for phone, sent, done, failed in zip(*columns, strict=True)
    ]
    for name, mask, look in (
        ("phone that is on", is_on, {"color": theme.TRANSPORT_COLOURS["udp"]}),
        ("phone that is off", ~is_on, {"color": theme.PUBLISHED, "symbol": "circle-open"}),
    ):
        drawn.add_scatter(
            x=where.x[mask],
            y=where.y[mask],
            text=[said for said, one in zip(text, mask, strict=True) if one],
            hoverinfo="text",
            mode="markers",
            name=name,
            marker={**look, "size": size[mask], "line": {"width": 1}},
        )


def _sizes(found: Activity, where: Places) -> Array:
    """Return how large phones are drawn, in px: an area that grows with what they did."""
    busy = (found.sent + found.done)[where.phone]
    smallest_px, more_px = _SIZES_PX if where.phone.size <= _LARGE_MAX else _SMALL_PX
    sizes: Array = smallest_px + more_px * np.sqrt(busy / max(1, busy.max(initial=1)))
    return np.round(sizes, 1)


def _joined(begin: Array, end: Array) -> list[float | None]:
    """Return the ends of lines as one column, with a gap between two lines."""
    rows = zip(np.round(begin, _DIGITS).tolist(), np.round(end, _DIGITS).tolist(), strict=True)
    return [value for one, other in rows for value in (one, other, None)]


def _by_forces(inside: Array, found: Pairs) -> tuple[Array, Array]:
    import networkx as nx

    both = nx.Graph()
    both.add_nodes_from(inside.tolist())
    several = found.first(_FORCES_PAIRS)
    both.add_edges_from(
        pair
        for pair in zip(several.one.tolist(), several.other.tolist(), strict=True)
        if pair[0] in both and pair[1] in both
    )
    placed = nx.spring_layout(both, seed=1)
    rows = np.array([placed[node] for node in inside.tolist()]).reshape(-1, 2)
    farthest = np.sqrt((rows**2).sum(axis=1)).max(initial=1e-9)
    return rows[:, 0] * _INSIDE / farthest, rows[:, 1] * _INSIDE / farthest


def _spiral(count: int) -> tuple[Array, Array]:
    """Return places that fill a disc evenly, in the order of phones' numbers (Vogel 1979)."""
    number = np.arange(count)
    radius, angle = _INSIDE * np.sqrt((number + 0.5) / max(1, count)), number * _GOLDEN_ANGLE
    return radius * np.cos(angle), radius * np.sin(angle)


def _ring(count: int) -> tuple[Array, Array]:
    angle = 2 * np.pi * np.arange(count) / max(1, count)
    return np.cos(angle), np.sin(angle)


PHONES_MAX, PAIRS_MAX = 2000, 2000
"""Phones and pairs drawn: more are neither told apart nor moved quickly by a browser."""
FORCES_MAX = 300  # phones for which forces take a second
_FORCES_PAIRS = 5000
_INSIDE, _EDGE = 0.9, 1.08
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
_HEIGHT_PX = 560
_LARGE_MAX = 60
_SIZES_PX, _SMALL_PX = (10, 14), (3, 5)
_DIGITS = 4
