"""One rule: a section of a document as plain numbers in SI units, each under its SI name.

A field's name is its key in the document with the unit last, where it has one: `latency` becomes
`latency_s`, `up` becomes `up_bytes_per_s`. A number that comes with its uncertainty is one number,
so that the unit ends its own key and those inside stay as they are. What a value means, and which
of a list's values a run has, is not known here.
"""

from __future__ import annotations

import datetime as dt
import functools
import typing
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.documents import Section
from pocketsim.sim.base.units import Counted, Dimension

if TYPE_CHECKING:
    from collections.abc import Mapping

Unit = Dimension | Counted


def section(given: Section, at: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a section as JSON-able values in SI units, by SI name.

    `at` has values by key in the document that stand in for the section's own: of its lists, those
    that a run has. What a document leaves out of `absent_when_none` is left out here, too.
    """
    at = at or {}
    return {
        name: at[key] if key in at else plain(getattr(given, field))
        for field, (key, name) in _names(type(given)).items()
        if field not in given.absent_when_none or getattr(given, field) is not None
    }


def plain(value: Any) -> Any:
    """Return any value of a section as JSON-able values; sections inside go by `section`."""
    if isinstance(value, Section):
        return section(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, dt.date) else value


def names(model: type[Section]) -> dict[str, str]:
    """Return the SI name of each field of a section by its key in the document."""
    return dict(_names(model).values())


def unit_of(annotations: tuple[Any, ...]) -> Unit | None:
    """Return the unit among `annotations`, or within one as in `Bandwidth | None`."""
    for one in annotations:
        if isinstance(one, Dimension | Counted):
            return one
        inside = _of_a_number(one) if isinstance(one, type) else unit_of(typing.get_args(one))
        if inside is not None:
            return inside
    return None


def _of_a_number(model: type) -> Unit | None:
    """Return the unit of a number with its uncertainty: that of its first field that has one."""
    if not (issubclass(model, Section) and model.is_one_number):
        return None
    found = (unit_of((*info.metadata, info.annotation)) for info in model.model_fields.values())
    return next((unit for unit in found if unit is not None), None)


@functools.cache
def _names(model: type[Section]) -> dict[str, tuple[str, str]]:
    """Return for each field of `model` its key in documents and its SI name."""
    found = {}
    for field, info in model.model_fields.items():
        key = info.alias or field
        unit = None if model.is_one_number else unit_of((*info.metadata, info.annotation))
        found[field] = (key, f"{key}_{unit.si}" if unit else key)
    return found
