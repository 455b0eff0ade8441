"""Entry points of other installed distributions, and the files behind them.

Nothing is imported here but the packages around the module of an entry point.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from importlib.metadata import EntryPoint

PROTOCOLS, PROFILES, WORKLOADS, METRICS = (
    f"pocketsim.{what}" for what in ("protocols", "profiles", "workloads", "metrics")
)
"""Groups of entry points; what each offers, docs/own_protocol.md says."""


def names(group: str) -> list[str]:
    """Return the names of what is offered in a group, sorted."""
    from importlib import metadata  # which takes long to load

    return sorted(metadata.entry_points(group=group).names)


def entry(group: str, name: str) -> EntryPoint:
    """Return what is offered by one of `names`."""
    from importlib import metadata

    return metadata.entry_points(group=group)[name]


def source(offered: EntryPoint) -> Path:
    """Return the file of the module behind an entry point, in Python; raises LookupError."""
    spec = _spec(offered)
    if not spec.has_location or not str(spec.origin).endswith(".py"):
        raise LookupError(f"{offered.value} is no module in Python")
    return Path(str(spec.origin)).absolute()


def folder(offered: EntryPoint) -> Path:
    """Return the folder of the package behind an entry point; raises LookupError."""
    spec = _spec(offered)
    if not spec.submodule_search_locations:
        raise LookupError(f"{offered.value} is no package")
    return Path(spec.submodule_search_locations[0]).absolute()


def _spec(offered: EntryPoint) -> ModuleSpec:
    try:
        found = importlib.util.find_spec(offered.module)
    except (ImportError, ValueError, AttributeError) as error:
        raise LookupError(f"{offered.value}: {error}") from None
    if found is None:
        raise LookupError(f"{offered.value} is not there")
    return found
