"""A transaction as a sequence diagram: a column for each phone, time downwards, messages as arrows.

Each moment at which something begins or ends is one step down, however long after the one before:
an operation takes microseconds, a message milliseconds, and both are to be read. So the axis says
the time of each moment, and is not to scale.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.report.charts import theme
from pocketsim.sim.export import perfetto

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import plotly.graph_objects as go

    from pocketsim.view.recorded.steps import Datagram, Event, Steps, Work


def chart(steps: Steps, sent_s: float) -> go.Figure:
    """Return the diagram of a transaction that was sent at a time."""
    diagram = _Diagram.of(steps, sent_s)
    drawn = theme.figure("", "ms since it was sent", _FRAME_PX + diagram.height_px)
    _add_work(drawn, diagram, steps.work)
    _add_events(drawn, diagram, steps.events)
    for datagram in steps.datagrams:
        _add_datagram(drawn, diagram, datagram)
    if not steps.datagrams:
        _join_events(drawn, diagram, steps.events)
    _set_axes(drawn, diagram)
    return drawn


@dataclass(frozen=True)
class _Diagram:
    """Where things are: `moments_ms` from the top, `columns` of phones from the left."""

    sent_s: float
    end_s: float
    moments_ms: tuple[float, ...]
    columns: dict[int, int]

    @classmethod
    def of(cls, steps: Steps, sent_s: float) -> _Diagram:
        times = [event.time_s for event in steps.events]
        spans: list[Datagram | Work] = [*steps.datagrams, *steps.work]
        for one in spans:
            times += [max(one.begin_s, steps.begin_s), _end_s(one, steps.end_s)]
        moments = tuple(sorted({_ms(time_s, sent_s) for time_s in times}))
        columns = {phone: place for place, phone in enumerate(steps.phones)}
        return cls(sent_s, steps.end_s, moments, columns)

    @property
    def height_px(self) -> int:
        return max(_LEAST_PX, min(_STEP_PX * len(self.moments_ms), _MOST_PX))

    def y(self, time_s: float) -> int:
        """Return how many steps down a time is, of one that is a moment or before the first."""
        ms = _ms(time_s, self.sent_s)
        return self.moments_ms.index(ms) if ms in self.moments_ms else 0

    def side(self, phone: int, other: int) -> float:
        """Return the edge of a phone's column that is towards another phone."""
        one, to = self.columns[phone], self.columns[other]
        return one + (_HALF if to > one else -_HALF)


def _add_work(drawn: go.Figure, diagram: _Diagram, work: Sequence[Work]) -> None:
    """Draw operations as bars; beside each other where lanes of a phone work at a time."""
    slots = [_slots([one for one in work if one.node == phone]) for phone in diagram.columns]
    for (phone, column), of_phone in zip(diagram.columns.items(), slots, strict=True):
        width = 2 * _HALF / max(1, len(of_phone))
        for place, some in enumerate(of_phone):
            begin = [diagram.y(one.begin_s) for one in some]
            end = [diagram.y(_end_s(one, diagram.end_s)) for one in some]
            lasted = [_lasted(one) for one in some]
            drawn.add_bar(
                x=[column - _HALF + (place + 0.5) * width] * len(some),
                base=begin,
                y=[until - since for since, until in zip(begin, end, strict=True)],
                width=width,
                name=f"work of phone {phone}",
                text=[
                    f"{one.operation.replace('_', ' ')} {said}"
                    for one, said in zip(some, lasted, strict=True)
                ],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                hovertext=[_work_words(one, said) for one, said in zip(some, lasted, strict=True)],
                hoverinfo="text",
                # Pale, so that names can be read on it in light and in dark.
                marker={"color": _PALE, "line": {"color": theme.SEND, "width": 1}},
            )


def _slots(work: Iterable[Work]) -> list[list[Work]]:
    """Return operations in as few groups as leave none with two at a time."""
    found: list[list[Work]] = []
    for one in sorted(work, key=lambda one: one.begin_s):
        free = (some for some in found if (some[-1].end_s or one.begin_s + 1) <= one.begin_s)
        slot = next(free, None)
        if slot is None:
            found.append([one])
        else:
            slot.append(one)
    return found


def _work_words(one: Work, lasted: str) -> str:
    cut_off = f", cut off: {one.reason}" if one.reason else ""
    lane = perfetto.lane_name(one.lane)
    return f"{one.operation} of {one.size_bytes} B on lane {lane}: {lasted}{cut_off}"


