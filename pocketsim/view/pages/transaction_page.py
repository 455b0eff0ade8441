"""The page of a transaction: a sequence diagram, its steps as a table, and others to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.html.page import Page, markup, table
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.export import perfetto
from pocketsim.view.pages import run_page, sequence_chart
from pocketsim.view.pages.page import ALL_RUNS, framed, whole
from pocketsim.view.recorded import steps, transactions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from pocketsim.view.pages.run_page import Shown
    from pocketsim.view.recorded.steps import Steps
    from pocketsim.view.recorded.transactions import Transactions

    Line = tuple[float, float | None, int, str]
    """When, how long, where, and what."""


class NoTransactionError(UserError):
    """The repetition has no transaction of this name."""


def html(shown: Shown, said: str) -> str:
    """Return the page of the transaction that is called so, as "3:17".

    Raises NoTransactionError where there is none.
    """
    some = transactions.of(shown.recorded)
    message = transactions.message(said)
    row = None if message is None else some.place(message)
    if message is None or row is None:
        raise NoTransactionError(f"{shown.name}: repetition {shown.number} sent no {said!r}")
    page = Page(f"Transaction {said}: {_outcome(some, row)}")
    page.heading()
    page.add(markup('<p class="lead">{}</p>', _about(shown, some, row)))
    _add_diagram(page, shown, steps.of(shown.recorded, message), float(some.sent_s[row]))
    page.section("others", "Other transactions")
    page.add(run_page.chooser(shown, some, said))
    return whole(page, [ALL_RUNS, shown.way, (said, shown.transaction(message))])


def _outcome(some: Transactions, row: int) -> str:
    fate = str(some.fate[row])
    if fate == transactions.STORED:
        return f"stored after {sequence_chart.span(float(some.round_trip_s[row]))}"
    return "in flight at the end" if fate == transactions.IN_FLIGHT else f"lost, {fate}"


def _about(shown: Shown, some: Transactions, row: int) -> str:
    peer = f" to phone {some.peer[row]}" if some.peer[row] >= 0 else ""
    when = f"sent at {some.sent_s[row]:.6g} s of repetition {shown.number}"
    return f"{shown.run.title}; phone {some.node[row]}{peer}, {when}."


def _add_diagram(page: Page, shown: Shown, found: Steps, sent_s: float) -> None:
    page.section("diagram", "What happened when")
    has_timeline = shown.recorded.has_timeline
    page.paragraph(_WITH_WORK if has_timeline else _WITHOUT_WORK)
    if found.others:
        page.paragraph(f"Left out: {found.others} phones that took part later.")
    if found.left_out:
        page.paragraph(f"Left out: {found.left_out} steps more, the latest ones.")
    label = "Sequence diagram; the table below has every step of it"
    page.add(framed(sequence_chart.chart(found, sent_s), "chart-sequence", label))
    page.section("steps", "Every step")
    page.add(_table(found, sent_s))


def _table(found: Steps, sent_s: float) -> Markup:
    lines = sorted(_lines(found), key=lambda line: line[0])
    head = ["ms", "lasts, ms", "phone", "what"]
    written = [
        [
            f"{1e3 * (at_s - sent_s):.3f}",
            _NONE if lasts_s is None else f"{1e3 * lasts_s:.3f}",
            str(phone),
            what.replace("_", " "),
        ]
        for at_s, lasts_s, phone, what in lines
    ]
    return table(head, written, (0, 1, 2))


def _lines(found: Steps) -> Iterator[Line]:
    for event in found.events:
        yield event.time_s, None, event.node, " ".join(filter(None, (event.kind, event.reason)))
    for one in found.datagrams:
        lasts_s = None if one.end_s is None else one.end_s - one.begin_s
        own = "its datagram" if one.is_own else "datagram"
        ending = f", dropped: {one.reason}" if one.reason else ""
        what = f"{own} of {one.size_bytes} B to phone {one.peer}{ending}"
        yield one.begin_s, lasts_s, one.node, what
    for work in found.work:
        lasts_s = None if work.end_s is None else work.end_s - work.begin_s
        ending = f", cut off: {work.reason}" if work.reason else ""
        lane = perfetto.lane_name(work.lane)
        what = f"{work.operation} of {work.size_bytes} B on lane {lane}{ending}"
        yield work.begin_s, lasts_s, work.node, what


_WITH_WORK = (
    "Bars are operations, arrows are datagrams: blue ones are this transaction's, grey ones others "
    "between the same phones. The trace does not say which transaction an operation is for, so all "
    "work of these phones is shown. Each begin and end is a step down, so times are not to scale."
)
_WITHOUT_WORK = (
    "Only events of this run were kept, so arrows join events that follow each other. Each event "
    "is a step down, so times are not to scale. Run it with "
    'output.trace = "work" to see each operation and datagram.'
)
_NONE = "\N{EN DASH}"
