"""The axes of a rung as text: for the name of its run directory, for tables and for charts.

An axis is a scenario's list beside transport, payload and rate, such as `transport.eva.window`.
`sim.scenario.resolve` says which there are; what their values mean for a run is said there, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def slug(axes: Mapping[str, Any]) -> str:
    """Return axes as they stand in a file name: "window_256-encryption_true"."""
    return "-".join(f"{leaf(key)}_{text(value)}" for key, value in axes.items())


def words(axes: Mapping[str, Any]) -> str:
    """Return axes as they stand in a sentence: "window 256, encryption true"."""
    return ", ".join(f"{leaf(key)} {text(value)}" for key, value in axes.items())


def leaf(key: str) -> str:
    """Return the last part of a key of the scenario: "window" of "transport.eva.window"."""
    return key.rpartition(".")[2]


def text(value: Any) -> str:
    """Return a value as it would stand in the document, in bytes and counts: "true", "256"."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
