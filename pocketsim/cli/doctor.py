"""`doctor`: is what pocketsim needs here?"""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys

import typer

from pocketsim.cli.ui import console


def doctor() -> None:
    """Check libraries and the engine; exit 5 if one is missing."""
    rows = [_python(), *(_library(name) for name in _LIBRARIES), _engine()]
    for name, found, fix in rows:
        console.data(f"{'ok     ' if not fix else 'MISSING'} {name}: {found}")
    console.data(_simgrid())
    missing = [(name, fix) for name, _, fix in rows if fix]
    for name, fix in missing:
        console.fail(f"{name}: {fix}")
    if missing:
        raise typer.Exit(_EXIT_ENVIRONMENT)


def _python() -> tuple[str, str, str]:
    found = ".".join(str(part) for part in sys.version_info[:3])
    return "python", found, "" if sys.version_info >= (3, 11) else "install Python 3.11 or newer"


def _library(name: str) -> tuple[str, str, str]:
    try:
        importlib.import_module(_MODULES.get(name, name.replace("-", "_")))
        found = importlib.metadata.version(name)
    except (ImportError, OSError, RuntimeError) as error:
        return name, str(error), f"pip install {name}; in a checkout, make setup"
    return name, found, ""


def _engine() -> tuple[str, str, str]:
    # In a process of its own: a module that is damaged may end the process that loads it.
    try:
        _in_child("import pocketsim.sim._engine")
        from pocketsim.sim.base.build import build_digest
    except RuntimeError as error:
        return (
            "pocketsim.sim._engine",
            str(error),
            "pip install --force-reinstall pocketsim; in a checkout, make setup",
        )
    return "pocketsim.sim._engine", f"build {build_digest()}", ""


def _simgrid() -> str:
    from pocketsim.sim.base.build import simgrid_file
    from pocketsim.sim.base.engine_facts import SIMGRID

    if simgrid_file().exists():
        return f"ok      SimGrid: {SIMGRID}"
    return 'absent  SimGrid, which run.fidelity = "flow" alone needs: make simgrid builds it'


def _in_child(statement: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", statement], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(lines[-1])


_LIBRARIES = (
    *("numpy", "scipy", "pandas", "pyarrow", "networkx"),
    *("jinja2", "markupsafe", "pydantic", "pynacl", "plotly", "rich", "tomli-w", "tomlkit"),
    *("typer", "typing-extensions"),
)
_MODULES = {"pynacl": "nacl"}  # where a module has another name than what it comes in
_EXIT_ENVIRONMENT = 5
