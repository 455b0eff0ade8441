"""Modules of the engine import one way: none reaches itself through what it uses.

Rust does not mind circles, so a test does. What tests in a module use does not count.
"""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest


def uses(text: str) -> set[str]:
    """Return the modules of the crate that a source names outside comments and its tests."""
    code = text.partition("#[cfg(test)]")[0]
    code = re.sub(r"^\s*//.*", "", code, flags=re.MULTILINE)
    return set(re.findall(r"\bcrate::(\w+)", code))


def order(sources: dict[str, str]) -> list[str]:
    """Return modules so that each comes after what it uses; raise CycleError if there is none."""
    graph = {name: uses(text) & set(sources) - {name} for name, text in sources.items()}
    return list(TopologicalSorter(graph).static_order())


def test_modules_of_the_engine_import_one_way(root: Path) -> None:
    sources = {path.stem: path.read_text() for path in (root / "sim/engine/src").glob("*.rs")}
    assert len(sources) > 20
    made = order(sources)
    assert made.index("stage") < made.index("network") < made.index("driver") < made.index("run")


@pytest.mark.parametrize(
    "second", ["use crate::first::One;", "fn two() {\n    crate::first::one();\n}"]
)
def test_a_circle_is_found(second: str) -> None:
    with pytest.raises(CycleError):
        order({"first": "use crate::second::Two;", "second": second})


@pytest.mark.parametrize(
    "second",
    ["/// As [`crate::first`].", "#[cfg(test)]\nmod tests {\n    use crate::first::One;\n}"],
)
def test_comments_and_tests_make_no_circle(second: str) -> None:
    assert order({"first": "use crate::second::Two;", "second": second}) == ["second", "first"]
