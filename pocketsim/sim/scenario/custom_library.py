"""A custom protocol in Rust: the library that a scenario names, which is linked to the engine.

Here the library is checked, not loaded: it must hold the module, for the engine that is installed.
Its digest is made here, too.
"""

from __future__ import annotations

import functools
import hashlib
import re
from typing import TYPE_CHECKING

from pocketsim.sim.base.build import engine_file
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import opened

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario

LIBRARY = "protocol.library"


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError where no library is named."""
    if scenario.protocol.library is None:
        raise ScenarioError(path, LIBRARY, 'is required, such as "target/release/libmine.so"')


def digest(file: Path) -> str:
    """Return the SHA-256 of the library, in hex; raises ScenarioError where it cannot be used."""
    with opened(file) as opened_file:
        content = opened_file.read(_LARGEST_BYTES + 1)
    if len(content) > _LARGEST_BYTES:
        raise ScenarioError(file, "", f"is larger than {_LARGEST_BYTES >> 20} MiB")
    reason = _wrong(content)
    if reason is not None:
        raise ScenarioError(file, "", reason)
    return hashlib.sha256(content).hexdigest()


def _wrong(content: bytes) -> str | None:
    """Return why a file is no library that the engine here can run with, or None."""
    if not content.startswith(_ELF):
        return "is no library: it does not begin as one"
    found = [match[0] for match in _BUILD.finditer(content)]
    if _MODULE not in content or not found:
        return "is no custom protocol: it has no Python module own_protocol around the engine"
    here = _installed()
    if here and here not in found:
        reason = f"was built from another engine ({_said(found[0])}) than that which is installed"
        return f"{reason} ({_said(here)}); build it again"
    return None


@functools.cache
def _installed() -> bytes | None:
    """Return which engine is installed; without one, whoever would run it says so."""
    file = engine_file()
    found = _BUILD.search(file.read_bytes()) if file else None
    return found[0] if found else None


def _said(build: bytes) -> str:
    match = _BUILD.fullmatch(build)
    assert match is not None, "it was found by this"
    return f"{match[1].decode()}, sources {match[2].decode()}"


_ELF = b"\x7fELF"
_MODULE = b"PyInit_own_protocol\0"
_BUILD = re.compile(rb"pocketsim engine ([0-9A-Za-z.+-]{1,40}) of sources ([0-9a-f]{16});")
"""`BUILD` of sim/engine/src/bindings/python.rs, in every library that is linked to the engine."""
_LARGEST_BYTES = 512 << 20  # one that is not optimised has 100 MB, most of it for debuggers
