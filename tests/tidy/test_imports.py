"""Imports point one way: from what users touch, over what judges, to what describes.

A *room* is a folder of Python modules. Which room may import which is said here; a new room or a
new arrow needs a line, an arrow that is gone must go here, too.
"""

from __future__ import annotations

import ast
import graphlib
import tomllib
from pathlib import Path

from pocketsim.sim.base import build
from pocketsim.sim.base.families import FAMILIES

# By room, named from the package on, what it may import; the lowest first. Types count: who needs a
# room's types knows it.
ARROWS: dict[str, set[str]] = {
    "sim": set(),
    "sim.base": {"sim"},
    "sim.devices": {"sim.base"},
    "sim.scenario": {"sim.base", "sim.devices"},
    "sim.importing": {"sim", "sim.base"},
    "sim.plan": {"sim._engine", "sim.base", "sim.devices", "sim.scenario"},
    "sim.trace": {"sim.base"},
    "sim.metrics": {"sim.base", "sim.scenario", "sim.trace"},
    "sim.run": {
        *("sim", "sim._engine", "sim.base", "sim.metrics"),
        *("sim.plan", "sim.scenario", "sim.trace"),
    },
    "sim.export": {
        *("sim", "sim.base", "sim.devices", "sim.scenario", "sim.plan"),
        *("sim.trace", "sim.metrics", "sim.run"),
    },
    "calibration": set(),
    "calibration.validate": {
        *("sim._engine", "sim.base", "sim.devices", "sim.metrics"),
        *("sim.run", "sim.scenario"),
    },
    "calibration.host": {
        *("sim.base", "sim.devices", "sim.run", "sim.scenario", "sim.trace"),
        "sim.export",
    },
    "calibration.inverse": {
        *("sim", "sim.base", "sim.devices", "sim.metrics"),
        *("sim.plan", "sim.run", "sim.scenario"),
        "calibration.validate",
    },
    "calibration.fit": {
        *("sim.base", "sim.devices", "sim.metrics", "sim.plan", "sim.run", "sim.scenario"),
        *("calibration.host", "calibration.validate"),
    },
    "pocketsim.report": {
        *("sim.base", "sim.devices", "sim.scenario", "sim.plan", "sim.trace"),
        *("sim.metrics", "sim.run", "calibration.host", "calibration.validate"),
    },
    "pocketsim.view": {
        *("sim.base", "sim.devices", "sim.scenario", "sim.trace"),
        *("sim.metrics", "sim.run", "sim.export", "pocketsim.report"),
    },
    "pocketsim.api": {
        *("sim", "sim.base", "sim.devices", "sim.metrics", "sim.run"),
        *("sim.scenario", "sim.export", "sim.importing"),
        *("calibration.fit", "calibration.host", "calibration.inverse", "calibration.validate"),
        "pocketsim.report",
    },
    "pocketsim.extend": {
        *("sim.base", "sim.devices", "sim.metrics", "sim.scenario", "sim.trace"),
    },
    "pocketsim": {"sim", "sim.base", "sim.scenario", "pocketsim.api", "pocketsim.extend"},
    "pocketsim.cli": {
        *("sim", "sim.base", "sim.devices", "sim.scenario"),
        *("sim.trace", "sim.metrics", "sim.run", "sim.export"),
        *("calibration.fit", "calibration.host", "calibration.inverse", "calibration.validate"),
        *("pocketsim.api", "pocketsim.report", "pocketsim.view"),
    },
}
BY_NAME = {
    "pocketsim/cli/doctor.py",  # libraries of others
    "pocketsim/cli/ui/groups.py",  # commands, each when it is called
    "pocketsim/sim/base/custom_code.py",  # what users have installed
    "pocketsim/__init__.py",  # what it imports for types, too: tests/unit/api/test_library.py
}
ROOMS_MAX = 21
FOLDER_FILES_MAX = 12
PACKAGES = ("sim", "calibration", "pocketsim")
"""From the bottom to the top; none imports a later one. Their roots are rooms, too."""


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str, root: Path) -> str:
    """Return the room of a module; the compiled engine is one of its own."""
    parts = module.split(".")[1:]
    if parts == ["sim", "_engine"]:
        return "sim._engine"
    is_room = [root.joinpath("pocketsim", *parts[:depth]).is_dir() for depth in (1, 2)]
    if not parts or not is_room[0]:
        return "pocketsim"
    if parts[0] not in PACKAGES:
        return f"pocketsim.{parts[0]}"
    return ".".join(parts[:2]) if len(parts) > 1 and is_room[1] else parts[0]


def python_modules(repository: list[Path], root: Path) -> dict[str, Path]:
    return {
        module_name(path, root): path
        for path in repository
        if path.suffix == ".py" and path.relative_to(root).parts[0] == "pocketsim"
        # Protocols there are data: what a user writes, in no room.
        if path.relative_to(root).parts[1] != "scenarios"
    }


