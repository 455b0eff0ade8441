"""Figures that every viewer of a notebook shows: plotly's data, and a picture of it beside that.

Plotly needs code that a page on GitHub or one made by plain nbconvert does not have. Matplotlib
draws the picture, when a notebook displays the figure; where it is missing there is none.
"""

from __future__ import annotations

import html
import importlib.util
import re
import warnings
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
import plotly.io

if TYPE_CHECKING:
    from collections.abc import Mapping

SVG = "image/svg+xml"


class Figure(go.Figure):  # type: ignore[misc]  # plotly is not annotated
    """A plotly figure that is displayed with a picture, for viewers without plotly.

    `Figure(px.line(frame))` makes one of any figure. Lines, dots, bars and boxes of one plot are
    drawn; what else there is has no picture, and a warning says so.
    """

    def write_html(self, file: Any, **kwargs: Any) -> None:
        """Write a page as plotly does; a whole page has a language and a title, too."""
        opens = kwargs.pop("auto_open", False)
        if hasattr(file, "write"):
            file.write(self.to_html(**kwargs))
            return
        super().write_html(file, **kwargs)
        path = Path(file)
        path.write_text(self._titled(path.read_text("utf-8")), "utf-8")
        if opens:
            webbrowser.open(path.absolute().as_uri())

    def to_html(self, **kwargs: Any) -> str:
        """Return a page as plotly does; a whole page has a language and a title, too."""
        return self._titled(super().to_html(**kwargs))

    def _titled(self, page: str) -> str:
        layout = self.layout
        axes = [axis.title.text for axis in (layout.yaxis, layout.xaxis)]
        title = layout.title.text or " against ".join(filter(None, axes)) or "figure"
        title = html.escape(html.unescape(_TAG.sub(" ", title)))
        return page.replace("<html>", '<html lang="en">', 1).replace(
            "<head>", f"<head><title>{title}</title>", 1
        )

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(*args, **kwargs)
        return bundle | _picture(self) if bundle else bundle

    def _ipython_display_(self) -> None:
        from IPython.display import display

        shown = plotly.io.renderers.render_on_display and plotly.io.renderers.default
        bundle = self._repr_mimebundle_() if shown else {}
        if bundle:
            display(bundle, raw=True)  # type: ignore[no-untyped-call]  # of IPython
        else:  # a window of its own, or nothing
            super()._ipython_display_()


def slider(figures: Mapping[str, go.Figure], name: str) -> Figure:
    """Return figures as one, of which a slider shows one at a time; the first to begin with.

    `figures` are by what the slider says of them, `name` is what it changes. Axes, title and size
    are the first figure's. Nothing is computed when it moves. Raises ValueError without a figure.

    >>> import plotly.express as px
    >>> two = slider({"1/s": px.line([1, 2]), "2/s": px.line([2, 4])}, "rate")
    >>> [trace.visible for trace in two.data]
    [True, False]
    """
    if not figures:
        raise ValueError("a slider needs a figure or more")
    owners = [label for label, figure in figures.items() for _ in figure.data]
    first = next(iter(figures))
    found = Figure(data=[trace for figure in figures.values() for trace in figure.data])
    found.layout = figures[first].layout
    for trace, owner in zip(found.data, owners, strict=True):
        trace.visible = owner == first
    steps = [
        {
            "label": label,
            "method": "restyle",
            "args": [{"visible": [owner == label for owner in owners]}],
        }
        for label in figures
    ]
    prefix = {"prefix": f"{name}: "}
    # Below the legend and the title of the axis.
    found.update_layout(
        sliders=[{"steps": steps, "currentvalue": prefix, "active": 0, "pad": {"t": 60}}]
    )
    return found


def _picture(figure: Figure) -> dict[str, str]:
    if importlib.util.find_spec("matplotlib") is None:
        return {}
    from pocketsim.report.paper import print_figures

    try:
        drawn = print_figures.pictures(figure, "", _WIDTH_IN, ["svg"])[".svg"].decode()
    except Exception as error:  # noqa: BLE001 - whatever it is, plotly shows the figure
        warnings.warn(f"this figure has no picture beside it: {error}", stacklevel=2)
        return {}
    return {SVG: _SIZE.sub(_larger, drawn, count=2)}


def _larger(found: re.Match[str]) -> str:
    return f'{found[1]}="{_LARGER * float(found[2]):g}pt"'


_TAG = re.compile("<[^>]*>")
_WIDTH_IN = 5.4
_LARGER = 1.35
"""Letters are 7 pt for print, which is little on a screen."""
_SIZE = re.compile(r'\b(width|height)="([\d.]+)pt"')
