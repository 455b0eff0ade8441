"""Notebooks are as they were written: stripped, of public names alone, with two questions each.

That they run is tests/notebooks' (`make notebooks`).
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import nbstripout
import pytest

import pocketsim as ps
from pocketsim.api.documents import catalog

NOTEBOOKS = [path for path in catalog.notebooks() if path.suffix == ".ipynb"]
METADATA = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
PUBLIC = {"pocketsim.protocol", "pocketsim.testing"}
WRITTEN = "lazy"
"""By a cell of notebook 10, before another imports it."""
LIBRARIES = {"json", "numpy", "pandas", "pathlib", "plotly"}
SECTIONS = ("## What this does not say", "## Two questions")


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def code(notebook: nbformat.NotebookNode) -> str:
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    # The first line of a cell that is written into a file says so to Jupyter.
    return "\n".join(re.sub(r"\A%%writefile .*", "", source) for source in cells)


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def test_they_are_numbered(root: Path) -> None:
    assert [path.stem[:3] for path in NOTEBOOKS] == [
        f"{number:02d}_" for number in range(1, len(NOTEBOOKS) + 1)
    ]
    assert len(NOTEBOOKS) >= 8
    for place in ("notebooks", "docs/notebooks"):
        assert (root / place).resolve() == NOTEBOOKS[0].parent, f"{place} is a link to them"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_of_a_run_is_kept(path: Path) -> None:
    """`make fmt` strips them; ids are the numbers of cells, not what an editor drew."""
    notebook = read(path)
    nbformat.validate(notebook)
    stripped = nbstripout.strip_output(
        copy.deepcopy(notebook), keep_output=False, keep_count=False, keep_id=False
    )
    assert notebook == stripped
    assert notebook.metadata == METADATA
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert all(cell.metadata == {} for cell in notebook.cells)
    assert all(cell.source.strip() for cell in notebook.cells)


def private_names(source: str) -> Iterator[str]:
    """Yield what is imported or taken from the library and is not public."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (
                alias.name
                for alias in node.names
                if alias.name.split(".")[0] not in LIBRARIES
                and (alias.name, alias.asname) != ("pocketsim", "ps")
            )
        elif isinstance(node, ast.ImportFrom):
            is_public = node.module in PUBLIC or node.module == WRITTEN
            if not is_public and (node.module or "").split(".")[0] not in LIBRARIES:
                yield f"from {node.module}"
        elif isinstance(node, ast.Attribute):
            taken_from = ast.unparse(node.value)
            public = {"ps": ps.__all__, "ps.plot": ps.plot.__all__}.get(taken_from)
            is_private = node.attr.startswith("_") and not node.attr.endswith("__")
            if is_private or (public is not None and node.attr not in public):
                yield f"{taken_from}.{node.attr}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_use_public_names_alone(path: Path) -> None:
    assert not list(private_names(code(read(path))))
    assert "ps." in code(read(path))


@pytest.mark.parametrize(
    "source",
    [
        "import pocketsim.sim",
        "import pocketsim",
        "from pocketsim import plot",
        "import scipy",
        "ps.results.load('runs')",
        "ps.plot._series(runs)",
        "ps.plot.reported",
        "runs._runs",
    ],
)
def test_the_rule_on_names_bites(source: str) -> None:
    assert list(private_names(source))


def questions(text: str) -> list[str]:
    """Return the questions of a last cell: what begins with a number, up to the next."""
    heading, _, rest = text.partition("\n\n")
    assert heading == SECTIONS[1]
    found = re.split(r"^(?=\d+\. )", rest, flags=re.MULTILINE)
    return [one.strip() for one in found if one.strip()]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_has_one_idea_its_limits_and_two_questions(path: Path) -> None:
    first, *middle, last = texts(read(path))
    number = int(path.stem[:2])
    assert first.startswith(f"# {number}. ")
    assert [first, *middle, last] == [text for text in texts(read(path)) if text.strip()]
    ideas = re.findall(r"^\*\*The idea: [^*]+\.\*\*$", "\n".join([first, *middle]), re.MULTILINE)
    assert len(ideas) == 1
    assert sum(SECTIONS[0] in text for text in middle) == 1
    assert read(path).cells[-1].source == last
    asked = questions(last)
    assert [one[:3] for one in asked] == ["1. ", "2. "]
    assert all("?" in one or "check" in one for one in asked)


def test_the_rule_on_questions_bites() -> None:
    assert len(questions("## Two questions\n\n1. A?\n2. B?\n3. C?")) == 3
    assert len(questions("## Two questions\n\n1. A?\n   More?")) == 1
    with pytest.raises(AssertionError):
        questions("## Questions\n\n1. A?\n2. B?")


def test_the_page_of_the_docs_names_each_once(root: Path) -> None:
    page = (root / "docs" / "notebooks.md").read_text()
    block = re.search(r"^```\{toctree\}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert block is not None
    named = [line for line in block[1].splitlines() if line.startswith("notebooks/")]
    assert named == [f"notebooks/{path.stem}" for path in NOTEBOOKS]
