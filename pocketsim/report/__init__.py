"""The report: one HTML file with everything about a set of runs, or its figures for a paper.

It reads run directories and runs nothing. What stands where is decided in `page_layout`; a
page is written here, a folder for a paper is made in `paper`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.html.page import Page
from pocketsim.report.page_layout import arranged
from pocketsim.report.runs.asked import BY_RULE, Asked
from pocketsim.report.runs.run import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import plotly.graph_objects as go

    from pocketsim.calibration.validate.validation import ValidationResult


def write_report(
    run_dirs: Iterable[Path],
    out_html: Path,
    validation: ValidationResult | None = None,
    title: str | None = None,
    plotly_js: str | None = None,
    asked: Asked = BY_RULE,
) -> None:
    """Write the report on `run_dirs`, complete run directories, to the file `out_html`.

    Equal runs give equal bytes, and the file needs nothing else to be shown, but for what draws
    charts where `plotly_js` says from which file beside it that is loaded. Raises ValueError
    without runs, OSError for what is no run directory, ScenarioError for a run of an older version,
    and UserError where no run has what is `asked` for.
    """
    runs = load(run_dirs, validation.run_dirs if validation else ())
    page = arranged(runs, validation, title, asked)
    out_html.write_text(page.html(plotly_js), encoding="utf-8")


def chart_page(title: str, chart: go.Figure, caption: str, said: Sequence[str] = ()) -> str:
    """Return a page about one chart, as HTML; `said` are paragraphs before it."""
    page = Page(title)
    page.heading()
    for text in said:
        page.paragraph(text)
    page.section("chart", "The chart")
    page.figures([(title, caption, chart)])
    return page.html()
