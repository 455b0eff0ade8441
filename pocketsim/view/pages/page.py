"""What all pages share: their frame, charts as JSON for the script, and addresses of each other."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup

from pocketsim.report.charts import theme
from pocketsim.report.html.page import figure, markup, style, templates

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from pocketsim.report.html.page import Drawn, Page

    Way = Sequence[tuple[str, str]]
    """From the first page to this one: words and addresses."""


@dataclass(frozen=True)
class File:
    """Something that pages load: its content and its media type."""

    content: str
    media_type: str


def whole(page: Page, way: Way) -> str:
    """Return a page as HTML, without any script or style in it."""
    return rendered("view.html", page=page, way=way, figure=_figure, style_id=_style_id())


def rendered(template: str, **content: Any) -> Markup:
    """Return what a template of pages makes of some content."""
    return Markup(templates("pocketsim.view.pages").get_template(template).render(content))


def chart(drawn: go.Figure, name: str) -> Markup:
    """Return a chart that the script draws; `name` is its id."""
    return rendered("chart.html", chart=plotted(drawn), name=name, height_px=drawn.layout.height)


def framed(drawn: go.Figure, name: str, label: str) -> Markup:
    """Return a chart alone in a frame; `label` says what it is to who does not see it.

    On a narrow screen one that needs more is moved sideways.
    """
    return rendered("framed.html", chart=chart(drawn, name), label=label)


def plotted(drawn: go.Figure) -> dict[str, Any]:
    """Return what the script draws a chart of."""
    known: dict[str, Any] = json.loads(drawn.to_json())
    layout = {key: value for key, value in known["layout"].items() if key != "template"}
    return {"data": known["data"], "layout": layout, "config": theme.PLOT_OPTIONS}


def address(path: str, **asked: str | int) -> str:
    """Return the address of a page."""
    return f"{path}?{urlencode(asked)}"


def link(words: str, to: str) -> Markup:
    """Return a link."""
    return markup('<a href="{}">{}</a>', to, words)


def files() -> dict[str, File]:
    """Return what pages load, by address."""
    from plotly.offline import get_plotlyjs

    own = {path.name: path.read_text(encoding="utf-8") for path in _STATIC.iterdir()}
    return {
        "/style.css": File(f"{style()}\n{own['view.css']}", "text/css"),
        "/view.js": File(own["view.js"], "text/javascript"),
        "/favicon.ico": File(_ICON, "image/svg+xml"),
        "/plotly.js": File(get_plotlyjs(), "text/javascript"),
    }


@functools.cache
def _style_id() -> str:
    """Return the id of the style for maps that plotly puts into a page that has none of that id.

    Pages have no maps, and take no style but their own.
    """
    from plotly.offline import get_plotlyjs

    found = re.search(r'getElementById\("([0-9a-f]{64})"\)', get_plotlyjs())
    return found[1] if found else "style"


def _figure(drawn: Drawn) -> Markup:
    return figure(drawn, chart(drawn.chart, f"chart-{drawn.number}"))


_ICON = '<svg xmlns="http://www.w3.org/2000/svg"><circle cx="8" cy="8" r="7" fill="#0072b2"/></svg>'
ALL_RUNS = ("All runs", "/")
_STATIC = Path(__file__).parent / "static"
