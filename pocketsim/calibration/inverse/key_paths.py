"""Key paths of fitted numbers in TOML documents: values are read, and replaced in copies.

A value stays as the document writes it, with its unit. Of schemas it is only known here that
scenarios name profiles; the loader of a copy checks it. The shipped documents are never written.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.documents import key_path, read_toml
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.base.units import DIMENSIONS, Dimension
from pocketsim.sim.scenario.load import parse_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.inverse.document import Loaded, Parameter, Place

ROOT = Path(__file__).resolve().parents[2]
"""The project, to which documents are relative."""

DEVICES, IMPLEMENTATIONS = "devices", "implementations"
"""Folders of profiles: what a group of phones names, and what a scenario names."""


@dataclass(frozen=True)
class Unit:
    """How a value is written: as a quantity of a dimension, or a plain number if there is none."""

    dimension: Dimension | None

    def number(self, value: object) -> float:
        """Return a written value as a number, in SI units; raises ValueError for any other."""
        if self.dimension is not None:
            return self.dimension.parse(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"must be a plain number, not {value!r}")  # noqa: TRY004
        return float(value)

    def write(self, number: float) -> str | float:
        """Return a number as it stands in the document."""
        return number if self.dimension is None else self.dimension.write(number)


@dataclass(frozen=True)
class Documents:
    """The documents that parameters stand in, as they are today, by their names."""

    data: Mapping[str, dict[str, Any]]

    def value(self, place: Place) -> Any:
        """Return what stands at a place; None if nothing does."""
        inside: Any = self.data[place.document]
        for part in parse_key(place.key):
            try:
                inside = inside[part]
            except (LookupError, TypeError):
                return None
        return inside

    def patched(self, values: Sequence[tuple[Place, Any]]) -> dict[str, dict[str, Any]]:
        """Return copies of the documents with `values` at their places."""
        found = copy.deepcopy(dict(self.data))
        for place, value in values:
            *tables, last = parse_key(place.key)
            inside: Any = found[place.document]
            for part in tables:
                inside = inside[part] if isinstance(part, int) else inside.setdefault(part, {})
            inside[last] = value
            _make_sure(inside, value)
        return found


def read(loaded: Loaded) -> tuple[Documents, dict[str, Unit]]:
    """Return the documents that parameters name, and how each parameter is written.

    Raises ScenarioError for a document or a key that is not there, and for what is no number.
    """
    parameters = loaded.fit.parameters
    names = {
        place.document: f"parameters[{number}].document"
        for number, parameter in enumerate(parameters)
        for place in (parameter, *parameter.also)
    }
    documents = Documents({name: _read(name, loaded.path, at) for name, at in names.items()})
    units = {}
    for number, parameter in enumerate(parameters):
        units[parameter.name] = _unit(documents, parameter, loaded.path, f"parameters[{number}]")
    return documents, units


def today(documents: Documents, parameter: Parameter) -> Any:
    """Return the value that a parameter has in its document, or where that leaves it out."""
    found = documents.value(parameter)
    return parameter.today if found is None else found


def unit_of(value: object) -> Unit:
    """Return how a value is written; what is no quantity counts as a plain number."""
    return Unit(_dimension(value))


def is_number(value: object) -> bool:
    """Return whether a value is a number, plain or with a unit."""
    if isinstance(value, str):
        return _dimension(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def leaves(document: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return every value of a document with its key path."""
    return _leaves(document, ())


def _make_sure(number: Any, value: Any) -> None:
    """Remove the error from a number of a trial: no probability near 0 may have a large error."""
    doubt = number.get("standard_error") if isinstance(number, dict) else None
    if isinstance(doubt, float) and isinstance(value, float) and value > 0:
        number["standard_error"] = min(doubt, value / 100)


def _read(name: str, fit: Path, where: str) -> dict[str, Any]:
    try:
        return read_toml(ROOT / name)[1]
    except ScenarioError as error:
        place = f"{name}: {error.key_path}" if error.key_path else name
        raise ScenarioError(fit, where, f"{place}: {error.reason}", error.suggestion) from None


def _unit(documents: Documents, parameter: Parameter, file: Path, where: str) -> Unit:
    for place in (parameter, *parameter.also):
        if documents.value(place) is None and parameter.today is None:
            known = [key for key, _ in leaves(documents.data[place.document])]
            reason = f"{place.document} has no key {place.key!r}"
            raise ScenarioError(file, f"{where}.key", reason, nearest(place.key, known))
    value = today(documents, parameter)
    if parameter.prior.kind == "choice":
        if isinstance(value, dict | list):
            raise ScenarioError(file, f"{where}.key", f"{parameter.key!r} is not one value")
        return Unit(None)
    unit = unit_of(value)
    try:
        unit.number(value)
    except ValueError as error:
        reason = f"{parameter.document}: {parameter.key}: {error}"
        raise ScenarioError(file, f"{where}.key", reason) from None
    return unit


def _dimension(value: object) -> Dimension | None:
    """Return the dimension of a quantity; None of what is none."""
    if not isinstance(value, str):
        return None
    for dimension in DIMENSIONS:
        if any(value.strip().endswith(suffix) for suffix in dimension.suffixes):
            try:
                dimension.parse(value)
            except ValueError:
                continue
            return dimension
    return None


def _leaves(value: Any, parts: tuple[str | int, ...]) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        items: list[tuple[Any, Any]] = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return [(key_path(parts), value)]
    return [leaf for part, inside in items for leaf in _leaves(inside, (*parts, part))]
