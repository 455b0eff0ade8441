"""Imports point one way: from what presents, over what runs, to what describes.

A module may import modules of its own layer or of a lower one. A new module needs a layer here.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

# From the top down; a name stands for the module and everything inside it.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("sim.cli",),
    (
        "calibration.validation",
        "calibration.validation_table",
        "sim.collect",
        "sim.report",
        "sim.sweep",
    ),
    ("sim.runner", "sim.children", "sim.child"),
    (
        "calibration.answers",
        "calibration.comparison",
        "calibration.from_report",
        "calibration.outcomes",
        "calibration.summaries",
    ),
    (
        "calibration.behaviour",
        "calibration.block_sizes",
        "calibration.pricing",
        "calibration.published",
        "sim.amounts",
        "sim.computed",
        "sim.energy",
        "sim.payments",
        "sim.export",
        "sim.columns",
        "sim.fates",
        "sim.graph",
        "sim.holdings",
        "sim.intervals",
        "sim.log_columns",
        "sim.metrics",
        "sim.phone_logs",
        "sim.rundir",
        "sim.testing",
        "sim.transfers",
    ),
    ("sim.plan", "sim.trace"),
    ("sim.point", "sim.resolve"),
    ("sim.ladders",),
    ("sim.churn", "sim.devices", "sim.scenario", "sim.tasks", "sim.town", "sim.workloads"),
    (
        "calibration.draws",
        "calibration.estimates",
        "calibration.fitting",
        "calibration.kernels",
        "calibration.probe_report",
        "calibration.profile",
        "calibration.profile_file",
    ),
    (
        "sim._engine",
        "sim.axes",
        "sim.build",
        "sim.documents",
        "sim.engine_facts",
        "sim.files",
        "sim.provenance",
        "sim.streams",
        "sim.token_bytes",
    ),
    ("sim.errors", "sim.units"),
)
PACKAGES = ("sim", "calibration")


def layer_of(module: str) -> int | None:
    """Return the number of the module's layer, counted from the top; None for a package's root."""
    for number, names in enumerate(LAYERS):
        if any(module == name or module.startswith(f"{name}.") for name in names):
            return number
    return None


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path) -> set[str]:
    """Return the modules of ours that a file imports at run time, wherever in it."""
    tree = ast.parse(path.read_text())
    only_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if node in only_types:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from sim import trace` names a module, `from sim.errors import UserError` does not.
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names if node.module in PACKAGES else {node.module}
    return {name for name in found if name.split(".")[0] in PACKAGES}


def python_modules(repository: list[Path], root: Path) -> list[Path]:
    return [
        path
        for path in repository
        if path.suffix == ".py" and path.relative_to(root).parts[0] in PACKAGES
    ]


def test_every_module_has_a_layer(repository: list[Path], root: Path) -> None:
    names = {module_name(path, root) for path in python_modules(repository, root)}
    homeless = sorted(name for name in names - set(PACKAGES) if layer_of(name) is None)
    assert not homeless, f"say in LAYERS where these belong: {homeless}"


def test_imports_never_point_up(repository: list[Path], root: Path) -> None:
    upward = []
    for path in python_modules(repository, root):
        importer = module_name(path, root)
        own = layer_of(importer)
        for imported in imported_modules(path):
            other = layer_of(imported)
            if own is not None and other is not None and other < own:
                upward.append(f"{importer} imports {imported}")
    assert not sorted(upward)


def test_rust_protocols_depend_on_no_simulator(root: Path) -> None:
    manifest = tomllib.loads((root / "sim/protocols/Cargo.toml").read_text())
    dependencies = set(manifest.get("dependencies", {}))
    assert not dependencies & {"pocketsim-engine", "pyo3", "rand", "tokio", "mio"}
    assert not manifest.get("build-dependencies")


def test_engine_reads_no_documents(root: Path) -> None:
    manifest = tomllib.loads((root / "sim/engine/Cargo.toml").read_text())
    assert not set(manifest["dependencies"]) & {"toml", "serde_json", "serde_yaml", "csv"}
