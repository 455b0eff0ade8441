"""Another device on a page: a section of its host's, or a page of its own."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pocketsim.calibration.validate.host import other_tables, tables
from pocketsim.report.page import Page, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.validate.host.other import OtherComparison


def page(other: OtherComparison, title: str, said: Sequence[str]) -> str:
    """Return a page of it alone as HTML; `said` are sentences about it, the last the verdict."""
    found = Page(title)
    found.heading()
    *measured, verdict = said
    found.paragraph(verdict)
    if other.bars:
        found.section("bars", "Bars")
        found.add(_table(tables.BAR_HEAD, tables.bar_rows(other.bars)))
    add(found, other)
    add_measured(found, measured)
    return found.html()


def add(found: Page, other: OtherComparison) -> None:
    """Append the section: a table of all points by both profiles."""
    found.section("other", "Another device")
    found.paragraph(other_tables.NOTE)
    found.add(_table(other_tables.HEAD, other_tables.rows_of(other.rows)))


def add_measured(found: Page, said: Sequence[str]) -> None:
    """Append the section of how it was measured, if there is anything to say."""
    if said:
        found.section("measured", "How it was measured")
    for text in said:
        found.paragraph(text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table(head, [[escape(cell) for cell in row] for row in rows])
