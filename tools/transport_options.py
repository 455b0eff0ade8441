"""Writes what Python has of the options of transports, from what the engine says of them.

`python -m tools.transport_options` rewrites transport_options.json (the engine's JSON Schemas, of
which sections of documents are made) and transport_options.py (types of plain values) in
pocketsim/sim/devices; a test fails when they are stale. An option is declared in Rust, in
`TransportConfig` or `EvaConfig` of sim/protocols/src/transport. Pages and JSON Schemas of documents
are then written from the models.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pocketsim.sim import _engine
from pocketsim.sim.devices.options import options

if TYPE_CHECKING:
    from pocketsim.sim.devices.options import Option

FOLDER = Path(__file__).resolve().parents[1] / "pocketsim/sim/devices"


def texts() -> dict[str, str]:
    """Return both files by name."""
    declared = dict(
        zip(("transport", "eva"), map(json.loads, _engine.option_schemas()), strict=True)
    )
    transport, eva = map(options, declared.values())
    scenario = [option for option in transport if option.set_by("scenario")]
    alone = [option for option in transport if not option.set_by("scenario")]
    values = [
        _VALUES,
        _values("TransportValues", "TypedDict", "Options of a scenario, resolved.", scenario),
        _values("MachineOptions", "TransportValues", "Options as the engine takes them.", alone),
        _values("EvaValues", "TypedDict", "Options of EVA, resolved and in the engine.", eva),
        _contents("UdpContents", "Plain UDP in a profile, in SI units.", transport, "udp"),
        _contents("QuicContents", "QUIC in a profile, in SI units.", transport, "quic"),
        _contents("EvaContents", "EVA in a profile, in SI units.", eva, "eva"),
    ]
    return {
        "transport_options.py": _formatted("\n\n\n".join(values) + "\n"),
        "transport_options.json": json.dumps(declared, indent=1) + "\n",
    }


def main() -> int:
    """Write the files; return the exit code."""
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


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


def _class(name: str, base: str, doc: str, lines: list[str]) -> str:
    return "\n".join([f"class {name}({base}):", f'    """{doc}"""', "", *lines])


def _formatted(source: str) -> str:
    ruff = Path(sys.executable).parent / "ruff"
    command = [str(ruff), "format", "--stdin-filename", "options.py", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    return done.stdout


_VALUES = '''"""Options of transports as plain values in SI units: profiles, scenarios, plans.

Generated from `TransportConfig` and `EvaConfig` in sim/protocols/src/transport by
`python -m tools.transport_options`; to be changed there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pocketsim.sim.devices.contents import Choice, Number'''

if __name__ == "__main__":
    sys.exit(main())
