"""The protocol families: one record each, and where their parts of a room are found.

What a family is to a room lies in that room under the family's name: `sim.scenario.transfers` says
what a scenario of transfers must be and how it is resolved, `sim.metrics.transfers` what such a run
achieved. What each room asks of these modules is a `Protocol` there. The machines are the engine's.
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Family:
    """A protocol family: its kind in documents, the workloads that it takes, its modules' name.

    `does` is what the reference says of it.
    """

    kind: str
    workloads: tuple[str, ...]
    module: str
    does: str


_TRADES = ("paced", "poisson")
FAMILIES = [
    Family("trustchain", _TRADES, "trades", "trades, countersigned"),
    Family("transfer", _TRADES, "transfers", "one-way messages"),
    Family(
        "token_batch",
        _TRADES,
        "transfers",
        "offline tokens from phone 0, the authority, through every phone and back",
    ),
    Family(
        "compute", ("compute",), "compute", "tasks without a network, of a workload of that kind"
    ),
    Family("tokens", ("town",), "town", "a town that pays with them"),
]
"""A list, so that tests can add one."""


def kinds() -> list[str]:
    """Return the kinds of all families."""
    return [family.kind for family in FAMILIES]


def family(kind: str) -> Family:
    """Return the family of a kind, which has to be one."""
    return next(family for family in FAMILIES if family.kind == kind)


def taking(workload: str) -> list[str]:
    """Return the kinds of the families that take a kind of workload."""
    return [family.kind for family in FAMILIES if workload in family.workloads]


@functools.cache
def _module(room: str, name: str) -> Any:
    return importlib.import_module(f"sim.{room}.{name}")


def part(kind: str, room: str) -> Any:
    """Return the module of a family in a room, "scenario" or "metrics"."""
    return _module(room, family(kind).module)
