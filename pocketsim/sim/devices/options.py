"""What the engine declares of the options of transports: names, units, bounds and meanings.

An option is declared in Rust, in `TransportConfig` or `EvaConfig` of sim/protocols/src/transport;
transport_options.json holds their JSON Schemas as the compiled engine gives them
(`python -m tools.transport_options` writes it). What a document may say of an option follows from
its type and its unit, which ends its name; `sim.devices.transport_sections` has these sections.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DECLARED = Path(__file__).with_name("transport_options.json")


@dataclass(frozen=True)
class Option:
    """One option: its name in SI units, and its JSON Schema."""

    name: str
    schema: dict[str, Any]

    @property
    def key(self) -> str:
        """Its key in a document, which has no unit."""
        unit = next((unit for unit in _KINDS if unit and self.name.endswith(unit)), "")
        return self.name.removesuffix(unit)

    @property
    def kind(self) -> str:
        """`duration`, `size`, `blocks`, `count`, `flag` or `choice`."""
        if self.words:
            return "choice"
        is_flag = "boolean" in self.schema["type"]
        return "flag" if is_flag else _KINDS[self.name.removeprefix(self.key)]

    @property
    def words(self) -> tuple[str, ...]:
        """What may be chosen; of what is no choice, nothing."""
        several = self.schema.get("oneOf", ())
        return tuple(self.schema.get("enum") or (one["const"] for one in several))

    @property
    def text(self) -> str:
        """What it means, in a line."""
        return " ".join(self.schema["description"].split())

    @property
    def may_be_none(self) -> bool:
        """Whether none is a value of it."""
        return "null" in self.schema.get("type", ())

    @property
    def is_optional(self) -> bool:
        """Whether an implementation may leave it out."""
        return bool(self.schema.get("optional")) or self.may_be_none

    @property
    def is_positive(self) -> bool:
        """Whether 0 is no value of it."""
        return "exclusiveMinimum" in self.schema or self.schema.get("minimum") == 1

    @property
    def has_list(self) -> bool:
        """Whether a scenario may list values of it."""
        return bool(self.schema.get("list"))

    def set_by(self, who: str) -> bool:
        """Tell whether a `scenario` or an `implementation` may set it."""
        return bool(self.schema.get("set_by", who) == who)

    def is_of(self, transport: str) -> bool:
        """Tell whether an implementation's section of a transport has it."""
        return self.set_by("implementation") and transport in self.schema.get("of", [transport])


def options(schema: dict[str, Any]) -> list[Option]:
    """Return the options of a JSON Schema, in the order that it requires them, then the others."""
    names = dict.fromkeys([*schema["required"], *schema["properties"]])
    return [Option(name, schema["properties"][name]) for name in names]


_KINDS = {"_s": "duration", "_bytes": "size", "_blocks": "blocks", "": "count"}
TRANSPORT, EVA = map(options, json.loads(DECLARED.read_text(encoding="utf-8")).values())
UNUSED: dict[str, Any] = {
    one.name: {"duration": 0.0, "flag": False}.get(one.kind, 0) for one in TRANSPORT
}
"""What a transport has that knows no such option."""
LISTS, EVA_LISTS = (tuple(one.key for one in each if one.has_list) for each in (TRANSPORT, EVA))
"""Options of which a scenario may list values, and those of EVA."""