def imported_modules(path: Path, modules: dict[str, Path], *, types: bool = True) -> set[str]:
    """Return the modules of ours that a file imports, wherever in it; without `types`, to run."""
    tree = ast.parse(path.read_text())
    left_out = set() if types else only_for_types(tree)
    found: set[str] = set()
    for node in ast.walk(tree):
        if node in left_out:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from pocketsim.sim import trace` names a module, `... import SIZE` does not.
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            is_module = inside & (modules.keys() | {"pocketsim.sim._engine"})
            found |= is_module
            found |= {node.module} if inside - is_module else set()
    return {name for name in found if name.split(".")[0] == "pocketsim"}


def only_for_types(tree: ast.AST) -> set[ast.AST]:
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }


def arrows(repository: list[Path], root: Path) -> dict[str, set[str]]:
    """Return which room imports which."""
    modules = python_modules(repository, root)
    found: dict[str, set[str]] = {room_of(name, root): set() for name in modules}
    for name, path in modules.items():
        own = room_of(name, root)
        others = {room_of(other, root) for other in imported_modules(path, modules)}
        found[own] |= others - {own}
    return found


def test_rooms_import_what_is_said_and_nothing_else(repository: list[Path], root: Path) -> None:
    assert arrows(repository, root) == ARROWS


def test_rooms_are_few(root: Path) -> None:
    assert len(ARROWS) <= ROOMS_MAX


def test_folders_outside_the_simulation_hold_few_files(root: Path) -> None:
    package = root / "pocketsim"
    rooms = (package / name for name in ("api", "extend", "report", "view", "cli"))
    folders = [package, *(path.parent for room in rooms for path in room.rglob("__init__.py"))]
    sizes = {folder.relative_to(root): len(list(folder.glob("*.py"))) for folder in folders}
    assert not {folder: size for folder, size in sizes.items() if size > FOLDER_FILES_MAX}


def test_folders_of_a_room_import_one_way(repository: list[Path], root: Path) -> None:
    modules = python_modules(repository, root)
    folder = {
        name: name if path.name == "__init__.py" else name.rpartition(".")[0]
        for name, path in modules.items()
    }
    found: dict[str, set[str]] = {one: set() for one in folder.values()}
    for name, path in modules.items():
        others = {folder[other] for other in imported_modules(path, modules) & folder.keys()}
        if room_of(name, root).startswith("pocketsim."):
            found[folder[name]] |= others - {folder[name]}
    graphlib.TopologicalSorter(found).prepare()


def test_no_room_imports_itself_by_way_of_others() -> None:
    graphlib.TopologicalSorter(ARROWS).prepare()


def test_packages_never_import_a_later_one() -> None:
    upward = [
        f"{room} -> {other}"
        for room, others in ARROWS.items()
        for other in others
        if PACKAGES.index(other.split(".")[0]) > PACKAGES.index(room.split(".")[0])
    ]
    assert not upward


def test_no_module_imports_itself_by_way_of_others(repository: list[Path], root: Path) -> None:
    modules = python_modules(repository, root)
    found = {
        name: imported_modules(path, modules, types=False) - {name}
        for name, path in modules.items()
        if path.name != "__init__.py"  # what a room shows is made of its modules
    }
    graphlib.TopologicalSorter(found).prepare()


def test_imports_by_name_stay_in_their_package(repository: list[Path], root: Path) -> None:
    """No arrow is hidden in a text."""
    upward = [
        f"{path.relative_to(root)}:{node.lineno} {ast.unparse(node)}"
        for path in python_modules(repository, root).values()
        if path.relative_to(root).as_posix() not in BY_NAME
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func)
        if not ast.unparse(node.args[0]).startswith("f'{__package__}.{")
    ]
    assert not upward


def test_the_build_digest_covers_what_a_run_depends_on(repository: list[Path], root: Path) -> None:
    modules = python_modules(repository, root)
    found: set[str] = set()
    waiting = {"pocketsim.sim.run.runner", "pocketsim.sim.run.forkserver"}
    # Found by name (`parts` of each).
    rooms = ("pocketsim.sim.scenario", "pocketsim.sim.metrics")
    waiting |= {f"{room}.{family.module}" for room in rooms for family in FAMILIES}
    while waiting:
        name = waiting.pop()
        found.add(name)
        around = {name.rpartition(".")[0]}  # a module's folder is loaded before it
        needed = imported_modules(modules[name], modules, types=False) | around
        waiting |= (needed & modules.keys()) - found
    found -= {"pocketsim"}  # which only says where other names are
    assert {modules[name] for name in found} == set(build.sources())


def test_values_that_determine_a_run_are_typed(repository: list[Path], root: Path) -> None:
    """With these types mypy knows every key of what a run is made of and leaves; `Any` has all."""
    typed = {
        *("resolved", "workload", "transport", "network", "plan", "contents", "profile"),
        *("job", "output", "outputs", "told", "summaries", "manifest", "metrics"),
    }
    loose = [
        f"{path.relative_to(root)}:{node.lineno} {name}: {ast.unparse(node.annotation)}"
        for path in python_modules(repository, root).values()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None
        for name in [node.arg if isinstance(node, ast.arg) else ast.unparse(node.target)]
        if name in typed and "Any" in ast.unparse(node.annotation)
    ]
    assert not loose


def test_rust_protocols_depend_on_no_simulator(root: Path) -> None:
    manifest = tomllib.loads((root / "sim/protocols/Cargo.toml").read_text())
    dependencies = set(manifest.get("dependencies", {}))
    assert not dependencies & {"pocketsim-engine", "pyo3", "rand", "tokio", "mio"}
    assert not manifest.get("build-dependencies")


def test_engine_reads_no_documents(root: Path) -> None:
    manifest = tomllib.loads((root / "sim/engine/Cargo.toml").read_text())
    assert not set(manifest["dependencies"]) & {"toml", "serde_json", "serde_yaml", "csv"}
