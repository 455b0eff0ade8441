"""The glossary has the words that a newcomer cannot guess, and names only what is there.

That its definitions are right, no machine can check.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

GLOSSARY = "docs/glossary.md"
# What other projects call otherwise, or do not have.
EXPECTED = {"contact", "grid", "lane", "own copy", "place", "rung", "standing", "town"}
# What uses names, rather than speaks of them.
SOURCES = {".py", ".rs", ".cpp", ".hpp", ".toml"}
PYTHON_PATH = re.compile(r"(pocketsim|sim|calibration)(\.\w+)+")


def terms(section: str) -> list[str]:
    return re.findall(r"^- \*\*(.+?)\*\*: ", section, re.MULTILINE)


def sections(text: str) -> list[str]:
    return re.split(r"^## ", text, flags=re.MULTILINE)[1:]


@functools.cache
def words_of(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", path.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def used(repository: list[Path]) -> frozenset[str]:
    """Return every word of the sources but those of this file."""
    sources = [path for path in repository if path.suffix in SOURCES and path != Path(__file__)]
    return frozenset().union(*map(words_of, sources))


def is_there(name: str, root: Path, used: frozenset[str]) -> bool:
    """Return whether a name in code font is a path, something in a Python module, or words used."""
    if "/" in name or name.endswith(".md"):
        return (root / name).exists()
    if PYTHON_PATH.fullmatch(name):
        path, *inner = name.split(".")
        while inner and (root / path / inner[0]).is_dir():
            path = f"{path}/{inner.pop(0)}"
        if not inner:
            return True
        module = root / path / f"{inner.pop(0)}.py"
        return module.is_file() and set(inner) <= words_of(module)
    return set(re.findall(r"\w+", name)) <= used


def test_it_has_the_words_that_need_it(root: Path) -> None:
    assert set(terms((root / GLOSSARY).read_text())) >= EXPECTED


def test_every_group_is_in_alphabetical_order(root: Path) -> None:
    groups = [terms(section) for section in sections((root / GLOSSARY).read_text())]
    assert groups
    assert all(groups)
    assert groups == [sorted(set(group)) for group in groups]


def test_every_entry_is_one_line(root: Path) -> None:
    for section in sections((root / GLOSSARY).read_text()):
        entries = [line for line in section.splitlines()[1:] if line]
        assert len(entries) == len(terms(section))


def test_what_it_names_is_there(root: Path, used: frozenset[str]) -> None:
    names = re.findall(r"`([^`]+)`", (root / GLOSSARY).read_text())
    assert len(names) > len(EXPECTED)
    assert not [name for name in names if not is_there(name, root, used)]


def words_in(name: str, root: Path) -> frozenset[str]:
    """Return every word of a file, or of the sources in a folder or a Python module's file."""
    path = root / (name if "/" in name else f"{name.replace('.', '/')}.py")
    if path.is_file():
        return words_of(path)
    inside = [file for file in path.rglob("*") if file.suffix in SOURCES]
    return frozenset().union(*map(words_of, inside))


def test_what_is_said_to_be_in_a_file_is_there(root: Path) -> None:
    said = re.findall(r"`([^`]+)` in `([^`]+)`", (root / GLOSSARY).read_text())
    assert len(said) > len(EXPECTED)
    wrong = [
        f"{name} in {place}"
        for name, place in said
        if not set(re.findall(r"\w+", name)) <= words_in(place, root)
    ]
    assert not wrong
    assert not {"Carrier"} <= words_in("pocketsim/sim/plan", root)


@pytest.mark.parametrize(
    "name",
    [
        "sim/nowhere.py",
        "NOWHERE.md",
        "sim.nowhere",
        "pocketsim.sim.scenario.nowhere",
        "pocketsim.sim.scenario.resolve.Nowhere",
        "Standing::Vanished",
    ],
)
def test_the_rule_on_names_bites(name: str, root: Path, used: frozenset[str]) -> None:
    assert not is_there(name, root, used)
