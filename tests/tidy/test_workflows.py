"""Workflows, which no machine here runs, name what is there: targets, files, commits of actions."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[2] / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
TARGET = re.compile(r"^([a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*)(?::(?!=)| *&:)", re.MULTILINE)
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def runs(document: Any) -> Iterator[str]:
    """Yield every text that a shell is given, those of a matrix among them."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key == "run" and isinstance(value, str):
                yield value
            else:
                yield from runs(value)
    elif isinstance(document, list):
        for value in document:
            yield from runs(value)


def made(script: str) -> list[str]:
    """Return the targets of make that a script names."""
    found = []
    for line in script.splitlines():
        words = shlex.split(line, comments=True)
        if "make" in words:
            arguments = words[words.index("make") + 1 :]
            found += [one for one in arguments if not one.startswith("-") and "=" not in one]
    return found


def targets(makefile: str) -> set[str]:
    return {name for match in TARGET.finditer(makefile) for name in match[1].split()}


def scripts(path: Path) -> list[str]:
    return list(runs(yaml.safe_load(path.read_text())))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_targets_that_workflows_make_exist(root: Path, path: Path) -> None:
    known = targets((root / "Makefile").read_text())
    assert "test-python" in known
    assert not [name for script in scripts(path) for name in made(script) if name not in known]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_scripts_that_workflows_start_exist(root: Path, path: Path) -> None:
    text = "\n".join(scripts(path))
    named = re.findall(r"^ *((?:tools|\.ci)/[\w./]+)", text, re.MULTILINE)
    assert not [name for name in named if not (root / name).is_file()]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_and_say_their_tag(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if "uses:" in line]
    assert lines
    assert not [line.strip() for line in lines if not PINNED.search(line)]


def test_an_action_has_one_version_in_all_workflows() -> None:
    used = {
        tuple(line.partition("uses: ")[2].split("@"))
        for path in WORKFLOWS
        for line in path.read_text().splitlines()
        if "uses:" in line
    }
    assert len(used) == len({name for name, _ in used})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_only_read(path: Path) -> None:
    assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}


def test_every_python_that_the_classifiers_name_is_tried(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    named = [one.rpartition(" ")[2] for one in project["classifiers"] if ":: Python :: 3." in one]
    jobs = yaml.safe_load((FOLDER / "tests.yml").read_text())["jobs"]
    assert jobs["pythons"]["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}"


def test_the_rules_bite() -> None:
    assert made("cd x && make -j2 check SECONDS=2\necho make") == ["check"]
    assert made("tools/x.sh # make nothing") == []
    assert targets("a b: c\nX := 1\n.PHONY: d\ne-f:\n\tmake\n") == {"a", "b", "e-f"}
    assert not PINNED.search("- uses: actions/checkout@v4")
    assert not PINNED.search(f"- uses: actions/checkout@{'0' * 40}")
