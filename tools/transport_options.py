"""Writes the options of transports as Python has them, from what the engine says of them.

`python -m tools.transport_options` rewrites transport_options.py (plain values) and
transport_sections.py (what documents may say) in pocketsim/sim/devices; a test fails when they are
stale. An option is declared in Rust, in `TransportConfig` or `EvaConfig` of
sim/protocols/src/transport; the compiled engine gives their JSON Schemas. What a document may say
of an option follows from its type and its unit, which ends its name. Pages and JSON Schemas of
documents are then written from the models.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pocketsim.sim import _engine

FOLDER = Path(__file__).resolve().parents[1] / "pocketsim/sim/devices"


@dataclass(frozen=True)
class Option:
    """One option: its name in SI units, its key in a document, its JSON Schema."""

    name: str
    key: str
    schema: dict[str, Any]

    @property
    def text(self) -> str:
        """What it means, in a line."""
        return " ".join(self.schema["description"].split())

    @property
    def is_optional(self) -> bool:
        """Whether an implementation may leave it out."""
        return bool(self.schema.get("optional")) or self.may_be_none

    @property
    def may_be_none(self) -> bool:
        """Whether none is a value of it."""
        return "null" in self.schema["type"] if "type" in self.schema else False

    @property
    def kind(self) -> str:
        """`duration`, `size`, `blocks`, `count`, `flag` or `choice`."""
        if "enum" in self.schema or "oneOf" in self.schema:
            return "choice"
        if "boolean" in self.schema["type"]:
            return "flag"
        unit = self.name.removeprefix(self.key)
        return {"_s": "duration", "_bytes": "size", "_blocks": "blocks", "": "count"}[unit]

    @property
    def choices(self) -> str:
        """The type of one of several words."""
        words = self.schema.get("enum") or [one["const"] for one in self.schema["oneOf"]]
        return f"Literal[{', '.join(map(json.dumps, words))}]"

    @property
    def is_positive(self) -> bool:
        """Whether 0 is no value of it."""
        return "exclusiveMinimum" in self.schema or self.schema.get("minimum") == 1

    def set_by(self, who: str) -> bool:
        """Tell whether a `scenario` or an `implementation` may set it."""
        return bool(self.schema.get("set_by", who) == who)

    def is_of(self, transport: str) -> bool:
        """Tell whether an implementation's section of a transport has it."""
        return self.set_by("implementation") and transport in self.schema.get("of", [transport])


def options(schema: str) -> list[Option]:
    """Return the options of a JSON Schema, in the order that it requires them, then the others."""
    whole = json.loads(schema)
    found = whole["properties"]
    names = [*whole["required"], *(name for name in found if name not in whole["required"])]
    return [Option(name, _key(name), found[name]) for name in names]


def texts() -> dict[str, str]:
    """Return both files by name."""
    transport, eva = (options(schema) for schema in _engine.option_schemas())
    scenario = [option for option in transport if option.set_by("scenario")]
    alone = [option for option in transport if not option.set_by("scenario")]
    sections = [
        _SECTIONS,
        _document("TransportOptions", "Options of transports in a scenario.", scenario),
        _document("EvaOptions", "Options of EVA in a scenario.", eva),
        _profile("UdpProfile", "Plain UDP in a profile of an implementation.", transport, "udp"),
        _profile("QuicProfile", "QUIC in a profile of an implementation.", transport, "quic"),
        _profile("EvaProfile", "EVA in a profile of an implementation.", eva, "eva"),
    ]
    values = [
        _VALUES,
        _values("TransportValues", "TypedDict", "Options of a scenario, resolved.", scenario),
        _values("MachineOptions", "TransportValues", "Options as the engine takes them.", alone),
        _values("EvaValues", "TypedDict", "Options of EVA, resolved and in the engine.", eva),
        _contents("UdpContents", "Plain UDP in a profile, in SI units.", transport, "udp"),
        _contents("QuicContents", "QUIC in a profile, in SI units.", transport, "quic"),
        _contents("EvaContents", "EVA in a profile, in SI units.", eva, "eva"),
        _unused(transport),
        _lists("LISTS", "Options of which a scenario may list values.", scenario),
        _lists("EVA_LISTS", "Those of EVA.", eva),
    ]
    parts = {"transport_options.py": values, "transport_sections.py": sections}
    return {name: _formatted("\n\n\n".join(each) + "\n") for name, each in parts.items()}


def main() -> int:
    """Write the files; return the exit code."""
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


def _key(name: str) -> str:
    for unit in ("_s", "_bytes", "_blocks"):
        if name.endswith(unit):
            return name.removesuffix(unit)
    return name


def _document(name: str, doc: str, given: list[Option]) -> str:
    """Return the section of a scenario: what it leaves out is the implementation's."""
    fields = []
    for option in given:
        text = option.text + (" A list makes several runs." if option.schema.get("list") else "")
        fields.append(_field(option.key, _in_a_scenario(option), text))
    return _class(name, "Section", doc, fields)


