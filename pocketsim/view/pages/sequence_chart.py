"""A transaction as a sequence diagram: lanes of its phones over time, messages as arrows.

Time goes to the right, in milliseconds since the transaction was sent. Of each phone there is a
line where messages leave and arrive, and one for each lane that worked.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pocketsim.report.charts import theme
from pocketsim.sim.export import perfetto

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from pocketsim.view.recorded.steps import Datagram, Steps, Work

    Rows = dict[tuple[int, int | None], int]
    """Where the line of a phone (None) or of a lane of it is, counted from the top."""


def chart(steps: Steps, sent_s: float) -> go.Figure:
    """Return the diagram of a transaction that was sent at a time."""
    rows = _rows(steps)
    drawn = theme.figure("ms since it was sent", "", _FRAME_PX + _ROW_PX * len(rows))
    _add_work(drawn, steps, rows, sent_s)
    _add_events(drawn, steps, rows, sent_s)
    if steps.datagrams:
        for datagram in steps.datagrams:
            _add_datagram(drawn, datagram, rows, sent_s)
    else:
        _join_events(drawn, steps, rows, sent_s)
    names = [_row_name(phone, lane) for phone, lane in rows]
    ticks = {"tickvals": list(rows.values()), "ticktext": names, "showgrid": True}
    drawn.update_yaxes(**ticks, range=[len(rows) - 0.4, -0.6], zeroline=False, fixedrange=True)
    drawn.update_xaxes(range=_range_ms(steps, sent_s))
    drawn.update_layout(barmode="overlay", uniformtext={"minsize": 10, "mode": "hide"})
    theme.make_room(drawn)
    return drawn


def _rows(steps: Steps) -> Rows:
    """Return the rows from the top: the lines of the first two phones are next to each other."""
    found: list[tuple[int, int | None]] = []
    for number, phone in enumerate(steps.phones):
        lanes = sorted({one.lane for one in steps.work if one.node == phone})
        own: list[tuple[int, int | None]] = [(phone, None), *((phone, lane) for lane in lanes)]
        found += reversed(own) if number == 0 else own
    return {key: place for place, key in enumerate(found)}


def _row_name(phone: int, lane: int | None) -> str:
    return f"<b>phone {phone}</b>" if lane is None else perfetto.lane_name(lane)


def _add_work(drawn: go.Figure, steps: Steps, rows: Rows, sent_s: float) -> None:
    names = list(dict.fromkeys(one.operation for one in steps.work))
    for name, colour in zip(names, theme.colours(len(names)), strict=True):
        some = [one for one in steps.work if one.operation == name]
        lasted = [_ms(one.end_s or steps.end_s, one.begin_s) for one in some]
        drawn.add_bar(
            x=lasted,
            base=[_ms(max(one.begin_s, steps.begin_s), sent_s) for one in some],
            y=[rows[one.node, one.lane] for one in some],
            orientation="h",
            width=0.62,
            name=name.replace("_", " "),
            text=[f"{name} {_said(ms)}" for ms in lasted],
            textposition="inside",
            insidetextanchor="start",
            hovertext=[_work_words(one, ms) for one, ms in zip(some, lasted, strict=True)],
            hoverinfo="text",
            # Pale, so that names can be read on them in light and in dark.
            marker={"color": _pale(colour), "line": {"color": colour, "width": 1.5}},
        )


def _work_words(one: Work, lasted_ms: float) -> str:
    cut_off = f", cut off: {one.reason}" if one.reason else ""
    return f"{one.operation} of {one.size_bytes} B: {_said(lasted_ms)}{cut_off}"


def _add_events(drawn: go.Figure, steps: Steps, rows: Rows, sent_s: float) -> None:
    some = [event for event in steps.events if event.node in steps.phones]
    words = [f"{event.kind} {event.reason}".strip() for event in some]
    few = len(some) <= _LABELLED
    marker = {"symbol": "diamond", "size": 9, "color": theme.BAD}
    drawn.add_scatter(
        x=[_ms(event.time_s, sent_s) for event in some],
        y=[rows[event.node, None] for event in some],
        mode="markers+text" if few else "markers",
        text=[said.replace("_", " ") for said in words],
        textposition=[_SIDES[place % len(_SIDES)] for place in range(len(some))],
        hovertext=[
            f"{said}: {_ms(event.time_s, sent_s):.3f} ms"
            for said, event in zip(words, some, strict=True)
        ],
        hoverinfo="text",
        name="events",
        marker=marker,
        cliponaxis=False,
    )


def _add_datagram(drawn: go.Figure, one: Datagram, rows: Rows, sent_s: float) -> None:
    colour = theme.SEND if not one.is_own else theme.TRANSPORT_COLOURS["udp"]
    end_s = one.begin_s if one.end_s is None else one.end_s
    said = f"{one.size_bytes} B" if one.is_own and not one.reason else one.reason
    ends = (_ms(one.begin_s, sent_s), _ms(end_s, sent_s))
    _add_arrow(drawn, ends, (rows[one.node, None], rows[one.peer, None]), colour, said)


def _join_events(drawn: go.Figure, steps: Steps, rows: Rows, sent_s: float) -> None:
    """Draw an arrow between two events that follow each other on two phones."""
    shown = [event for event in steps.events if event.node in steps.phones]
    for one, other in itertools.pairwise(shown):
        if one.node != other.node:
            ends = (_ms(one.time_s, sent_s), _ms(other.time_s, sent_s))
            _add_arrow(drawn, ends, (rows[one.node, None], rows[other.node, None]), theme.SEND, "")


def _add_arrow(
    drawn: go.Figure, x: Sequence[float], y: Sequence[float], colour: str, said: str
) -> None:
    drawn.add_annotation(
        ax=x[0],
        ay=y[0],
        x=x[1],
        y=y[1],
        **dict.fromkeys(("xref", "axref"), "x"),
        **dict.fromkeys(("yref", "ayref"), "y"),
        showarrow=True,
        arrowhead=2,
        arrowwidth=1.6,
        arrowcolor=colour,
        text="",
    )
    if said:
        middle = {"x": sum(x) / 2, "y": sum(y) / 2}
        drawn.add_annotation(**middle, text=said.replace("_", " "), showarrow=False, yshift=9)


def _range_ms(steps: Steps, sent_s: float) -> list[float]:
    ends = _ms(steps.begin_s, sent_s), _ms(steps.end_s, sent_s)
    room = _ROOM * max(ends[1] - ends[0], _LEAST_MS)
    return [ends[0] - room, ends[1] + room]


def _ms(time_s: float, since_s: float) -> float:
    return round(1e3 * (time_s - since_s), _DIGITS)


def _said(ms: float) -> str:
    return f"{ms:.3g} ms" if ms >= 1 else f"{1e3 * ms:.3g} µs"


def _pale(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.28)"


_FRAME_PX, _ROW_PX = 150, 58
_LABELLED = 16  # events that have room for their names
_SIDES = ("top right", "bottom right")
_ROOM, _LEAST_MS = 0.06, 0.1
_DIGITS = 6
