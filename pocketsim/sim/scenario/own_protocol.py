"""A protocol of one's own, as a protocol family of scenarios, and the operations that it brings.

Its file is only looked at here, not run: that it has the class, and what its digest is.
"""

from __future__ import annotations

import ast
import hashlib
import re
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import Duration, written
from pocketsim.sim.base.engine_facts import operations
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.base.files import opened
from pocketsim.sim.devices.implementation import ScaledCost
from pocketsim.sim.devices.provenance import Basis
from pocketsim.sim.scenario import trades
from pocketsim.sim.scenario.trades import lists, options

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario

__all__ = ["OwnOperation", "check", "digest", "lists", "message_bytes", "options"]

CLASS = "protocol.class"


class OwnOperation(ScaledCost):
    """What an operation of a protocol of one's own takes; how it is known may be left out."""

    cpu: Duration = Field(default=written("0s"), description="Core time.")
    basis: Basis = Field(default="assumed", description="How it is known, as in a profile.")
    source: str = Field(
        default="the scenario", min_length=1, description="Paper, file and line, or the reasoning."
    )
    standard_error: Duration = Field(
        default=written("0s"), description="Standard error of cpu + wait."
    )

    @model_validator(mode="after")
    def _is_uncertain(self) -> OwnOperation:
        return self  # one's own choice, unlike a profile's claim about a device


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError where no class is named, or an operation is called as one of all runs."""
    trades.check(scenario, path)
    if scenario.protocol.class_ is None:
        raise ScenarioError(path, CLASS, 'is required, such as "gossip.py:Gossip"')
    for name in scenario.operations:
        if name in operations():
            reason = "is what a device or an implementation prices; call yours otherwise"
            raise ScenarioError(path, f"operations.{name}", reason)


def refuse(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for what only a protocol of one's own has, in a scenario of another."""
    protocol = scenario.protocol
    said = {
        CLASS: protocol.class_,
        "protocol.options": protocol.options,
        "operations": scenario.operations,
    }
    for place, value in said.items():
        if value:
            reason = f'is for protocol "python", not "{protocol.kind}"'
            raise ScenarioError(path, place, reason)


def message_bytes(_scenario: Scenario, _payload_bytes: int) -> int:
    """Return 0: what is sent, the protocol alone knows."""
    return 0


def digest(file: Path, name: str) -> str:
    """Return the SHA-256 of the file, in hex; raises ScenarioError where it has no class `name`."""
    with opened(file) as opened_file:
        source = opened_file.read(_LARGEST_BYTES + 1)
    if len(source) > _LARGEST_BYTES:
        raise ScenarioError(file, "", f"is larger than {_LARGEST_BYTES >> 20} MiB")
    try:
        body = ast.parse(source, str(file)).body
    except SyntaxError as error:
        raise ScenarioError(file, f"line {error.lineno}", error.msg) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ScenarioError(file, "", f"not Python: {error}") from None
    classes = [node.name for node in body if isinstance(node, ast.ClassDef)]
    if name not in classes:
        raise ScenarioError(file, "", f"has no class {name}", nearest(name, classes))
    return hashlib.sha256(source).hexdigest()


def parted(scenario: Scenario, path: Path) -> tuple[str, str]:
    """Return file and class of the protocol; raises ScenarioError where it is not so written."""
    text = scenario.protocol.class_ or ""
    match = re.fullmatch(r"(.+\.py):([^\W\d]\w*)", text)
    if match is None:
        reason = f'must be a file and a class in it, such as "gossip.py:Gossip", not {text!r}'
        raise ScenarioError(path, CLASS, reason)
    return match[1], match[2]


_LARGEST_BYTES = 16 << 20  # as of any document
