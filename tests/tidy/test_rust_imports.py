"""No module of a Rust crate imports itself by way of others.

A *module* is one that the crate's root declares: a file, or a folder with all that is in it.
Python's rooms and their arrows are `test_imports.py`'s; what Rust modules may import is not listed
here, only that they make no circle.
"""

from __future__ import annotations

import re
from pathlib import Path

import networkx as nx
import pytest

from support.rust_source import bare, modules_named, without_tests

CRATES = ("device_probe/core", "sim/engine", "sim/protocols")


def module_path(path: Path, source: Path) -> tuple[str, ...]:
    """Return the path of a file's module below the root of its crate, which is empty."""
    parts = path.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"lib", "main", "mod"} else parts


def module_graph(sources: dict[tuple[str, ...], str]) -> nx.DiGraph:
    """Return which module names which, of a crate's files by module path; tests do not count."""
    graph = nx.DiGraph()
    graph.add_nodes_from(module[0] for module in sources if module)
    for module, text in sources.items():
        if module:  # what the root shows is made of its modules
            named = modules_named(without_tests(bare(text)), module, set(graph))
            graph.add_edges_from((module[0], other) for other in named - {module[0]})
    return graph


def circles(graph: nx.DiGraph) -> list[set[str]]:
    return sorted(filter(_is_circle, nx.strongly_connected_components(graph)), key=min)


def _is_circle(component: set[str]) -> bool:
    return len(component) > 1


@pytest.mark.parametrize("crate", CRATES)
def test_no_rust_module_imports_itself_by_way_of_others(
    repository: list[Path], root: Path, crate: str
) -> None:
    source = root / crate / "src"
    files = [path for path in repository if source in path.parents and path.suffix == ".rs"]
    graph = module_graph({module_path(path, source): path.read_text() for path in files})
    assert not circles(graph)


def test_only_one_module_calls_simgrid(root: Path) -> None:
    source = root / "sim/engine/src"
    raw = {path.relative_to(source).as_posix(): path.read_text() for path in source.rglob("*.rs")}
    code = {name: without_tests(bare(text)) for name, text in raw.items()}
    foreign = {name for name, text in raw.items() if 'extern "C"' in text}
    naming = {name for name, text in code.items() if re.search(r"\b(simgrid|SimGrid)\b", text)}
    assert foreign == {"resources/simgrid/mod.rs"}
    # Its room declares it, one makes it, one runs it, and one shows its options.
    room = {"resources/mod.rs", "resources/simgrid/mod.rs", "resources/any_world.rs"}
    # One has flows of it beside what it reckons itself, and one asks it for routes.
    room |= {"resources/simgrid/joined.rs", "resources/simgrid/platform.rs"}
    assert naming == room | {"run.rs", "bindings/python.rs"}
    shown = re.findall(r"\bsimgrid::\w+", code["bindings/python.rs"])
    assert set(shown) == {"simgrid::MODEL_OPTIONS", "simgrid::platform"}


def test_the_graph_has_the_arrows_that_everybody_knows(repository: list[Path], root: Path) -> None:
    source = root / "device_probe/core/src"
    files = [path for path in repository if source in path.parents and path.suffix == ".rs"]
    graph = module_graph({module_path(path, source): path.read_text() for path in files})
    assert {("run", "kernels"), ("kernels", "kernel"), ("kernel", "clock")} <= set(graph.edges)


@pytest.mark.parametrize(
    ("there", "back"),
    [
        ("use crate::b::B;", "use crate::a::A;"),
        ("use super::b;", "fn f() { super::a::g() }"),
        ("use crate::{c::C, b::{B, D}};", "pub(in crate::b) use super::{c, a as other};"),
        ("mod inner { use super::super::b::B; }", "type A = crate::a::A;"),
        ("macro_rules! m { () => { $crate::b::B } }", "use crate :: a :: A;"),
    ],
)
def test_the_rule_on_circles_bites(there: str, back: str) -> None:
    sources = {(): "mod a; mod b; mod c;", ("a",): there, ("b",): back, ("c",): ""}
    assert circles(module_graph(sources)) == [{"a", "b"}]


def test_a_circle_may_lead_through_folders() -> None:
    sources = {
        ("a", "deep", "file"): "use super::super::super::b::B;",
        ("b",): "use crate::c::{self, C};",
        ("c",): "use crate::a::deep::file::A;",
    }
    assert circles(module_graph(sources)) == [{"a", "b", "c"}]


@pytest.mark.parametrize(
    "harmless",
    [
        "// use crate::b;",
        "//! See [`b`](crate::b).",
        '/* use crate::b; */ const A: &str = "crate::b";',
        "#[cfg(test)]\nmod tests { use crate::b::B; }",
        "mod inner { use super::b::B; }",  # a module of a file's own
        "use other::crate_::b;",
        "use crate::c::b::B;",
        "pub(crate) fn b() {}",
        "use self::b::B;",
        "use crate::{c::{b, B}};",
    ],
)
def test_what_names_no_module_of_the_root_is_no_arrow(harmless: str) -> None:
    sources = {("a",): harmless, ("b",): "use crate::a::A;", ("c",): ""}
    assert circles(module_graph(sources)) == []
