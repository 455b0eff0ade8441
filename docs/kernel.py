"""What a notebook's kernel runs first when a page is made of it; students have none of this."""

import shutil
from pathlib import Path

import plotly.io
from plotly.io.base_renderers import MimetypeRenderer

import pocketsim.api.progress
from pocketsim.api.documents import catalog


class _OnAPage(MimetypeRenderer):
    """A figure as HTML that takes plotly.js from its page, and nothing from the network."""

    def to_mimebundle(self, fig_dict: dict[str, object]) -> dict[str, str]:
        return {
            "text/html": plotly.io.to_html(
                fig_dict,
                config={"responsive": True, "displaylogo": False, "plotlyServerURL": ""},
                include_plotlyjs=False,
                include_mathjax=False,
                full_html=False,
                default_width="100%",
                validate=False,
            )
        }


plotly.io.renderers["page"] = _OnAPage()
plotly.io.renderers.default = "page"
pocketsim.api.progress.is_watched = lambda: False  # a bar that has ended says nothing

for _data in catalog.notebooks():  # what a notebook reads lies beside it
    shutil.copy(_data, Path.cwd())