def _add_events(drawn: go.Figure, diagram: _Diagram, events: Sequence[Event]) -> None:
    some = [event for event in events if event.node in diagram.columns]
    is_first = [diagram.columns[event.node] == 0 for event in some]
    drawn.add_scatter(
        x=[
            diagram.columns[event.node] + (-_EDGE if first else _EDGE)
            for event, first in zip(some, is_first, strict=True)
        ],
        y=[diagram.y(event.time_s) for event in some],
        mode="markers+text",
        text=[f"{event.kind} {event.reason}".strip().replace("_", " ") for event in some],
        textposition=["middle left" if first else "middle right" for first in is_first],
        hoverinfo="skip",
        name="events",
        marker={
            "symbol": "diamond",
            "size": 9,
            "color": [theme.BAD if event.reason else theme.SEND for event in some],
        },
        cliponaxis=False,
    )


def _add_datagram(drawn: go.Figure, diagram: _Diagram, one: Datagram) -> None:
    colour = theme.BAD if one.reason else theme.TRANSPORT_COLOURS["udp"]
    said = f"{one.size_bytes} B {one.reason}".strip().replace("_", " ")
    _add_arrow(
        drawn,
        (diagram.side(one.node, one.peer), diagram.side(one.peer, one.node)),
        (diagram.y(one.begin_s), diagram.y(_end_s(one, diagram.end_s))),
        colour if one.is_own else theme.SEND,
        f"{said}, {_lasted(one)}" if one.is_own else "",
    )


def _join_events(drawn: go.Figure, diagram: _Diagram, events: Sequence[Event]) -> None:
    """Draw an arrow between two events that follow each other on two phones.

    That a phone goes on or off follows from nothing that another did.
    """
    able = (event for event in events if event.kind not in {"phone_on", "phone_off"})
    shown = [event for event in able if event.node in diagram.columns]
    for one, other in itertools.pairwise(shown):
        if one.node != other.node:
            x = diagram.side(one.node, other.node), diagram.side(other.node, one.node)
            y = diagram.y(one.time_s), diagram.y(other.time_s)
            _add_arrow(drawn, x, y, theme.SEND, span(other.time_s - one.time_s))


def _add_arrow(
    drawn: go.Figure, x: tuple[float, float], y: tuple[int, int], colour: str, said: str
) -> None:
    drawn.add_annotation(
        ax=x[0],
        ay=y[0],
        x=x[1],
        y=y[1],
        xref="x",
        yref="y",
        axref="x",
        ayref="y",
        showarrow=True,
        arrowhead=2,
        arrowwidth=1.6,
        arrowcolor=colour,
        text="",
    )
    if said:
        middle = {"x": sum(x) / 2, "y": sum(y) / 2}
        drawn.add_annotation(**middle, text=said, showarrow=False, yshift=-10)


def _set_axes(drawn: go.Figure, diagram: _Diagram) -> None:
    count = len(diagram.moments_ms)
    every = max(1, round(_LABEL_PX * count / diagram.height_px))
    places = list(range(0, count, every))
    drawn.update_yaxes(
        tickvals=places,
        ticktext=[f"{diagram.moments_ms[place]:.3f}" for place in places],
        range=[count - 0.4, -0.6],
        zeroline=False,
    )
    drawn.update_xaxes(
        tickvals=list(diagram.columns.values()),
        ticktext=[f"phone {phone}" for phone in diagram.columns],
        range=[-_OUTSIDE, len(diagram.columns) - 1 + _OUTSIDE],
        side="top",
        fixedrange=True,
    )
    drawn.update_layout(barmode="overlay", showlegend=False)
    drawn.update_layout(margin={**drawn.layout.margin.to_plotly_json(), "t": 40, "b": 12})
    drawn.update_layout(uniformtext={"minsize": 9, "mode": "hide"})


def _end_s(one: Datagram | Work, otherwise_s: float) -> float:
    """Return when something ended, of what had not when the repetition did another time."""
    return otherwise_s if one.end_s is None else one.end_s


def _lasted(one: Datagram | Work) -> str:
    return "not ended" if one.end_s is None else span(one.end_s - one.begin_s)


def span(lasted_s: float) -> str:
    """Return a length of time with three digits: "15.2 s", "8.03 ms", "21 µs"."""
    if lasted_s >= 1:
        return f"{lasted_s:.3g} s" if lasted_s < _MANY_S else f"{lasted_s:.0f} s"
    return f"{1e3 * lasted_s:.3g} ms" if lasted_s >= _MS else f"{1e6 * lasted_s:.3g} µs"


def _ms(time_s: float, since_s: float) -> float:
    return round(1e3 * (time_s - since_s), _DIGITS)


_FRAME_PX, _LEAST_PX, _MOST_PX = 70, 160, 4000
_STEP_PX, _LABEL_PX = 26, 15
_HALF, _EDGE, _OUTSIDE = 0.28, 0.32, 0.72  # of a column, whose width is 1
_MS = 1e-3
_MANY_S = 1000.0
_DIGITS = 4  # a tenth of a microsecond apart is one moment
_PALE = "rgba(0,114,178,0.16)"
