"""Notebooks are as they were written: stripped, of public names alone, with two questions each,
whose answers are folded, and a picture of the setting at the head.

That they run is tests/notebooks' (`make notebooks`).
"""

from __future__ import annotations

import ast
import base64
import copy
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import nbstripout
import pytest

import pocketsim as ps
from pocketsim.api.documents import catalog
from tools import notebook_pictures

NOTEBOOKS = [path for path in catalog.notebooks() if path.suffix == ".ipynb"]
METADATA = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
PUBLIC = {"pocketsim.protocol", "pocketsim.testing"}
WRITTEN = "lazy"
"""By a cell of notebook 10, before another imports it."""
LIBRARIES = {"json", "numpy", "pandas", "pathlib", "plotly"}
_DEEPEST = 2
"""Keys of a profile's contents, as `contents["device"]["measured_by"]`; numbers are in tables."""
FOLDED = re.compile(
    r"^<details><summary>Answer</summary>\n\n(.+?)\n\n</details>$", re.MULTILINE | re.DOTALL
)
PICTURE = re.compile(r"^!\[([^\]]+)\]\(attachment:setting\.png\)$", re.MULTILINE)
LARGEST_PICTURE_BYTES = 10_000
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
        f"{number:02d}_" for number in range(len(NOTEBOOKS))
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
        elif isinstance(node, ast.Subscript) and is_inside_a_document(node):
            yield ast.unparse(node)


def is_inside_a_document(node: ast.Subscript) -> bool:
    """Say whether a value is dug out of a document that the engine gets, past its tables."""
    path = re.search(r"\.(resolved|manifest|contents)(\[.*)$", ast.unparse(node))
    return path is not None and (path[1] != "contents" or path[2].count("[") > _DEEPEST)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_use_public_names_alone(path: Path) -> None:
    assert not list(private_names(code(read(path))))
    assert "ps." in code(read(path))


def test_what_is_public_is_on_a_page(root: Path) -> None:
    library = (root / "docs" / "library.md").read_text()
    listed = set(re.findall(r"^\.\. auto\w+:: pocketsim\.(?:api\.)?(\w+)$", library, re.MULTILINE))
    assert set(ps.__all__) - {"__version__"} == listed
    own_protocol = (root / "docs" / "own_protocol.md").read_text()
    assert all(f"from {module} import" in own_protocol for module in PUBLIC)


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
        "run.resolved['network']",
        "phone.contents['own_cost_factors']['iroh_bind']['value']",
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


def answers(question: str) -> list[str]:
    """Return what is folded below a question."""
    return [text.strip() for text in FOLDED.findall(question)]


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
    assert all("?" in one or "check" in one for one in map(without_answers, asked))


def without_answers(question: str) -> str:
    return FOLDED.sub("", question)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_both_questions_have_their_answer_folded(path: Path) -> None:
    asked = questions(texts(read(path))[-1])
    for one in asked:
        (answer,) = answers(one)
        assert re.search(r"\d", answer), "a number"
        assert one.endswith("</details>"), "the answer stands below its question"
        assert without_answers(one).strip()
    everything = "\n".join(texts(read(path)))
    assert everything.count("<details>") == everything.count("</details>") == 2


def test_the_rule_on_answers_bites() -> None:
    folded = "<details><summary>Answer</summary>\n\n{}\n\n</details>"
    assert answers(f"1. A?\n\n{folded.format('It is 4.')}") == ["It is 4."]
    assert len(answers(f"1. A?\n\n{folded.format('3')}\n\n{folded.format('4')}")) == 2
    assert answers("1. A?\n\nIt is 4.") == []
    assert answers("1. A?\n\n<details><summary>Answer</summary>4</details>") == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_begins_with_a_picture_of_its_setting(path: Path) -> None:
    """As PNG: JupyterLab shows no SVG that is attached; `python -m tools.notebook_pictures`."""
    first, *others = read(path).cells
    (alternative,) = PICTURE.findall(first.source)
    assert alternative == notebook_pictures.SETTINGS[path.stem[:2]][1]
    assert len(alternative) > 40
    assert not [cell for cell in others if "attachments" in cell]
    ((name, content),) = first.attachments.items()
    assert name == notebook_pictures.NAME
    assert set(content) == {"image/png"}
    picture = base64.b64decode(content["image/png"])
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < LARGEST_PICTURE_BYTES


def test_three_notebooks_have_a_slider() -> None:
    slid = [path.stem for path in NOTEBOOKS if "ps.plot.slider(" in code(read(path))]
    assert len(slid) >= 3


def test_every_figure_has_a_picture_for_viewers_without_plotly() -> None:
    for path in NOTEBOOKS:
        assert not list(bare_figures(code(read(path)))), path.name


def bare_figures(source: str) -> Iterator[str]:
    """Yield calls of plotly express that are not in `ps.plot.Figure(...)`."""
    tree = ast.parse(source)
    inside = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "ps.plot.Figure"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        is_figure = isinstance(node, ast.Call) and ast.unparse(node.func).startswith("px.")
        if is_figure and node not in inside and "(" not in ast.unparse(node.func):
            yield ast.unparse(node)


def test_the_rule_on_figures_bites() -> None:
    assert list(bare_figures("px.line(frame)")) == ["px.line(frame)"]
    assert list(bare_figures("figure = px.line(frame).update_layout()")) == ["px.line(frame)"]
    assert not list(bare_figures("ps.plot.Figure(px.line(frame).update_layout())"))


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
