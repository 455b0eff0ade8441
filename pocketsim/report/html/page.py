"""A page of sections, charts and tables, complete in one file, by jinja2's templates beside it.

What is no `Markup` is text, and escaped. Nothing in a page is loaded from elsewhere, but for
plotly's own source where pages share a file of it. Equal content gives equal bytes: no dates, and
chart ids that are numbered in order.
"""

from __future__ import annotations

import base64
import csv
import functools
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pocketsim.report.charts import theme
from pocketsim.report.runs.metric_words import number
from pocketsim.sim.run.csv_cells import cell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import plotly.graph_objects as go


@dataclass(frozen=True)
class Drawn:
    """A chart on a page: the section that it is in, its number there and on the whole page."""

    section: str
    number_there: int
    number: int
    title: str
    caption: str
    chart: go.Figure
    is_wide: bool


@dataclass
class Page:
    """A page under construction: `body` is HTML and charts, `contents` the ids and titles."""

    title: str
    body: list[Markup | tuple[Drawn, ...]] = field(default_factory=list)
    contents: list[tuple[str, str]] = field(default_factory=list)

    @property
    def charts(self) -> list[Drawn]:
        """Every chart that it has, in order."""
        return [one for part in self.body if isinstance(part, tuple) for one in part]

    def heading(self) -> None:
        """Append its title."""
        self.add(markup("<h1>{}</h1>", self.title))

    def section(self, name: str, title: str) -> None:
        """Start a section; `name` is its anchor."""
        self.contents.append((name, title))
        self.add(markup('<h2 id="{}">{}</h2>', name, title))

    def add(self, html: Markup) -> None:
        """Append HTML."""
        self.body.append(html)

    def paragraph(self, text: str) -> None:
        """Append plain text as a paragraph."""
        self.add(markup("<p>{}</p>", text))

    def figures(self, charts: Sequence[tuple[str, str, go.Figure]], *, wide: bool = False) -> None:
        """Append charts, each with a title and a caption; two abreast unless `wide` or alone."""
        if not charts:
            return
        section = self.contents[-1][0]
        before = self.charts
        there = sum(one.section == section for one in before)
        added = tuple(
            Drawn(section, there + place, len(before) + place, *one, is_wide=wide)
            for place, one in enumerate(charts, start=1)
        )
        self.body.append(added)

    def html(self, plotly_js: str | None = None) -> str:
        """Return the whole page; with `plotly_js`, one that loads plotly's source from there."""
        from plotly.offline import get_plotlyjs

        return rendered(
            "page.html",
            page=self,
            style=Markup(style()),
            plotly_js=plotly_js,
            plotly=Markup("" if plotly_js else get_plotlyjs()),
            figure=_figure,
        )


def style() -> str:
    """Return the style of every page, as CSS."""
    return (Path(__file__).parent / "style.css").read_text(encoding="utf-8")


def script(name: str) -> Markup:
    """Return a script of this folder as an element of a page."""
    return Markup(f"<script>{(Path(__file__).parent / name).read_text(encoding='utf-8')}</script>")


def rendered(template: str, **content: Any) -> Markup:
    """Return what a template of this folder makes of some content."""
    return Markup(templates().get_template(template).render(content))


def markup(form: str, *content: object) -> Markup:
    """Return HTML with some content in the places of `form`, escaped where it is text."""
    return Markup(form).format(*content)


@functools.cache
def templates(*packages: str) -> Environment:
    """Return this folder's templates, and those of other packages, which may extend these."""
    folders = [PackageLoader(package) for package in (*packages, "pocketsim.report.html")]
    made = Environment(loader=ChoiceLoader(folders), autoescape=True, undefined=StrictUndefined)
    made.filters["unbroken"] = unbroken
    return made


def unbroken(text: str) -> str:
    """Return text in which no line ends between a number and its unit."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", text)


def figure(drawn: Drawn, chart: Markup) -> Markup:
    """Return a chart, as HTML, with its title, caption and data."""
    data = base64.b64encode(data_csv(drawn.chart).encode()).decode()
    return rendered("figure.html", drawn=drawn, chart=chart, data=data)


def _figure(drawn: Drawn) -> Markup:
    chart = drawn.chart.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=f"chart-{drawn.number}",
        config=theme.PLOT_OPTIONS,
    )
    return figure(drawn, Markup(chart))


def data_csv(chart: go.Figure) -> str:
    """Return what a chart shows: a row for each point, its intervals, the quartiles of a box."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    names = ("q1", "median", "q3", "lowerfence", "upperfence")
    rows.writerow(("name", "x", "y", "above", "below", *names))
    for trace in chart.data:
        is_lying = getattr(trace, "orientation", None) == "h"
        errors = getattr(trace, "error_x" if is_lying else "error_y", None)
        columns = [
            *(trace.x, getattr(trace, "y", None)),
            *(getattr(errors, side, None) for side in ("array", "arrayminus")),
            *(getattr(trace, name, None) for name in names),
        ]
        for place in range(max(len(column) for column in columns if column is not None)):
            row = (trace.name, *("" if column is None else column[place] for column in columns))
            rows.writerow([cell(one) if isinstance(one, str) else one for one in row])
    return text.getvalue()


def table(
    head: Sequence[str],
    lines: Sequence[Sequence[str]],
    numeric: Sequence[int] = (),
    *,
    prose: bool = False,
) -> Markup:
    """Return a table whose columns in `numeric` are set to the right.

    With `prose` the last column has sentences, and is as wide as these are read.
    """
    return rendered("table.html", head=head, lines=lines, numeric=numeric, prose=prose)


def interval(bounds: tuple[float, float] | None, write: Callable[[float], str] = number) -> Markup:
    """Return the bounds of an interval below the number that they belong to; nothing for none."""
    if bounds is None:
        return Markup()
    return markup('<br><span class="interval">{} to {}</span>', *map(write, bounds))


def folded(summary: str, html: Markup, *, unfold: bool = False) -> Markup:
    """Return `html` behind a line that opens it."""
    form = "<details{}><summary>{}</summary>{}</details>"
    return markup(form, " open" if unfold else "", summary, html)


def tag(text: str, colour: str) -> Markup:
    """Return a word on a coloured ground."""
    return markup('<span class="tag" style="background:{}">{}</span>', colour, text)


_UNIT = re.compile(r"(?<=\d) (?=(%|[µm]?s|min|h|[kM]?B|[kM]bit/s|[kM]B/s|m?[JW]|EUR)(?![\w/]))")
