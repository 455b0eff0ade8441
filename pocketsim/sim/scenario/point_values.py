"""A run's point: the values that tell it from other runs, flat, in SI units.

Keys are those of the command line ("devices[0].count"). Units come from the types of the model's
fields, or with a value. The point has what was overridden and what varies from rung to rung. A run
does not depend on it, so it is not in the digest of `sim.scenario.resolve`. The names of a point's
values as columns of a table are made here, too.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from typing_extensions import TypedDict  # that of 3.11 says too little to pydantic

from pocketsim.sim.base import axes, si
from pocketsim.sim.base.documents import key_path
from pocketsim.sim.base.units import Dimension, Quantity
from pocketsim.sim.scenario import grid
from pocketsim.sim.scenario.load import overlap
from pocketsim.sim.scenario.town import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.load import Document
    from pocketsim.sim.scenario.resolve import Rung


class Value(TypedDict):
    """A value of a scenario: a number in `unit`, or text, truth or None (absent) with unit ""."""

    value: float | int | str | bool | None
    unit: str


def values(scenario: Scenario, at: Mapping[str, Any]) -> dict[str, Value]:
    """Return every value in effect in the rung with the values `at`, by key path.

    What takes a list has the rung's value of it; what the rung has no use for is left out.
    """
    at = {grid.document_key(scenario, key): value for key, value in at.items()}
    return {
        path: _value(value, dimension)
        for path, value, dimension in _leaves(_with_defaults(scenario), (), None, at)
        if grid.has_use(path, at)
    }


def of(document: Document, at: Mapping[str, Any]) -> dict[str, Value]:
    """Return of `values` what was overridden, and what tells the rung from its neighbours."""
    scenario = document.scenario
    named = [grid.document_key(scenario, key) for key in grid.named(scenario, at)]
    return {
        key: value
        for key, value in values(scenario, at).items()
        if key in named or any(overlap(key, other) for other in document.overridden)
    }


def label(document: Document, rung: Rung) -> str:
    """Return a run for people: the rung as its directory is called, and what was overridden."""
    name, _, _digest = rung.name.rpartition("-")
    said = {grid.document_key(document.scenario, key) for key in rung.at}
    others = [
        f"{key} {axes.text(found['value'])} {found['unit']}".rstrip()
        for key, found in of(document, rung.at).items()
        if key not in said
    ]
    return ", ".join([name, *others])


def column(key: str, unit: str) -> str:
    """Return the name of a point's value as a column: its key, and its unit last if it has one."""
    return f"{key}_{_SUFFIXES[unit]}" if unit else key


def _with_defaults(scenario: Scenario) -> Scenario:
    """Return `scenario` with the options of tokens spelled out, where a town leaves them out."""
    protocol = scenario.protocol
    if protocol.kind != "tokens" or protocol.tokens is not None:
        return scenario
    spelled_out = protocol.model_copy(update={"tokens": Tokens()})
    return scenario.model_copy(update={"protocol": spelled_out})


def _leaves(
    value: Any, parts: tuple[str | int, ...], dimension: si.Unit | None, at: Mapping[str, Any]
) -> Iterator[tuple[str, Any, si.Unit | None]]:
    path = key_path(parts)
    if path in at:
        yield path, at[path], dimension
    elif isinstance(value, BaseModel):
        for name, (key, of_field) in _fields(type(value)).items():
            yield from _leaves(getattr(value, name), (*parts, key), of_field, at)
    elif isinstance(value, dict) and parts[-1] == "access" and list(value.values()) == [1.0]:
        # All of a table of shares: the document, too, may say it as the name alone.
        yield path, *value, None
    elif isinstance(value, dict | list) and value:
        items: Iterable[tuple[str | int, Any]]
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for part, item in items:
            yield from _leaves(item, (*parts, part), dimension, at)
    elif isinstance(value, dict | list):
        yield path, None, None
    elif isinstance(value, Quantity):
        yield path, value.value, value.dimension
    else:
        yield path, value, dimension


@functools.cache
def _fields(model: type[BaseModel]) -> dict[str, tuple[str, si.Unit | None]]:
    """Return for each field of `model` its key in documents and its dimension, if it has one."""
    return {
        name: (field.alias or name, si.unit_of((*field.metadata, field.annotation)))
        for name, field in model.model_fields.items()
    }


def _value(value: Any, dimension: si.Unit | None) -> Value:
    if not isinstance(dimension, Dimension):
        return {"value": value, "unit": ""}
    if value is not None and dimension.per_unit != 1:
        value /= dimension.per_unit
    return {"value": value, "unit": dimension.unit}


_SUFFIXES = {
    "s": "s",
    "B": "bytes",
    "B/s": "bytes_per_s",
    "/s": "per_s",
    "EUR": "eur",
    "W": "w",
    "J": "j",
    "m": "m",
    "m/s": "m_per_s",
}
"""Units as names in this project end."""