def _in_a_scenario(option: Option) -> str:
    if option.schema.get("set_by") == "scenario":
        assert option.kind == "flag", "what no implementation sets is off unless it is asked for"
        return "bool"
    several = bool(option.schema.get("list"))
    count = "Blocks" if option.kind == "blocks" else "Count"
    kind = {
        "duration": "PositiveDuration" if option.is_positive else "Duration",
        "size": "Sizes" if several else "Size",
        "flag": "Flags" if several else "bool",
        "choice": option.choices if option.kind == "choice" else "",
        "blocks": "BlockCounts" if several else count if option.is_positive else "BlocksOrZero",
        "count": count if option.is_positive else "CountOrZero",
    }[option.kind]
    return f"{kind} | None"


def _profile(name: str, doc: str, given: list[Option], transport: str) -> str:
    """Return the section of a profile, whose values say how they are known."""
    kinds = {"duration": "DurationNumber", "size": "SizeNumber", "flag": "Flag"}
    fields = []
    for option in given:
        if option.is_of(transport):
            kind = kinds.get(option.kind, "Limit")
            kind = f"{option.key.title()}Choice" if option.kind == "choice" else kind
            absent = " Absent: no." if option.kind == "flag" else " Absent: 0."
            says_absent = option.is_optional and not option.may_be_none
            text = option.text + (absent if says_absent else "")
            fields.append(
                _field(option.key, kind + (" | None" if option.is_optional else ""), text)
            )
    choices = [_choice(one) for one in given if one.is_of(transport) and one.kind == "choice"]
    return "\n\n\n".join([*choices, _class(name, "Section", doc, fields)])


def _choice(option: Option) -> str:
    field = f"    value: {option.choices} = Field(description={json.dumps(option.text)})"
    return _class(f"{option.key.title()}Choice", "Provenance", "One of several words.", [field])


def _field(key: str, kind: str, text: str) -> str:
    absent = "default=False, " if kind == "bool" else "default=None, " if "None" in kind else ""
    return f"    {key}: {kind} = Field({absent}description={json.dumps(text)})"


def _values(name: str, base: str, doc: str, given: list[Option]) -> str:
    kinds = {"duration": "float", "flag": "bool", "choice": "str"}
    lines = [
        f"    {one.name}: {kinds.get(one.kind, 'int')}{' | None' if one.may_be_none else ''}"
        for one in given
    ]
    return _class(name, base, doc, lines)


def _contents(name: str, doc: str, given: list[Option], transport: str) -> str:
    """Return what a profile says in SI units: numbers of code have no unit there."""
    lines = []
    for one in given:
        if one.is_of(transport):
            number = one.kind in ("duration", "size")
            none = " | None" if one.is_optional else ""
            lines.append(
                f"    {one.name if number else one.key}: {'Number' if number else 'Choice'}{none}"
            )
    return _class(name, "TypedDict", doc, lines)


def _unused(given: list[Option]) -> str:
    off = {"duration": "0.0", "flag": "False"}
    values = ", ".join(f"{json.dumps(one.name)}: {off.get(one.kind, '0')}" for one in given)
    doc = '"""What a transport has that knows no such option."""'
    return f"UNUSED: MachineOptions = {{{values}}}\n{doc}"


def _lists(name: str, doc: str, given: list[Option]) -> str:
    keys = ", ".join(json.dumps(one.key) for one in given if one.schema.get("list"))
    return f'{name} = ({keys},)\n"""{doc}"""'


def _class(name: str, base: str, doc: str, lines: list[str]) -> str:
    return "\n".join([f"class {name}({base}):", f'    """{doc}"""', "", *lines])


def _formatted(source: str) -> str:
    ruff = Path(sys.executable).parent / "ruff"
    command = [str(ruff), "format", "--stdin-filename", "options.py", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return done.stdout


_MADE = '''Generated from `TransportConfig` and `EvaConfig` in sim/protocols/src/transport by
`python -m tools.transport_options`; to be changed there.
"""

from __future__ import annotations
'''
_VALUES = f'''"""Options of transports as plain values in SI units: profiles, scenarios, plans.

{_MADE}
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pocketsim.sim.devices.contents import Choice, Number'''
_SECTIONS = f'''"""Options of transports as documents and profiles of implementations may have them.

{_MADE}
from typing import Annotated, Literal

from pydantic import Field

from pocketsim.sim.base.documents import (
    BlockCounts,
    Blocks,
    Count,
    Duration,
    Flags,
    PositiveDuration,
    Section,
    Size,
    Sizes,
)
from pocketsim.sim.base.units import BLOCKS
from pocketsim.sim.devices.provenance import (
    DurationNumber,
    Flag,
    Limit,
    Provenance,
    SizeNumber,
)

CountOrZero = Annotated[int, Field(ge=0, le=1_000_000)]
BlocksOrZero = Annotated[CountOrZero, BLOCKS]'''

if __name__ == "__main__":
    sys.exit(main())
