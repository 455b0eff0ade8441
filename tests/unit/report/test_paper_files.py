"""Figures for papers: whole, the same bytes, readable without colour; methods true to the runs."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib.colors
import plotly.graph_objects as go
import pytest

from pocketsim import testing
from pocketsim.calibration.validate import published
from pocketsim.report.answer.limits import UNPROBED
from pocketsim.report.html.page import data_csv
from pocketsim.report.page_layout import arranged
from pocketsim.report.paper import methods, paper_files, print_figures, prose
from pocketsim.report.paper.line_styles import line_styles
from pocketsim.report.runs.run import load
from pocketsim.sim.run import results
from support.towns import town_runs

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"
STARTS = ("rates", "success", "round-trips", "distributions", "outcomes", "block-sizes")
BREAKS_S = (25.1, 14, 0.02, 25.1, 0.0)


def several(folder: Path) -> list[Path]:
    """Invented runs of which a report has charts of every kind."""
    swept = [
        ("udp_128b", "udp", 128, (1.0, 8.0, 512.0), testing.Shape(lost_ratio=0.1)),
        ("iroh_keep_128b", "quic_keep", 128, (32.0, 64.0), testing.Shape(breaks_s=BREAKS_S)),
        *(("rate", name, 512, (5.0, 50.0), testing.Shape()) for name in ("udp", "quic_keep")),
    ]
    plain = [
        testing.run_dir(folder, testing.resolved(scenario, rate, size, transport), shape)
        for scenario, transport, size, rates, shape in swept
        for rate in rates
    ]
    key = "network.access.an_access_network_with_a_long_name.latency"
    grid = [
        testing.run_dir(
            folder, testing.resolved("grid", 8.0, 10, mode, axes={key: value}), testing.Shape()
        )
        for value in (0.001, 0.002, 0.1)
        for mode in ("udp", "eva")
    ]
    named = [
        testing.run_dir(
            folder,
            testing.resolved("names", 8.0, 10, axes={"devices[0].access": f"a_long_name_{name}"}),
            testing.Shape(),
        )
        for name in ("of_one", "of_another", "of_a_third")
    ]
    return [*plain, *grid, *named, *town_runs(folder)]


@pytest.fixture(scope="module")
def run_dirs(tmp_path_factory) -> list[Path]:
    return several(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def files(run_dirs) -> dict[str, bytes]:
    return paper_files.files(run_dirs)


@pytest.fixture(scope="module")
def figures(charts):
    """Return every chart of the report with its figure, laid out."""
    found = []
    with print_figures.style():
        for one in charts:
            figure = print_figures.drawn(one.chart, one.caption, paper_files._width_in(one))
            figure.draw_without_rendering()
            found.append((one, figure))
        yield found


@pytest.fixture(scope="module")
def charts(run_dirs):
    return arranged(load(run_dirs)).charts


def suffixed(files, suffix):
    return {name: content for name, content in files.items() if name.endswith(suffix)}


def test_every_chart_of_the_report_is_a_figure_with_its_data(files, charts):
    names = [f"{one.section}_{one.number_there}" for one in charts]
    assert len(names) == len(set(names)) >= 20
    expected = {f"{name}{suffix}" for name in names for suffix in (".svg", ".pdf", ".csv")}
    others = {"captions.md", "methods.md", "methods.tex", "references.bib"}
    assert set(files) == expected | others
    others = {"completion", "ladders", "towns", "fates"}
    assert {name.partition("_")[0] for name in names} == {*STARTS, *others}
    captions = files["captions.md"].decode()
    assert re.findall(r"^## (.*)$", captions, re.MULTILINE) == names


def test_pdfs_have_their_fonts_and_no_date(files):
    for content in suffixed(files, ".pdf").values():
        assert content.startswith(b"%PDF-1.")
        assert content.rstrip().endswith(b"%%EOF")
        assert b"/FontFile2" in content
        assert b"/Type3" not in content
        for word in (b"Date", b"Producer", b"Creator"):
            assert b"/" + word not in content
            assert b"/Creation" + word not in content


def test_svgs_are_whole_and_a_column_or_a_page_wide(files):
    widths = set()
    for content in suffixed(files, ".svg").values():
        root = ET.fromstring(content)  # noqa: S314 - our own
        assert root.tag == f"{SVG}svg"
        widths.add(float(root.attrib["width"].removesuffix("pt")))
        assert not list(root.iter(f"{SVG}text")), "fonts of the reader's"
        links = re.findall(rb'href="([^"]*)"', content)
        assert links
        assert all(link.startswith(b"#") for link in links)
        assert b"<dc:date>" not in content
    assert widths == {252.0, 518.4}


def test_equal_runs_give_equal_bytes_whatever_a_user_has_set(run_dirs, files, root, tmp_path):
    (tmp_path / "matplotlibrc").write_text("font.size: 20\npdf.fonttype: 3\n")
    code = (
        "import hashlib, pathlib, sys\nfrom pocketsim.report.paper import paper_files\n"
        "for name, content in paper_files.files(map(pathlib.Path, sys.argv[1:])).items():\n"
        "    print(name, hashlib.sha256(content).hexdigest())"
    )
    few = [path for path in reversed(run_dirs) if path.parent.name in {"udp_128b", "town"}]
    done = subprocess.run(
        [sys.executable, "-c", code, *few],
        env={
            **os.environ,
            "PYTHONPATH": str(root),
            "PYTHONHASHSEED": "7",
            "SOURCE_DATE_EPOCH": "86400",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    here = paper_files.files(few)
    assert dict(line.split() for line in done.stdout.splitlines()) == {
        name: hashlib.sha256(content).hexdigest() for name, content in here.items()
    }
    assert here["rates_1.pdf"] in files.values()


def texts(figure):
    """Return every text that a figure shows."""
    (axes,) = figure.axes
    labels = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    inside = [label for label in labels if is_in_view(axes, label)]
    legends = [text for legend in figure.legends for text in legend.get_texts()]
    every = [*inside, axes.xaxis.label, axes.yaxis.label, *legends, *axes.texts]
    return [text for text in every if text.get_text()]


def is_in_view(axes, label):
    x, y = label.get_position()
    if label in axes.get_xticklabels():
        low, high = sorted(axes.get_xlim())
        return low <= x <= high
    low, high = sorted(axes.get_ylim())
    return low <= y <= high


def overlap(one, other):
    return (
        min(one.x1, other.x1) - max(one.x0, other.x0) > 0.5
        and min(one.y1, other.y1) - max(one.y0, other.y0) > 0.5
    )


def test_nothing_is_cut_off_and_no_text_lies_on_another(figures):
    for one, figure in figures:
        boxes = {text: text.get_window_extent() for text in texts(figure)}
        name = f"{one.section}_{one.number_there}"
        page = figure.bbox
        for text, box in boxes.items():
            inside = box.x0 >= -0.5 and box.y0 >= -0.5
            inside = inside and box.x1 <= page.x1 + 0.5 and box.y1 <= page.y1 + 0.5
            assert inside, (name, text.get_text(), box, page)
        for (one_text, one_box), (other_text, other_box) in itertools.combinations(
            boxes.items(), 2
        ):
            assert not overlap(one_box, other_box), (
                name,
                one_text.get_text(),
                other_text.get_text(),
            )
        (axes,) = figure.axes
        assert axes.get_position().height * page.height > 60 or one.section == "fates", name


def test_a_long_legend_makes_a_figure_higher_not_its_plot_lower():
    def chart(names):
        found = go.Figure()
        for name in names:
            found.add_scatter(x=[1, 2], y=[1, 2], name=name)
        return found

    heights = []
    for count in (2, 12):
        with print_figures.style():
            names = [f"a rather long name of line number {number}" for number in range(count)]
            figure = print_figures.drawn(chart(names), "", print_figures.SINGLE_IN)
            figure.draw_without_rendering()
        (axes,) = figure.axes
        heights.append((figure.bbox.height, axes.get_position().height * figure.bbox.height))
    assert heights[1][0] > heights[0][0] + 60
    assert heights[1][1] == pytest.approx(heights[0][1], abs=6)


def grey(colour):
    red, green, blue = matplotlib.colors.to_rgb(colour)
    return 0.3 * red + 0.59 * green + 0.11 * blue


def test_lines_of_a_legend_differ_without_colour(charts):
    compared = 0
    for one in charts:
        traces = list(zip(one.chart.data, line_styles(one.chart.data), strict=True))
        shown = [(trace, look) for trace, look in traces if trace.showlegend is not False]
        for (trace, look), (_, other) in itertools.combinations(shown, 2):
            if trace.type == "scatter":
                differs = (look.line, look.marker, look.is_open) != (
                    other.line,
                    other.marker,
                    other.is_open,
                )
            else:
                differs = look.hatch != other.hatch
            in_grey = abs(grey(look.colour) - grey(other.colour)) > 0.25
            assert differs or in_grey, (one.title, one.caption, look, other)
            compared += 1
    assert compared > 20


def test_axes_have_titles_and_their_values_units(figures):
    for one, figure in figures:
        (axes,) = figure.axes
        for axis in (axes.xaxis, axes.yaxis):
            names = any(re.search("[a-z]", label.get_text()) for label in axis.get_ticklabels())
            names = names or any("/s" in label.get_text() for label in axis.get_ticklabels())
            assert axis.get_label_text() or names, (one.title, one.caption)


def test_error_bars_are_the_runs_intervals(tmp_path):
    made = [
        testing.run_dir(
            tmp_path, testing.resolved("udp_128b", rate, 128), testing.Shape(lost_ratio=0.1)
        )
        for rate in (8.0, 64.0)
    ]
    runs = load(made)
    (chart,) = (one.chart for one in arranged(runs).charts if one.section == "round-trips")
    with print_figures.style():
        (axes,) = print_figures.drawn(chart, "", print_figures.SINGLE_IN).axes
    found = [
        (segment[0][0], pytest.approx((segment[0][1], segment[1][1])))
        for lines in axes.collections
        for segment in lines.get_segments()
    ]
    expected = [
        (run.rate_per_s, run.bounds(name)) for name in ("rtt_ms_p50", "rtt_ms_p95") for run in runs
    ]
    assert all(bounds for _, bounds in expected)
    assert found == expected


def test_stacked_bars_start_where_the_one_before_ends():
    chart = go.Figure()
    chart.add_bar(x=[10, 20], y=["a", "b"], orientation="h", name="one")
    chart.add_bar(x=[1, 2], y=["a", "b"], orientation="h", name="two")
    with print_figures.style():
        (axes,) = print_figures.drawn(chart, "share, %", print_figures.SINGLE_IN).axes
    bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    assert bars == [(0, 10), (0, 20), (10, 1), (20, 2)]
    assert axes.get_xlabel() == "share, %"


@pytest.mark.parametrize("trace", [go.Heatmap(z=[[1]]), go.Histogram(x=[1])])
def test_unsupported_traces_are_an_error(trace):
    with print_figures.style(), pytest.raises(TypeError, match="not drawn for print"):
        print_figures.drawn(go.Figure([trace]), "", print_figures.SINGLE_IN)


def said(*found, **changes):
    """Return the methods paragraph of runs, some of whose sections are replaced."""
    runs = [replace(run, resolved={**run.resolved, **changes}) for run in load(found)]
    return prose.markdown(methods.paragraph(runs))


def one_run(folder, repetitions=5):
    resolved = testing.resolved("mine", 16.0, 100, repetitions=repetitions)
    return testing.run_dir(folder, resolved, testing.Shape())


def test_methods_say_what_the_manifest_says(tmp_path):
    path = one_run(tmp_path)
    text = said(path)
    manifest = results.read_manifest(path)
    assert text.count("\n") == 1
    for name, setting in {
        "seed": "run.seed",
        "repetitions": "run.repetitions",
        "payload": "workload.payload",
    }.items():
        value = manifest["scenario"][setting]["value"]
        assert re.search(rf"{value} {name}|{name} {value}\b", text), name
    for part in ("`mine`", '"Invented: mine"', "UDP", "2 phones", "rate 16/s", "25 s of simulated"):
        assert part in text
    for kind in ("profiles", "implementation"):
        for name in manifest[kind]:
            assert f"`{name}`" in text


def test_methods_say_every_version_and_build(tmp_path):
    path = one_run(tmp_path)
    versions = {
        "pocketsim": "9.8.7",
        "build": "abc",
        "numpy": "2.9",
        "scipy": "1.9",
        "simgrid": "4",
    }
    flow = {**load([path])[0].resolved["run"], "fidelity": "flow"}
    text = said(path, run=flow, versions=versions, engine_options={"network/model": "CM02"})
    for part in ("pocketsim 9.8.7 (build `abc`)", "SimGrid 4 ", "NumPy 2.9", "SciPy 1.9"):
        assert part in text
    assert "(network/model CM02)" in text
    runs = [
        replace(run, resolved={**run.resolved, "versions": {**versions, "build": build}})
        for build in ("new", "old")
        for run in load([path])
    ]
    assert "(build `new and old`)" in prose.markdown(methods.paragraph(runs))


def test_methods_say_what_keeps_the_time_of_links_and_cores(tmp_path):
    path = one_run(tmp_path)
    text = said(path)
    assert "radios are finite FIFO queues" in text
    assert "SimGrid" not in text
    flow = {**load([path])[0].resolved["run"], "fidelity": "flow"}
    text = said(path, run=flow, versions={"pocketsim": "9", "build": "abc", "simgrid": "4.1"})
    assert "datagrams are flows of SimGrid" in text
    assert "FIFO" not in text


def test_methods_say_what_profiles_rest_on_and_do_not_claim(tmp_path):
    text = said(one_run(tmp_path))
    assert re.search(
        r"`invented` \(Invented phone, .* no probe has run on it; SHA-256 `0{12}`", text
    )
    assert re.search(r"has \d+ numbers: \d+ \w+, \d+ \w+", text)
    assert UNPROBED in text
    assert "Invented phone does not claim: anything about a real phone." in text
    assert "Nothing here has been compared with a measurement." in text


def test_of_a_phone_that_was_probed_methods_say_so(tmp_path):
    path = one_run(tmp_path)
    profile = testing.profile()
    profile["device"]["probe"] = "0.2.0"
    text = said(path, profiles={"mine": profile})
    assert "probe 0.2.0 has run on it" in text
    assert UNPROBED not in text


def test_one_repetition_has_no_intervals_to_explain(tmp_path):
    assert "Student" in said(one_run(tmp_path))
    assert "Student" not in said(one_run(tmp_path / "one", repetitions=1))


def test_costs_are_said_to_be_drawn_where_they_are(tmp_path):
    path = one_run(tmp_path)
    (run,) = load([path])
    assert "costs at their means" in said(path)
    drawn = {**run.resolved["run"], "draw": "posterior"}
    assert "costs drawn from their uncertainty" in said(path, run=drawn)


def test_published_figures_are_counted_by_what_they_prove(tmp_path):
    path = testing.run_dir(tmp_path, testing.resolved("udp_128b", 64.0, 128), testing.Shape())
    assert "Nothing here has been compared" in said(path)  # the scenario is not the project's own
    pieces = methods.paragraph(load([path], [path]))
    text = prose.markdown(pieces)
    rows = [
        row
        for row in published.rows()
        if row.target.scenario.endswith("/udp_128b.toml")
        and row.value is not None
        and row.target.rate_min_per_s <= 64 <= row.target.rate_max_per_s
    ]
    counts = {basis: sum(row.basis == basis for row in rows) for basis in {r.basis for r in rows}}
    assert f"{len(rows)} published figures of Tudor Chirila [@throughput_thesis]" in text
    assert all(f"{count} {basis}" in text for basis, count in counts.items())
    assert "Throughput Analysis" in prose.bibliography(pieces, "1")


def test_every_citation_is_in_the_bibliography_and_nothing_else(files):
    cited = set(re.findall(r"\[@(\w+)\]", files["methods.md"].decode()))
    in_latex = set(re.findall(r"\\cite\{(\w+)\}", files["methods.tex"].decode()))
    entries = re.findall(r"^@\w+\{(\w+),$", files["references.bib"].decode(), re.MULTILINE)
    assert cited == in_latex == set(entries)
    assert len(entries) == len(set(entries))
    assert cited >= {"pocketsim", "trustchain"}
    assert "VERSION" not in files["references.bib"].decode()
    assert "{The pocketsim authors}" in files["references.bib"].decode()


def test_bibtex_is_well_formed(files):
    for entry in files["references.bib"].decode().split("\n\n"):
        assert entry.count("{") == entry.count("}")
        assert re.search(r"^  author = \{.+\},$", entry, re.MULTILINE)
        assert re.search(r"^  title = \{.+\},$", entry, re.MULTILINE)


def test_text_is_set_as_text():
    pieces = ['50 % of "a_b" & {c} \\ *', prose.Code("x_y"), prose.Cite("numpy")]
    assert prose.latex(pieces) == (
        "50 \\% of ``a\\_b'' \\& \\{c\\} \\textbackslash{} *\\texttt{x\\_y}~\\cite{numpy}\n"
    )
    assert prose.markdown(pieces) == '50 % of "a\\_b" & {c} \\\\ \\*`x_y` [@numpy]\n'


def test_titles_of_others_are_text_in_captions():
    hostile = "# *a*\n\n![x](http://e.org) <script>`b` $x$ | c_d & ~~e~~"
    said = prose.plain(hostile)
    assert "\n" not in said
    assert re.sub(r"\\(.)", r"\1", said) == " ".join(hostile.split())
    assert not re.search(r"(?<!\\)[`*_\[\]<>#!|$~&]", said)
    for begins in ("- a", "+ a", "1. a", "2) a", "=== a", "> a"):
        assert re.match(r"\d*\\", prose.plain(begins)), begins
    assert prose.plain("udp-128b, 1.5 ms (p95)") == "udp-128b, 1.5 ms (p95)"


def test_captions_and_data_have_titles_as_text(tmp_path):
    resolved = testing.resolved("udp_128b", 8.0, 128)
    made = testing.run_dir(tmp_path, resolved, testing.Shape())
    for chart in (one for one in arranged(load([made])).charts[:1]):
        renamed = replace(chart, title="# a <b>", caption="![x](y)")
        said = paper_files._caption(renamed)
        assert "\\# a \\<b\\>: \\!\\[x\\](y)." in said
        for trace in renamed.chart.data:
            trace.name = "=1+1"
        names = {row["name"] for row in csv.DictReader(io.StringIO(data_csv(renamed.chart)))}
        assert names == {"'=1+1"}
