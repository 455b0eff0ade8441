"""What there is to say of a scenario before it runs: by what its phones reach each other.

Shares are expected ones (`sim.scenario.reachability`); what a run draws is in its metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pocketsim.sim.base import si
from pocketsim.sim.scenario import implementations
from pocketsim.sim.scenario.reachability import coordinates, expected

if TYPE_CHECKING:
    from pocketsim.sim.scenario.load import Document
    from pocketsim.sim.scenario.resolved import Group, Network, Transport


def lines(document: Document) -> list[str]:
    """Return a line for each transport of a scenario that says how pairs of phones reach others."""
    scenario = document.scenario
    network = cast("Network", si.section(scenario.network))
    groups = [cast("Group", si.section(group)) for group in scenario.devices]
    found = []
    for mode in scenario.transport.mode:
        options = implementations.with_transport(scenario.transport, document.implementation, mode)
        transport = cast("Transport", {"mode": mode, "relay_first": options.relay_first})
        ways = expected(network, groups, transport)
        if ways is not None:
            count = scenario.phone_count() * (scenario.phone_count() - 1)
            how = "coordinated over the relay" if coordinates(transport) else "not coordinated"
            found.append(f"{mode}, {how}: of {count:,} ordered pairs of phones {ways.text()}")
    return found
