"""The frame of a page that compares real trades with their simulation.

It begins with the verdict and ends with how the trades were measured.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pocketsim.calibration.host import tables
from pocketsim.report.html.page import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.host.judging import Bar
    from pocketsim.report.html.page import Page


def begin(found: Page, verdict: str, bars: Sequence[Bar]) -> None:
    """Append the title, the verdict, and a section of the bars, if there are any."""
    found.heading()
    found.paragraph(verdict)
    if bars:
        found.section("bars", "Bars")
        found.add(plain_table(tables.BAR_HEAD, tables.bar_rows(bars)))


def end(found: Page, said: Sequence[str]) -> None:
    """Append the section of how it was measured, if there is anything to say."""
    if said:
        found.section("measured", "How it was measured")
    for text in said:
        found.paragraph(text)


def plain_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of plain text as HTML."""
    return table(head, [[escape(cell) for cell in row] for row in rows])
