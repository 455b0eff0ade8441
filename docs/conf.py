"""How Sphinx makes the pages of build/docs: `make docs`. It runs the notebooks that it shows."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly

sys.path.insert(0, str(Path(__file__).parent))  # Sphinx leaves it out

import gallery

import pocketsim.api.progress
from pocketsim import __version__
from pocketsim.report.charts import theme

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build"

project = "pocketsim"
version = release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
# Pages link to files that are no pages, too, and draw in Mermaid, which servers of git show.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
html_theme = "furo"
html_title = f"pocketsim {version}"
html_theme_options = {
    # As the report's: what readers have, nothing from the network.
    "light_css_variables": {"font-stack": theme.FONT, "font-stack--headings": theme.FONT},
    "navigation_with_keys": True,
}
html_css_files = ["pages.css"]
html_js_files = ["pages.js"]
# One copy of plotly.js for all pages: nothing is taken from the network.
html_static_path = ["static", str(Path(plotly.__file__).parent / "package_data" / "plotly.min.js")]

# Notebooks run where nothing of them stays, on what is here, with figures for a page.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 60
nb_merge_streams = True
os.environ["PYTHONSTARTUP"] = str(HERE / "kernel.py")
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")])
)


def setup(app: Sphinx) -> None:
    """Make the pages that are generated, and let those with figures load what draws them."""
    app.connect("builder-inited", _generate)
    app.connect("source-read", _show_attachments)
    app.connect("html-page-context", _load_plotly)


def _generate(_app: Sphinx) -> None:
    pocketsim.api.progress.is_watched = lambda: False  # a bar that has ended says nothing
    gallery.write(HERE / "generated", BUILD / "gallery")


def _show_attachments(_app: Sphinx, page: str, source: list[str]) -> None:
    """Put what is attached to cells of a notebook where it is shown; MyST-NB leaves it out."""
    if not page.startswith("notebooks/"):
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        for name, content in cell.get("attachments", {}).items():
            ((kind, data),) = content.items()
            text = text.replace(f"(attachment:{name})", f"(data:{kind};base64,{data})")
        cell["source"] = text
    source[0] = json.dumps(notebook)


def _load_plotly(
    _app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    if page.startswith("notebooks/"):
        # In the head: figures draw themselves where they stand, and the theme loads scripts last.
        script = context["pathto"]("_static/plotly.min.js", 1)
        context["metatags"] = f'{context.get("metatags", "")}\n<script src="{script}"></script>'
