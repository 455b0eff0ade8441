"""Another device on a page: a section of its host's, or a page of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.calibration.host import other_tables
from pocketsim.report.host import page_frame
from pocketsim.report.html.page import Page, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.host.other import OtherComparison


def page(other: OtherComparison, title: str, said: Sequence[str]) -> str:
    """Return a page of it alone as HTML; `said` are sentences about it, the last the verdict."""
    found = Page(title)
    *measured, verdict = said
    page_frame.begin(found, verdict, other.bars)
    add(found, other)
    page_frame.end(found, measured)
    return found.html()


def add(found: Page, other: OtherComparison) -> None:
    """Append the section: a table of all points by both profiles."""
    found.section("other", "Another device")
    found.paragraph(other_tables.NOTE)
    found.add(table(other_tables.HEAD, other_tables.rows_of(other.rows)))
