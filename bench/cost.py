"""The page of the benchmark: what a transaction costs each simulator, against the number of phones.

It is a page like a report's, complete in one file: a chart, its figures in a table, what a phone of
pocketsim's takes of memory, and in what the simulators differ. Everything is in the report that
`run` writes as JSON; nothing is measured here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from rivals import HEAPQ, LIMIT, OWN
from tables import TAKERS, digits, median_of, names_of
from turns import Spread

from pocketsim.report.charts import theme
from pocketsim.report.html.page import Page, interval, markup, table
from pocketsim.report.runs.metric_words import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import plotly.graph_objects as go

    Report = Mapping[str, Any]


def page(report: Report) -> Page:
    """Return the page of what `run` found."""
    made = Page("What a simulated transaction costs")
    made.heading()
    made.add(markup('<p class="lead">{}</p>', _lead(report)))
    made.section("cost", "Cost against size")
    made.figures([("Wall time of a transaction", _CAPTION, chart(report))], wide=True)
    made.section("figures", "All figures")
    made.paragraph(_FIGURES)
    made.add(figures(report))
    made.section("memory", "Memory of a phone")
    made.paragraph(_memory_text(report["memory"]))
    made.add(memory(report["memory"]))
    made.section("differences", "In what the simulators differ")
    made.paragraph("All run the same workload within what chance explains, but:")
    said = (markup("<li>{}: {}</li>", name, text) for name, text in report["differs"].items())
    made.add(markup("<ul>{}</ul>", Markup().join(said)))
    return made


def _lead(report: Report) -> str:
    machine = report["machine"]
    return (
        f"Phones propose to each other at random, once a second each: a message and its answer, "
        f"and work for both. {report['repetitions']} turns of all simulators on {machine['cores']} "
        f"cores ({machine['arch']}), Python {machine['python']}."
    )


def chart(report: Report) -> go.Figure:
    """Return microseconds of wall time for a transaction against phones, a line a simulator."""
    names = names_of(report["hosts"])
    drawn = theme.figure("phones", "wall time of a transaction, \u00b5s", _HEIGHT_PX)
    looks = zip(theme.colours(len(names)), theme.dashes(len(names)), strict=True)
    shown: list[float] = []
    for place, (name, (colour, dash)) in enumerate(zip(names, looks, strict=True)):
        rows = {hosts: rows[name] for hosts, rows in report["hosts"].items() if name in rows}
        costs_us = [cost_us(row) for row in rows.values()]
        shown += [cost for spread in costs_us for cost in spread]
        middle = [spread.median for spread in costs_us]
        drawn.add_scatter(
            x=[int(hosts) for hosts in rows],
            y=middle,
            error_y=theme.bars(middle, list(map(_ends, costs_us)), log=True),
            mode="lines+markers",
            name=name,
            line={"color": colour, "dash": dash, "width": _OWN_PX if name == OWN else _LINE_PX},
            marker={"color": colour, "symbol": _SYMBOLS[place % len(_SYMBOLS)], "size": 8},
        )
    drawn.update_xaxes(**theme.log_ticks([float(hosts) for hosts in report["hosts"]]))
    drawn.update_yaxes(**theme.log_decades(shown))
    theme.make_room(drawn)
    return drawn


def cost_us(row: Mapping[str, Any]) -> Spread:
    """Return the wall time of a transaction, which is the longest where the rate is the lowest."""
    rate_per_s = row["rate_per_s"]
    return Spread(*(1e6 / rate_per_s[key] for key in ("high", "median", "low")))


def figures(report: Report) -> str:
    """Return the table of all sizes and simulators."""
    head = (
        "phones",
        "simulator",
        "\u00b5s",
        "tx/s",
        f"of {LIMIT}",
        f"of {HEAPQ}",
        "MB",
        "kB/phone",
    )
    lines = [
        (
            number(int(hosts)),
            name,
            digits(cost_us(row).median) + interval(_ends(cost_us(row)), digits),
            number(row["rate_per_s"]["median"]),
            "" if name == LIMIT else _ratio(row, "to_limit"),
            "" if name == HEAPQ else _ratio(row, "to_heapq"),
            number(round(row["memory_mb"])),
            digits(row["memory_mb"] * _BYTES_PER_MB / 1e3 / int(hosts)),
        )
        for hosts, rows in report["hosts"].items()
        for name, row in rows.items()
    ]
    return table(head, lines, numeric=(0, *range(2, len(head))))


def _ratio(row: Mapping[str, Any], key: str) -> str:
    ends = _ends(Spread(**row[key])) if row[key] else None
    return median_of(row, key) + interval(ends, digits)


def _ends(spread: Spread) -> tuple[float, float]:
    return spread.low, spread.high


def memory(found: Mapping[str, Any]) -> str:
    """Return the table of what phones and transactions take."""
    head = ("protocol, over UDP", *(f"{title}, B" for title in TAKERS.values()))
    lines = [
        (name, *(number(round(taken[key])) for key in TAKERS))
        for name, taken in found["bytes"].items()
    ]
    bars = found["bars_bytes"]
    last = ("bar", *(f"below {number(bars[key])}" if key in bars else "" for key in TAKERS))
    return table(head, [*lines, last], numeric=range(1, len(head)))


def _memory_text(found: Mapping[str, Any]) -> str:
    small, large = map(number, found["phones"])
    return (
        f"By how much the memory of a run grows from {small} to {large} phones, for each: phones "
        f"that do nothing, and phones that have sent and received over UDP in one trade. A "
        f"transaction with what the trace keeps of it, among {small} phones. Pairwise is the "
        f"workload above, TrustChain what a phone would run."
    )


_CAPTION = (
    "Both axes are logarithmic; bars are the range over turns. The C++ heap with queues is the "
    "limit of any model in which a message waits for two radios and a core."
)
_FIGURES = (
    "\u00b5s: wall time of a transaction; tx/s: transactions for a second of wall time; then the "
    "rate's ratio to two programs that are no simulators, within a turn. Medians over turns, "
    "ranges below. MB: all memory of the process, with Python where that is, the largest of all "
    "turns, and what of it comes to a phone."
)
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down")
_HEIGHT_PX, _OWN_PX, _LINE_PX = 520, 3.5, 2
_BYTES_PER_MB = 1 << 20
