"""The page of a run: its phones as a graph, at a time that is moved, and its transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.report.charts import theme
from pocketsim.report.html.page import Page, markup, table
from pocketsim.report.runs.run import is_of_trades
from pocketsim.report.sections import fates
from pocketsim.sim.devices.numbers import seconds
from pocketsim.sim.run import results
from pocketsim.view.pages import phone_graph
from pocketsim.view.pages.page import ALL_RUNS, address, framed, link, plotted, rendered, whole
from pocketsim.view.recorded import activity, repetition, transactions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go
    from markupsafe import Markup

    from pocketsim.report.runs.run import Run
    from pocketsim.view.recorded.activity import Activity, Pairs
    from pocketsim.view.recorded.repetition import Repetition
    from pocketsim.view.recorded.transactions import Transactions


@dataclass(frozen=True)
class Shown:
    """A repetition of a run, by the name that addresses have for the run."""

    name: str
    run: Run
    number: int

    @property
    def repetitions(self) -> int:
        """How many repetitions the run has."""
        return int(self.run.resolved["run"]["repetitions"])

    @property
    def duration_s(self) -> float:
        """How long each is."""
        return float(self.run.resolved["run"]["duration_s"])

    @property
    def recorded(self) -> Repetition:
        """Its events; raises ScenarioError where none are kept."""
        return repetition.read(self.run.path, self.number, self.repetitions)

    @property
    def way(self) -> tuple[str, str]:
        """The name of this page and its address."""
        return self.run.path.name, address("/run", run=self.name, repetition=self.number)

    def transaction(self, message: int) -> str:
        """Return the address of one of its transactions."""
        said = transactions.name(message)
        return address("/transaction", run=self.name, repetition=self.number, id=said)


def html(shown: Shown) -> str:
    """Return the page."""
    page = Page(f"{shown.run.title}: {shown.run.path.name}")
    page.heading()
    asked = {"run": shown.name, "repetitions": shown.repetitions, "chosen": shown.number}
    if shown.repetitions > 1:
        page.add(rendered("choose_repetition.html", action="/run", **asked))
    if results.keeps_events(shown.run.path):
        _add_phones(page, shown)
        _add_transactions(page, shown)
    else:
        page.paragraph(_NO_EVENTS)
    if is_of_trades(shown.run):
        page.section("fates", "What became of what was sent, in all repetitions")
        page.add(fates.counts_table([shown.run]))
    return whole(page, [ALL_RUNS, shown.way])


def window(shown: Shown, until_s: float, width_s: float) -> dict[str, Any]:
    """Return what the page shows up to a time, from so long before; from the start where it is 0.

    Counts are HTML, charts are what the script draws.
    """
    until_s = min(max(0.0, until_s), shown.duration_s)
    from_s = max(0.0, until_s - width_s) if width_s > 0 else 0.0
    found = activity.of(shown.recorded, shown.run.phones, from_s, until_s)
    where = _places(shown)
    return {
        "shown": _time(found),
        "counts": _counts(found, where, shown),
        "phones": plotted(phone_graph.chart(found, where, shown.run.resolved)),
        "shapes": [_shade(found)],
    }


def _add_phones(page: Page, shown: Shown) -> None:
    whole_run = activity.of(shown.recorded, shown.run.phones, 0.0, shown.duration_s)
    where = _places(shown)
    page.section("phones", "Phones")
    page.paragraph(_PHONES)
    by_forces = np.count_nonzero(np.hypot(where.x, where.y) < 1 - _ON_RING)
    page.paragraph(_BY_FORCES if by_forces <= phone_graph.FORCES_MAX else _BY_NUMBER)
    asked = {"run": shown.name, "repetition": shown.number, "duration_s": shown.duration_s}
    widths = [
        (f"the last {seconds(share * shown.duration_s)}", share * shown.duration_s)
        for share in _WIDTHS
    ]
    widths.insert(0, ("all since the start", 0.0))
    more = {"steps": _STEPS, "widths": widths, "shown": _time(whole_run)}
    page.add(rendered("choose_window.html", **asked, **more))
    drawn = phone_graph.chart(whole_run, where, shown.run.resolved)
    label = "Phones and who trades with whom; the tables below say the same in numbers"
    page.add(framed(drawn, "chart-phones", label))
    counts = _counts(whole_run, where, shown)
    page.add(markup('<div id="counts" aria-live="polite">{}</div>', counts))
    page.section("time", "Over time")
    part = seconds(shown.duration_s / activity.PARTS)
    page.paragraph(f"Events in each {part}. Shaded: what is shown above.")
    label = "Events sent, done and failed over time"
    page.add(framed(_over_time(shown, whole_run), "chart-time", label))


def _places(shown: Shown) -> phone_graph.Places:
    return phone_graph.places(shown.run.path, shown.number, shown.repetitions, shown.run.phones)


def _time(found: Activity) -> str:
    return f"{seconds(found.from_s)} to {seconds(found.until_s)}"


def _counts(found: Activity, where: phone_graph.Places, shown: Shown) -> Markup:
    """Return the numbers of a time as tables, and what the graph leaves out."""
    on = int(found.is_on.sum())
    fate = found.fates
    lost = [(f"lost: {reason}", count) for reason, count in sorted(fate["lost"].items())]
    counts = [
        ("phones on, of all", f"{on:,} of {shown.run.phones:,}"),
        ("transactions sent", fate["sent"]),
        ("of these stored by then", fate["stored"]),
        ("in flight", fate["in_flight"]),
        *lost,
    ]
    parts = [
        markup('<p class="caption">{}</p>', _thinned(found.pairs, where, shown)),
        markup(_PART, "In this time", _number_table(["what", "count"], counts)),
        markup(_PART, "Events", _number_table(["kind", "events"], list(found.kinds.items()))),
        markup(_PART, "Busiest pairs", _pairs(found.pairs.first(_PAIRS))),
    ]
    return markup('{}<div class="counts">{}{}{}</div>', *parts)


def _thinned(pairs: Pairs, where: phone_graph.Places, shown: Shown) -> str:
    drawn = phone_graph.shown_pairs(pairs, where).one.size
    said = f"{drawn:,} of {pairs.one.size:,} pairs that did something are drawn"
    phones = f"{where.phone.size:,} of {shown.run.phones:,} phones"
    most = "the busiest, " if drawn < pairs.one.size else ""
    return f"{phones} and {most}{said}. The tables count all."


def _pairs(pairs: Pairs) -> Markup:
    columns = (pairs.one, pairs.other, pairs.done, pairs.failed)
    lines = [
        (f"{one} and {other}", done, failed)
        for one, other, done, failed in zip(*(part.tolist() for part in columns), strict=True)
    ]
    return _number_table(["phones", "done", "failed"], lines)


def _number_table(head: Sequence[str], lines: Sequence[Sequence[Any]]) -> Markup:
    """Return a table of a name and numbers."""
    written = [
        [one if isinstance(one, str) else f"{one:,}" for one in line]
        for line in ([name.replace("_", " "), *rest] for name, *rest in lines)
    ]
    return table(head, written, range(1, len(head)))


def _over_time(shown: Shown, found: Activity) -> go.Figure:
    counts = activity.over_time(shown.recorded, shown.duration_s)
    drawn = theme.figure("time, s", "events", _TIME_PX)
    for name, colour in (("sent", theme.SEND), ("done", theme.GOOD), ("failed", theme.BAD)):
        line = {"color": colour, "shape": "hv"}
        drawn.add_scatter(x=counts["from_s"], y=counts[name], mode="lines", name=name, line=line)
    drawn.update_yaxes(rangemode="tozero")
    drawn.update_layout(shapes=[_shade(found)])
    return drawn


def _shade(found: Activity) -> dict[str, Any]:
    across = {"type": "rect", "xref": "x", "x0": found.from_s, "x1": found.until_s}
    up = {"yref": "paper", "y0": 0, "y1": 1}
    look = {"fillcolor": "rgba(0,114,178,0.12)", "line": {"width": 0}, "layer": "below"}
    return {**across, **up, **look}


def _add_transactions(page: Page, shown: Shown) -> None:
    some = transactions.of(shown.recorded)
    page.section("transactions", "Transactions")
    if not some.message.size:
        page.paragraph("Nothing was sent in this repetition.")
        return
    page.add(chooser(shown, some))


def chooser(shown: Shown, some: Transactions, chosen: str = "") -> Markup:
    """Return the transactions that are worth a look, and a field for any other."""
    known = {"run": shown.name, "repetition": shown.number, "chosen": chosen}
    lines = []
    for why, row in transactions.telling(some):
        message = int(some.message[row])
        round_trip_s = some.round_trip_s[row]
        lines.append(
            [
                link(transactions.name(message), shown.transaction(message)),
                why.replace("_", " "),
                f"{some.node[row]} to {some.peer[row]}" if some.peer[row] >= 0 else some.node[row],
                f"{some.sent_s[row]:.6g}",
                f"{1e3 * round_trip_s:.4g}" if np.isfinite(round_trip_s) else _NONE,
            ]
        )
    head = ["transaction", "why", "phones", "sent at, s", "round trip, ms"]
    found = table(head, lines, (3, 4))
    about = f"{some.message.size:,} were sent. Some that tell much:"
    form = rendered("choose_transaction.html", **known)
    return markup("<p>{}</p>{}{}", about, found, form)


_NO_EVENTS = (
    "This run keeps no events, so there is nothing to show over time: run it with output.trace = "
    '"full", or "work" to see work and datagrams, too.'
)
_PHONES = (
    "A dot is a phone, filled while it is on at the end of the time. A line is a pair that did "
    "something within it. A scenario has no places, so this is no map."
)
_BY_FORCES = "Phones that trade stand near each other. Those that never do stand around them."
_BY_NUMBER = (
    "From the middle outwards, phones stand in the order of their numbers. Those that never trade "
    "stand around them."
)
_ON_RING = 1e-6
_STEPS = 200
_WIDTHS = (0.5, 0.1, 0.02)
"""Parts of the duration that can be shown."""
_PAIRS = 10
_TIME_PX = 260
_PART = "<div><h3>{}</h3>{}</div>"
_NONE = "\N{EN DASH}"
