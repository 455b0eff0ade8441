"""The protocol families: one record each.

A family has a module of its name in two rooms. `sim.scenario.transfers` says what a scenario of
transfers must be and how it is resolved, `sim.metrics.transfers` what such a run achieved. The
modules `family_rules` and `family_metrics` find them. What a module leaves out is that of `trades`,
which have nothing of their own. The machines are the engine's.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """A protocol family: its kind in documents, the workloads that it takes, its modules' name.

    `does` is what the reference says of it. `has_ledger` says whether the engine can add up what
    its metrics need, without events.
    """

    kind: str
    workloads: tuple[str, ...]
    module: str
    does: str
    has_ledger: bool = False


_TRADES = ("paced", "poisson", "python")
FAMILIES = [
    Family("trustchain", (*_TRADES, "trace"), "trades", "trades, countersigned", has_ledger=True),
    Family("transfer", _TRADES, "transfers", "one-way messages", has_ledger=True),
    Family(
        "token_batch",
        _TRADES,
        "transfers",
        "offline tokens from phone 0, the authority, through every phone and back",
    ),
    Family(
        "compute", ("compute",), "compute", "tasks without a network, of a workload of that kind"
    ),
    Family("tokens", ("town", "trace"), "town", "a town that pays with them"),
    Family(
        "python",
        (*_TRADES, "trace"),
        "custom_protocol",
        "a protocol of your own, of class",
        has_ledger=True,
    ),
    Family(
        "rust", (*_TRADES, "trace"), "custom_protocol", "one in Rust, of library", has_ledger=True
    ),
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
