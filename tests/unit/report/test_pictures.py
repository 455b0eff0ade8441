"""Figures for notebooks: plotly's data with a picture beside it, and sliders over figures."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import warnings
from xml.etree import ElementTree as ET

import plotly.express as px
import plotly.graph_objects as go
import plotly.io as pio
import pytest
from plotly.io.base_renderers import MimetypeRenderer

import pocketsim as ps
from pocketsim import testing
from pocketsim.report.paper import pictures

PLOTLY, SVG = "application/vnd.plotly.v1+json", "image/svg+xml"
LINE = {"x": [1, 2], "y": [3, 4]}


@pytest.fixture(autouse=True)
def plotly_data():
    """Figures are shown as a kernel shows them, whatever this machine would open."""
    before = pio.renderers.default
    pio.renderers.default = "plotly_mimetype"
    yield
    pio.renderers.default = before


@pytest.fixture
def line():
    return ps.plot.Figure(px.line(**LINE, title="A line"))


def bundle(figure):
    return figure._repr_mimebundle_()


def test_a_figure_has_plotlys_data_and_a_picture(line):
    found = bundle(line)
    assert set(found) == {PLOTLY, SVG}
    assert found[PLOTLY]["data"][0]["type"] == "scatter"
    root = ET.fromstring(found[SVG])  # noqa: S314 - our own
    assert root.tag.endswith("svg")
    assert float(root.attrib["width"].removesuffix("pt")) == pytest.approx(5.4 * 72 * 1.35)
    shape = [float(root.attrib[side].removesuffix("pt")) for side in ("width", "height")]
    drawn = [float(value) for value in root.attrib["viewBox"].split()[2:]]
    assert shape[0] / shape[1] == pytest.approx(drawn[0] / drawn[1])


def test_a_page_of_a_figure_has_a_language_and_a_title(line, tmp_path):
    path = tmp_path / "figure.html"
    line.write_html(path, include_plotlyjs=False)
    assert '<html lang="en">' in path.read_text()
    assert "<title>A line</title>" in path.read_text()
    untitled = ps.plot.Figure(px.line(**LINE))
    untitled.update_layout(yaxis_title="share<br>of <b>R&amp;D</b>", xaxis_title="rate")
    page = io.StringIO()
    untitled.write_html(page, include_plotlyjs=False)
    assert re.search(r"<title>share of +R&amp;D +against rate</title>", page.getvalue())
    part = line.to_html(full_html=False, include_plotlyjs=False)
    assert "<html" not in part
    assert "<title>" not in part


def test_equal_figures_have_equal_pictures(line):
    assert bundle(line)[SVG] == bundle(ps.plot.Figure(line))[SVG]


def test_without_matplotlib_there_is_plotly_alone(line, monkeypatch):
    monkeypatch.setattr(pictures.importlib.util, "find_spec", lambda name: None)
    assert set(bundle(line)) == {PLOTLY}


@pytest.mark.parametrize(
    "figure",
    [
        px.density_heatmap(**LINE),
        px.scatter({**LINE, "part": ["a", "b"]}, x="x", y="y", facet_col="part"),
    ],
    ids=["a map", "two plots"],
)
def test_what_cannot_be_drawn_is_shown_by_plotly_alone(figure):
    with pytest.warns(UserWarning, match="no picture beside it: not drawn for print"):
        assert set(bundle(ps.plot.Figure(figure))) == {PLOTLY}


def test_a_page_keeps_its_renderer(line):
    class Page(MimetypeRenderer):
        def to_mimebundle(self, fig_dict):
            return {"text/html": fig_dict["layout"]["title"]["text"]}

    pio.renderers["of a page"] = Page()
    pio.renderers.default = "of a page"
    found = bundle(line)
    assert found["text/html"] == "A line"
    assert set(found) == {"text/html", SVG}


def test_a_notebook_displays_both_at_once(line, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, *, raw: shown.append((data, raw)))
    line._ipython_display_()
    ((data, raw),) = shown
    assert raw
    assert set(data) == {PLOTLY, SVG}


def test_a_renderer_that_opens_a_window_is_plotlys(line, monkeypatch):
    opened = []
    monkeypatch.setattr(pio, "show", opened.append)
    pio.renderers.default = "browser"
    line._ipython_display_()
    assert opened == [line]


def test_figures_of_runs_are_such(tmp_path):
    runs = ps.load(
        *(
            testing.run_dir(
                tmp_path, testing.resolved("udp_128b", rate, 128, "udp"), testing.Shape()
            )
            for rate in (1.0, 8.0)
        )
    )
    drawn = [
        *(ps.plot.metric(runs, "success_ratio"), ps.plot.success(runs), ps.plot.fates(runs)),
        *(ps.plot.send_and_store(runs), ps.plot.round_trips(runs), ps.plot.distributions(runs)),
        ps.plot.distribution_functions(runs),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(set(bundle(figure)) == {PLOTLY, SVG} for figure in drawn)
    assert isinstance(drawn[0].update_layout(title="Mine"), ps.plot.Figure)


def test_neither_matplotlib_nor_ipython_is_loaded_before_a_figure_is_shown():
    code = (
        "import sys, pocketsim as ps\n"
        "ps.plot.Figure({'data': [{'y': [1, 2]}]}).to_json()\n"
        "print(sorted({'matplotlib', 'IPython'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


@pytest.fixture
def slid():
    two = px.line(x=[1, 2, 1, 2], y=[3, 4, 5, 6], color=["a", "a", "b", "b"])
    return ps.plot.slider({"1/s": px.line(**LINE, title="A line"), "2/s": two}, "asked for")


def test_a_slider_shows_one_figure_at_a_time(slid):
    assert [trace.visible for trace in slid.data] == [True, False, False]
    (slider,) = slid.layout.sliders
    assert [step.label for step in slider.steps] == ["1/s", "2/s"]
    assert [step.args[0]["visible"] for step in slider.steps] == [
        [True, False, False],
        [False, True, True],
    ]
    assert slid.layout.title.text == "A line"


def test_a_picture_of_a_slider_is_of_what_it_shows(slid):
    alone = ps.plot.Figure(px.line(**LINE, title="A line, asked for: 1/s"))
    assert bundle(slid)[SVG] == bundle(alone)[SVG]


def test_a_slider_changes_none_of_its_figures():
    figure = go.Figure(go.Scatter(y=[1, 2]))
    ps.plot.slider({"a": figure, "b": figure}, "which")
    assert figure.data[0].visible is None
    assert not figure.layout.sliders


def test_a_slider_without_a_figure_is_an_error():
    with pytest.raises(ValueError, match="needs a figure"):
        ps.plot.slider({}, "rate")
