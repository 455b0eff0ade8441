"""The protocol family of custom protocols in scenarios, and the operations that they bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import Duration, written
from pocketsim.sim.base.engine_facts import operations
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices.implementation import ScaledCost
from pocketsim.sim.devices.provenance import Basis
from pocketsim.sim.scenario import custom_library, trades
from pocketsim.sim.scenario.data_files import PROTOCOL

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


class CustomOperation(ScaledCost):
    """What an operation of a custom protocol takes; how it is known may be left out."""

    cpu: Duration = Field(default=written("0s"), description="Core time.")
    basis: Basis = Field(default="assumed", description="How it is known, as in a profile.")
    source: str = Field(
        default="the scenario", min_length=1, description="Paper, file and line, or the reasoning."
    )
    standard_error: Duration = Field(
        default=written("0s"), description="Standard error of cpu + wait."
    )

    @model_validator(mode="after")
    def _is_uncertain(self) -> CustomOperation:
        return self  # one's own choice, unlike a profile's claim about a device


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError where no class is named, or an operation is called as one of all runs.

    In Rust it is a library that is to be named.
    """
    trades.check(scenario, path)
    if scenario.protocol.kind == "rust":
        custom_library.check(scenario, path)
    elif scenario.protocol.class_ is None:
        raise ScenarioError(path, PROTOCOL, 'is required, such as "gossip.py:Gossip"')
    if "eva" in scenario.transport.mode:
        reason = "takes a transaction for one message, and a protocol of your own sends several"
        raise ScenarioError(path, "transport.mode", f"eva {reason}", "udp")
    for name in scenario.operations:
        if name in operations():
            reason = "is what a device or an implementation prices; call yours otherwise"
            raise ScenarioError(path, f"operations.{name}", reason)


def refuse(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for what only a custom protocol has, in a scenario of another."""
    protocol = scenario.protocol
    said = {
        PROTOCOL: (protocol.class_, ("python",)),
        custom_library.LIBRARY: (protocol.library, ("rust",)),
        "protocol.options": (protocol.options, ("python", "rust")),
        "protocol.adversary": (protocol.adversary, ("python",)),
        "operations": (scenario.operations, ("python", "rust")),
    }
    for place, (value, kinds) in said.items():
        if value and protocol.kind not in kinds:
            which = " or ".join(f'"{kind}"' for kind in kinds)
            raise ScenarioError(path, place, f'is for protocol {which}, not "{protocol.kind}"')


def message_bytes(_scenario: Scenario, _payload_bytes: int) -> int:
    """Return 0: only the protocol knows what it sends."""
    return 0
