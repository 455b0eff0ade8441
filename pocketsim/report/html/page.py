"""HTML without a template engine: a page of sections, charts and tables, complete in one file.

Nothing in it is loaded from elsewhere, but for plotly's own source where pages share a file of it.
Equal content gives equal bytes: no dates, and chart ids that are numbered in order.
"""

from __future__ import annotations

import base64
import csv
import io
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pocketsim.report.charts import theme
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
    body: list[str | tuple[Drawn, ...]] = field(default_factory=list)
    contents: list[tuple[str, str]] = field(default_factory=list)

    @property
    def charts(self) -> list[Drawn]:
        """Every chart that it has, in order."""
        return [one for part in self.body if isinstance(part, tuple) for one in part]

    def heading(self) -> None:
        """Append its title."""
        self.body.append(f"<h1>{escape(self.title)}</h1>")

    def section(self, name: str, title: str) -> None:
        """Start a section; `name` is its anchor."""
        self.contents.append((name, title))
        self.body.append(f'<h2 id="{name}">{escape(title)}</h2>')

    def add(self, html: str) -> None:
        """Append HTML."""
        self.body.append(html)

    def paragraph(self, text: str) -> None:
        """Append plain text as a paragraph."""
        self.body.append(f"<p>{escape(text)}</p>")

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

        draws = (
            f'<script src="{escape(plotly_js)}"></script>'
            if plotly_js
            else f"<script>{get_plotlyjs()}</script>"
        )
        style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
        links = "".join(f'<a href="#{at}">{escape(title)}</a>' for at, title in self.contents)
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{style}</style>"
            f"{draws}</head>\n"
            f'<body><div class="page"><nav><b>CONTENTS</b>{links}</nav><main>\n'
            + "\n".join(part if isinstance(part, str) else _figures(part) for part in self.body)
            + "\n</main></div></body></html>\n"
        )


def _figures(charts: Sequence[Drawn]) -> str:
    kind = "charts wide" if charts[0].is_wide or len(charts) == 1 else "charts"
    return f'<div class="{kind}">{"".join(map(_figure, charts))}</div>'


def _figure(drawn: Drawn) -> str:
    div = drawn.chart.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=f"chart-{drawn.number}",
        config=theme.PLOT_OPTIONS,
    )
    name = f"chart-{drawn.number}.csv"
    data = base64.b64encode(data_csv(drawn.chart).encode()).decode()
    link = f'<a class="data" download="{name}" href="data:text/csv;base64,{data}">data</a>'
    head = f'<h3>{escape(drawn.title)}{link}</h3><p class="caption">{escape(drawn.caption)}</p>'
    said = escape(f"{drawn.title}: {drawn.caption}")
    return f'<figure>{head}<div role="img" aria-label="{said}">{div}</div></figure>'


def data_csv(chart: go.Figure) -> str:
    """Return what a chart shows: a row for each point, its intervals, the quartiles of a box."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    names = ("q1", "median", "q3", "lowerfence", "upperfence")
    rows.writerow(("name", "x", "y", "above", "below", *names))
    for trace in chart.data:
        errors = getattr(trace, "error_y", None)
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
) -> str:
    """Return a table; cells are HTML already, columns in `numeric` are set to the right.

    With `prose` the last column has sentences, and is as wide as these are read.
    """

    def cells(tag: str, line: Sequence[str]) -> str:
        sides = (' class="n"' if place in numeric else "" for place in range(len(line)))
        return "".join(
            f"<{tag}{side}>{cell}</{tag}>" for side, cell in zip(sides, line, strict=True)
        )

    rows = "".join(f"<tr>{cells('td', line)}</tr>" for line in lines)
    top = f"<thead><tr>{cells('th', head)}</tr></thead>"
    kind = ' class="prose"' if prose else ""
    return f'<div class="scroll"><table{kind}>{top}<tbody>{rows}</tbody></table></div>'


def number(value: float) -> str:
    """Return a number for a table, with as many digits as a reader needs."""
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM or value == int(value) else f"{value:.3g}"


def interval(bounds: tuple[float, float] | None, write: Callable[[float], str] = number) -> str:
    """Return the bounds of an interval below the number that they belong to; nothing for none."""
    if bounds is None:
        return ""
    low, high = (write(bound) for bound in bounds)
    return f'<br><span class="interval">{low} to {high}</span>'


def folded(summary: str, html: str, *, unfold: bool = False) -> str:
    """Return `html` behind a line that opens it."""
    return (
        f"<details{' open' if unfold else ''}><summary>{escape(summary)}</summary>{html}</details>"
    )


def tag(text: str, colour: str) -> str:
    """Return a word on a coloured ground."""
    return f'<span class="tag" style="background:{colour}">{escape(text)}</span>'


_WHOLE_FROM = 1000
