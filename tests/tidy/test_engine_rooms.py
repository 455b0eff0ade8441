"""The engine's rooms: folders of `sim/engine/src` whose arrows go one way, and what fits in each.

A *room* is a folder, or a file beside `lib.rs`. That files of a room make no circle is checked
here, too; that rooms make none follows from their order.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import networkx as nx
import pytest

from support.rust_source import bare, modules_named, without_tests

# Each names those before it only.
ROOMS = (
    "base",
    "plan",
    "cost",
    "resources",
    "events",
    "record",
    "network",
    "phone",
    "driver",
    "families",
    "run",
    "bindings",
)
ROOMS_MAX = 14
FOLDER_FILES_MAX = 12
IMPL_FILES_MAX = 2

Sources = dict[tuple[str, ...], str]


@pytest.fixture(scope="module")
def sources(root: Path) -> Sources:
    """Return the code of each file of the engine, without tests, by its path below `src`."""
    source = root / "sim/engine/src"
    return {
        path.relative_to(source).with_suffix("").parts: without_tests(bare(path.read_text()))
        for path in sorted(source.rglob("*.rs"))
    }


def arrows(sources: Sources) -> set[tuple[str, str]]:
    """Return which room names which."""
    rooms = {file[0] for file in sources} - {"lib"}
    found = set()
    for file, code in sources.items():
        module = file[:-1] if file[-1] in {"lib", "mod"} else file
        if module:  # what the root declares is no arrow
            found |= {(file[0], room) for room in modules_named(code, module, rooms)}
    return {(room, other) for room, other in found if room != other}


def upward(sources: Sources, order: tuple[str, ...]) -> list[tuple[str, str]]:
    return sorted(pair for pair in arrows(sources) if order.index(pair[0]) < order.index(pair[1]))


def file_graph(sources: Sources) -> nx.DiGraph:
    """Return which file names which by a path from the crate's root."""
    graph = nx.DiGraph()
    graph.add_nodes_from(sources)
    for file, code in sources.items():
        for path in re.findall(r"\bcrate::(\w+(?:::\w+)*)", code):
            named = file_of(tuple(path.split("::")), sources)
            if named not in {None, file}:
                graph.add_edge(file, named)
    return graph


def file_of(path: tuple[str, ...], sources: Sources) -> tuple[str, ...] | None:
    """Return the file that a path leads into: of its longest beginning that is a module."""
    for length in range(len(path), 0, -1):
        for file in (path[:length], (*path[:length], "mod")):
            if file in sources:
                return file
    return None


def circles(sources: Sources) -> list[set[tuple[str, ...]]]:
    components = nx.strongly_connected_components(file_graph(sources))
    return [component for component in components if len(component) > 1]


def impl_files(sources: Sources) -> dict[tuple[str, str], int]:
    """Return in how many files each type has an `impl`, by room and name."""
    files = defaultdict(set)
    for file, code in sources.items():
        for match in re.finditer(r"^impl\b", code, re.MULTILINE):
            files[file[0], implemented(code[match.end() :])].add(file)
    return {key: len(found) for key, found in files.items()}


def implemented(code: str) -> str:
    """Return the name of the type that code behind `impl` is for."""
    head = code[: code.index("{")].strip()
    if head.startswith("<"):
        depth = 0
        for at, sign in enumerate(head):
            depth += (sign == "<") - (sign == ">" and head[at - 1] != "-")
            if depth == 0:
                head = head[at + 1 :]
                break
    name = re.search(r"(?:\bfor\s+)?(?:\w+::)*(\w+)", head.split(" for ")[-1])
    assert name, head
    return name[1]


def scattered(sources: Sources) -> set[tuple[str, str]]:
    """Return the types whose `impl` lies in more files than it may."""
    return {key for key, count in impl_files(sources).items() if count > IMPL_FILES_MAX}


def test_the_engine_has_these_rooms(sources: Sources) -> None:
    assert {file[0] for file in sources} == {*ROOMS, "lib"}
    assert len(ROOMS) <= ROOMS_MAX


def test_no_room_names_one_above_it(sources: Sources) -> None:
    assert not upward(sources, ROOMS)


def test_no_file_of_the_engine_imports_itself_by_way_of_others(sources: Sources) -> None:
    assert not circles(sources)


def test_folders_hold_few_files(sources: Sources) -> None:
    counts = Counter(file[:-1] for file in sources)
    assert not {folder: count for folder, count in counts.items() if count > FOLDER_FILES_MAX}


def test_an_impl_lies_in_few_files(sources: Sources) -> None:
    assert not scattered(sources), "give the type a part of its own"


def test_the_rooms_have_the_arrows_that_everybody_knows(sources: Sources) -> None:
    assert {("driver", "phone"), ("phone", "cost"), ("run", "driver")} <= arrows(sources)


@pytest.mark.parametrize(
    "arrow", ["use crate::high::A;", "fn f() { crate::high::f() }", "use crate::{high::A};"]
)
def test_the_rule_on_arrows_bites(arrow: str) -> None:
    made = {("low", "mod"): "", ("low", "file"): arrow, ("high",): "use crate::low::file::B;"}
    assert upward(made, ("low", "high")) == [("low", "high")]


def test_the_rule_on_circles_of_files_bites() -> None:
    one, other = ("room", "a"), ("room", "mod")
    made = {one: "use crate::room::B;", other: "pub mod a; use crate::room::a::A;"}
    assert circles(made) == [{one, other}]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("A {", "A"),
        ("<'a> A<'a> {", "A"),
        ("<A: Application, T: Transport<A::Block>> Lanes<A, T> {", "Lanes"),
        ("<F: Fn(u8) -> u8> From<F> for crate::room::Other<F> {", "Other"),
    ],
)
def test_an_impl_is_of_the_type_that_it_names(head: str, name: str) -> None:
    assert implemented(f" {head}") == name


def test_the_rule_on_impls_bites() -> None:
    made = {("room", name): "impl A {\n}\nimpl B {\n}\n" for name in ("a", "b")}
    assert not scattered(made)
    assert scattered({**made, ("room", "c"): "impl A {\n}\n"}) == {("room", "A")}
