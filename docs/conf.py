"""How Sphinx makes the pages of build/docs: `make docs`."""

from pocketsim import __version__

project = "pocketsim"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
# Pages link to files that are no pages, too, and draw in Mermaid, which servers of git show.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
html_theme = "alabaster"
html_theme_options = {"page_width": "1200px", "description": "Phones that trade, simulated"}
