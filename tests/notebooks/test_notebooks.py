"""Every notebook runs in a kernel of its own, from a folder with nothing but what is copied there.

`make notebooks` runs this. What a notebook looks like is tests/tidy/test_notebooks.py's.
"""

from __future__ import annotations

import base64
import re
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import pocketsim as ps

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "pocketsim" / "notebooks").glob("*.ipynb"))
LOOP = "05_close_the_loop.ipynb"
LONGEST_S = 30
MEASURING_S = 12
"""What a report and a trade take on top, where a probe is built: 8 s and 4 s."""
FIGURE, PICTURE = "application/vnd.plotly.v1+json", "image/svg+xml"
QUESTION = "00_question_to_figure.ipynb"
SLID = "03_why_reconnecting_collapses.ipynb"


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Return a function that executes a notebook in `tmp_path`, and what its kernel may see."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PLOTLY_RENDERER", "plotly_mimetype")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "jupyter"))

    def call(notebook):
        options = {"timeout": LONGEST_S, "kernel_name": "python3"}
        client = NotebookClient(
            notebook, resources={"metadata": {"path": str(tmp_path)}}, **options
        )
        return client.execute()

    return call


@pytest.fixture
def copied(tmp_path, cli):
    done = cli("notebooks", ".")
    assert done.returncode == 0, done.stderr
    return tmp_path


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("name", [path.name for path in NOTEBOOKS])
def test_it_runs_and_shows_figures(name, copied, execute):
    before = time.monotonic()
    found = execute(nbformat.read(copied / name, as_version=4))
    took_s = time.monotonic() - before
    outputs = [
        output for cell in found.cells if cell.cell_type == "code" for output in cell.outputs
    ]
    shown = [output.data for output in outputs if FIGURE in output.get("data", {})]
    assert len(shown) >= (1 if name == QUESTION else 2)
    assert all(data[FIGURE]["data"] for data in shown)
    assert all(data[PICTURE].rstrip().endswith("</svg>") for data in shown)
    said = [output.text for output in outputs if output.get("name") == "stderr"]
    assert not said, "a warning is not for students"
    is_measuring = name == LOOP and ps.find_probe() is not None
    assert took_s < LONGEST_S + (MEASURING_S if is_measuring else 0)


@pytest.mark.engine
@pytest.mark.slow
def test_a_page_made_by_nbconvert_shows_every_figure(copied, execute):
    from nbconvert import HTMLExporter

    found = execute(nbformat.read(copied / SLID, as_version=4))
    displayed = [
        output.data
        for cell in found.cells
        for output in cell.get("outputs", [])
        if FIGURE in output.get("data", {})
    ]
    page, _ = HTMLExporter().from_notebook_node(found)
    shown = re.findall(r'<img[^>]*src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(shown) == len(displayed) >= 4
    for picture, data in zip(shown, displayed, strict=True):  # each as it was drawn
        assert base64.b64decode(picture).decode() == data[PICTURE]
    alternative = re.search(r'<img alt="([^"]+)" src="data:image/png;base64,', page)
    assert alternative is not None, "the setting"
    assert page.count("<summary>Answer</summary>") == 2
    assert any(data[FIGURE]["layout"].get("sliders") for data in displayed)


@pytest.mark.engine
@pytest.mark.slow
def test_the_loop_is_shown_from_what_was_recorded_where_no_probe_is(copied, execute):
    notebook = nbformat.read(copied / LOOP, as_version=4)
    finds = next(cell for cell in notebook.cells if "ps.find_probe()" in cell.source)
    finds.source = finds.source.replace("ps.find_probe()", "None")
    found = execute(notebook)
    said = "".join(
        output.get("text", "") for cell in found.cells for output in cell.get("outputs", [])
    )
    assert "RECORDED" in said
    assert "LIVE" not in said
    assert not list(copied.glob("my_*")), "nothing was measured"


@pytest.mark.slow
def test_a_notebook_that_fails_fails_here(execute):
    cells = [nbformat.v4.new_code_cell("import pocketsim as ps\nps.run('no_such_scenario')")]
    with pytest.raises(CellExecutionError, match="no_such_scenario"):
        execute(nbformat.v4.new_notebook(cells=cells))


@pytest.mark.slow
def test_a_page_of_the_docs_takes_nothing_from_the_network(tmp_path, execute, monkeypatch):
    monkeypatch.setenv("PYTHONSTARTUP", str(ROOT / "docs" / "kernel.py"))
    cell = nbformat.v4.new_code_cell("import plotly.express as px\npx.bar([1, 2])")
    found = execute(nbformat.v4.new_notebook(cells=[cell]))
    (shown,) = found.cells[0].outputs
    page = shown.data["text/html"]
    assert "Plotly.newPlot" in page
    assert not re.findall(r"https?://|\bsrc=|\bimport\b", page)
    assert (tmp_path / "loopback_report.json").is_file(), "what notebooks read"
