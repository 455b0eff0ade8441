"""JSON Schemas of documents, each generated from the document's model.

`python -m pocketsim.api.documents.schema` rewrites all of them, and the scenario's reference page,
where they lie; a test fails when one is stale.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, get_args

from pocketsim.api.documents.catalog import PACKAGE
from pocketsim.sim.base.files import key_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic import BaseModel

Kind = Literal["scenario", "sweep", "profile", "implementation", "fit", "presence", "law", "rates"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds of documents that people write, a `profile` is a device's; and `rates`, of a device,
which other programs read."""


def file(kind: str) -> Path:
    """Return the file that holds the schema of a kind of documents."""
    return PACKAGE / "schemas" / f"{kind}.schema.json"


def keys(kind: str, document: Mapping[str, Any]) -> list[str]:
    """Return the paths of the keys that a document of a kind may have, as overrides name them.

    Tables that people name, elements of lists, and kinds of tables are those of `document`; where
    it says no kind, they are all. Reads the schema's file, no model.
    """
    schema = json.loads(file(kind).read_text(encoding="utf-8"))
    return list(dict.fromkeys(_keys(schema, schema.get("$defs", {}), (), document)))


def _keys(
    field: Mapping[str, Any], tables: Mapping[str, Any], parts: tuple[str | int, ...], value: Any
) -> Iterator[str]:
    """Yield the paths at and below a field that has this value; None for one that is not there."""
    for form in _forms(field, tables, value):
        if form.get("type") != "object":
            yield key_path(parts)
        inner = dict(form.get("properties", {}))
        has = value if isinstance(value, dict) else {}
        if isinstance(form.get("additionalProperties"), dict):  # what tables of any name hold
            inner |= dict.fromkeys(has, form["additionalProperties"])
        for name, one in inner.items():
            yield from _keys(one, tables, (*parts, name), has.get(name))
        for number, item in enumerate(value if isinstance(value, list) else []):
            for one in _forms(form.get("items", {}), tables, item):
                if one.get("type") == "object":
                    yield from _keys(one, tables, (*parts, number), item)


def _forms(
    field: Mapping[str, Any], tables: Mapping[str, Any], value: Any
) -> Iterator[Mapping[str, Any]]:
    """Yield what a field may be, but for absent: of a table that says its kind, that one."""
    if "$ref" in field:
        field = tables[field["$ref"].rpartition("/")[2]]
    every = [*field.get("anyOf", ()), *field.get("oneOf", ())]
    if "discriminator" in field and isinstance(value, dict):
        named = field["discriminator"]["mapping"]
        chosen = named.get(value.get(field["discriminator"]["propertyName"]))
        # Of a kind that has kinds itself, the mapping has the form, not where it is.
        every = [chosen if isinstance(chosen, dict) else {"$ref": chosen}] if chosen else every
    for form in every:
        yield from _forms(form, tables, value)
    if not every and field.get("type") != "null":
        yield field


def generated(kind: str) -> str:
    """Return the schema of a kind of documents as its model is now."""
    from pocketsim.calibration.inverse.document import Fit
    from pocketsim.sim.devices.implementation import Implementation
    from pocketsim.sim.devices.profile import Profile
    from pocketsim.sim.export.rates import Rates
    from pocketsim.sim.run.sweep_document import SweepDocument
    from pocketsim.sim.scenario import schema
    from pocketsim.sim.scenario.contact_law import ContactLaw
    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.presence_law import PresenceLaw

    models: dict[str, type[BaseModel]] = {
        "scenario": Scenario,
        "sweep": SweepDocument,
        "profile": Profile,
        "implementation": Implementation,
        "fit": Fit,
        "presence": PresenceLaw,
        "law": ContactLaw,
        "rates": Rates,
    }
    return schema.schema_text(models[kind])


def write() -> None:
    """Write every schema, and what else is generated from the scenario's model."""
    from pocketsim.sim.scenario import schema

    schema.write()
    for kind in KINDS:
        file(kind).write_text(generated(kind), encoding="utf-8")


if __name__ == "__main__":
    write()
