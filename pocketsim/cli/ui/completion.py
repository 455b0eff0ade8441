"""Completion in a shell: names of what comes with the package beside paths that are there, keys.

`pocketsim --install-completion` turns it on. Where no name begins as what was typed, nothing is
offered, and the shell completes paths as it does for every command.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002 - it reads the annotations of what completes

from pocketsim.api.documents import catalog
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.base.files import read_toml

if TYPE_CHECKING:
    from collections.abc import Callable


def documents(*kinds: str) -> Callable[[str], list[str]]:
    """Return what completes the name or the file of a document of these kinds."""

    def complete(incomplete: str) -> list[str]:
        known = {name for kind in kinds for name in catalog.files(kind)}
        names = [name for name in sorted(known) if name.startswith(incomplete)]
        return [*names, *_paths(incomplete)] if names else []

    return complete


def subsets(incomplete: str) -> list[str]:
    """Return the groups of published rows that begin so."""
    from pocketsim.calibration.validate import published

    return [name for name in published.groups() if name.startswith(incomplete)]


def metrics(incomplete: str) -> list[str]:
    """Return the metrics that begin so."""
    from pocketsim.sim.metrics.reference import METRICS

    return [name for name in METRICS if name.startswith(incomplete)]


def overrides(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the keys that begin so, of the scenario that stands before; values are the user's."""
    from pocketsim.api.documents import schema

    # A line that ends in `--set` is no command yet: its arguments are left as they are.
    named = ctx.params.get("file") or next(iter(ctx.args), "")
    document: dict[str, Any] = {}
    with contextlib.suppress(UserError):
        _, document = read_toml(catalog.document_file(named, "scenario"))
    return [key for key in schema.keys("scenario", document) if key.startswith(incomplete)]


def _paths(incomplete: str) -> list[str]:
    """Return the folders and documents here that begin so; a name says no folder to look in."""
    with contextlib.suppress(OSError):
        here = [path for path in Path().iterdir() if path.name.startswith(incomplete)]
        folders = [f"{path}/" for path in here if path.is_dir() and path.name[0] != "."]
        return sorted([*folders, *(str(path) for path in here if path.suffix == ".toml")])
    return []
