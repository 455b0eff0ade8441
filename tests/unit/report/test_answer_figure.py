"""One figure of one metric for a paper: from the runs' numbers, a column wide, whole."""

from __future__ import annotations

import csv
import io
import re
from xml.etree import ElementTree as ET

import pytest

import pocketsim as ps
from pocketsim import testing
from pocketsim.report.paper import answer_figure, print_figures
from pocketsim.report.runs.asked import Asked
from pocketsim.sim.base.errors import EnvironmentMissingError, UserError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run_dirs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [
        testing.run_dir(
            folder,
            testing.resolved("study", rate, 100, mode),
            testing.Shape(lost_ratio=lost * rate / 10),
        )
        for mode, lost in (("udp", 0.9), ("quic_keep", 0.0))
        for rate in (1.0, 4.0, 8.0)
    ]


def figure(run_dirs, **said):
    return answer_figure.of_runs(run_dirs, Asked(**said))


def points(drawn):
    (axes,) = drawn.axes
    return {
        container.get_label() or place: container[0].get_ydata().tolist()
        for place, container in enumerate(axes.containers)
    }


def test_what_is_drawn_are_the_metrics_of_the_runs(run_dirs):
    drawn = figure(run_dirs, metric="success_ratio").draw()
    means = [
        [100 * ps.load(path)[0].metrics["metrics"]["success_ratio"]["mean"] for path in group]
        for group in (run_dirs[:3], run_dirs[3:])
    ]
    assert sorted(points(drawn).values()) == [pytest.approx(one) for one in sorted(means)]
    (axes,) = drawn.axes
    assert axes.get_ylabel().replace("\n", " ") == "Share stored of what was sent (%)"
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] <= 105


def test_the_folder_is_a_figure_its_data_caption_and_methods(run_dirs):
    files = figure(run_dirs, metric="success_ratio").files()
    assert set(files) == {
        *("figure.svg", "figure.pdf", "figure.csv", "captions.md"),
        *("methods.md", "methods.tex", "references.bib"),
    }
    svg = ET.fromstring(files["figure.svg"])  # noqa: S314 - our own
    assert float(svg.attrib["width"].removesuffix("pt")) == 72 * print_figures.SINGLE_IN
    assert b"/Type3" not in files["figure.pdf"]
    assert not re.search(rb"/CreationDate|/Producer", files["figure.pdf"])
    rows = list(csv.DictReader(io.StringIO(files["figure.csv"].decode())))
    assert len(rows) == 6
    assert all(float(row["low"]) <= float(row["y"]) <= float(row["high"]) for row in rows)
    caption = files["captions.md"].decode()
    assert "At 8/s, the share stored of what was sent is 100 %" in caption
    assert "No phone has run the device probe yet." in caption
    assert files == figure(run_dirs, metric="success_ratio").files(), "equal runs, equal bytes"


def test_points_without_an_order_lie_below_each_other(run_dirs):
    drawn = figure([run_dirs[2], run_dirs[5]], metric="success_ratio").draw()
    (axes,) = drawn.axes
    assert {label.get_text() for label in axes.get_yticklabels()} == {"UDP", "quic_keep"}
    assert axes.get_xlabel() == "Share stored of what was sent (%)"


def test_nothing_is_cut_off(run_dirs):
    with print_figures.style():
        for chosen in (run_dirs, [run_dirs[2], run_dirs[5]]):
            drawn = figure(chosen, metric="success_ratio").draw()
            drawn.draw_without_rendering()
            (axes,) = drawn.axes
            box, page = axes.get_tightbbox(), drawn.bbox
            assert box.x0 >= -0.5
            assert box.y0 >= -0.5
            assert box.x1 <= page.x1 + 0.5
            assert box.y1 <= page.y1 + 0.5


def test_a_notebook_and_a_script_have_it_in_one_line(run_dirs, tmp_path):
    runs = ps.load(*run_dirs)
    found = ps.plot.paper(runs, "rtt_ms_p50", x="workload.rate", by="transport.mode")
    paths = found.save(tmp_path / "new" / "figures")
    assert found.save(tmp_path / "new" / "figures") == paths, "over those of the last time"
    assert sorted(path.name for path in paths) == sorted(
        path.name for path in (tmp_path / "new" / "figures").iterdir()
    )
    assert found._repr_svg_().encode() == (tmp_path / "new" / "figures" / "figure.svg").read_bytes()


def test_what_is_not_there_is_refused_with_the_nearest(run_dirs):
    with pytest.raises(UserError, match=r"did you mean success_ratio"):
        figure(run_dirs, metric="succes_ratio")


def test_without_matplotlib_it_says_what_to_install(run_dirs, monkeypatch):
    monkeypatch.setattr(print_figures.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentMissingError, match=r"pocketsim\[paper\]"):
        figure(run_dirs)


def test_the_finding_is_that_of_the_page(run_dirs):
    text = ps.load(*run_dirs).finding("success_ratio")
    assert text.startswith("At 8/s, the share stored of what was sent is 100 %")
