"""NATs before phones, hole punching and the relay: sections of the scenario document.

Classes are those of RFC 3489 in the terms of RFC 4787: a full cone maps and filters independently
of the endpoint, address- and port-restricted ones filter by address, and by address and port, and a
symmetric one maps so, too. What the engine does with them is in sim/engine/src/network/reach. Which
pairs of phones reach each other is `sim.scenario.reachability`'s to tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import (
    Bandwidth,
    Count,
    Duration,
    PositiveDuration,
    Section,
    Size,
    written,
)
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.units import PACKETS
from pocketsim.sim.scenario.fields import Ratio, Sigma, add_up
from pocketsim.sim.scenario.reachability import CLASSES

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


class Nat(Section):
    """What lies between phones of an access network and the Internet: shares, and timers."""

    open: Ratio = Field(default=0.0, description="Share with a public address.")
    full_cone: Ratio = Field(
        default=0.0,
        description="Share behind a NAT whose mapping and filtering are endpoint-independent.",
    )
    address_restricted: Ratio = Field(
        default=0.0,
        description="Share behind one with endpoint-independent mapping that filters by address.",
    )
    port_restricted: Ratio = Field(
        default=0.0,
        description="Share behind one with endpoint-independent mapping that filters by address"
        " and port.",
    )
    symmetric: Ratio = Field(
        default=0.0,
        description="Share behind one whose mapping and filtering are by address and port.",
    )
    blocked: Ratio = Field(
        default=0.0, description="Share whose UDP does not leave the network; relays use TCP."
    )
    carrier_grade: bool = Field(
        default=False,
        description="Whether each phone draws its class, as behind an operator's NATs; or each"
        " site, as behind a home router.",
    )
    unreplied_timeout: PositiveDuration = Field(
        default=written("30s"),
        description="A binding ends so long after the last datagram out while none has come in.",
    )
    replied_timeout: PositiveDuration = Field(
        default=written("120s"),
        description="The same once one has come in.",
    )
    lifetime: PositiveDuration | None = Field(
        default=None,
        description="A binding ends after so long however much it is used; absent: it does not.",
    )
    inbound_refresh: bool = Field(
        default=False,
        description="Whether a datagram that comes in keeps a binding for longer, too; one that"
        " goes out always does (RFC 4787, REQ-6).",
    )
    client_isolation: bool = Field(
        default=False,
        description="Whether phones of one site do not reach each other by private addresses.",
    )

    @model_validator(mode="after")
    def _shares_add_up(self) -> Nat:
        shares = [getattr(self, name) for name in CLASSES]
        if not add_up(shares):
            named = ", ".join(CLASSES)
            raise ValueError(f"shares of {named} add up to {sum(shares):g}, not 1")
        return self


class HolePunching(Section):
    """What transports with `relay_first` do where both phones are behind NATs.

    The default durations are those of WebRTC between phones, signalling included (Stunner).
    """

    success: Ratio = Field(
        default=0.7,
        description="Probability that a pair succeeds whose classes allow it, drawn once a pair"
        " (70 % of attempts, Trautwein et al., arXiv 2510.27500).",
    )
    setup_median: PositiveDuration = Field(
        default=written("6s"), description="Median of the lognormal time that success takes."
    )
    setup_sigma: Sigma = Field(default=0.661, description="Sigma of that time.")
    failure_median: PositiveDuration = Field(
        default=written("15s"), description="Median of the lognormal time until a pair has failed."
    )
    failure_sigma: Sigma = Field(default=0.68, description="Sigma of that time.")
    path_trust: Duration = Field(
        default=written("6.5s"),
        description="A connection is back on the relay when its direct path has not answered for"
        " so long (iroh 0.35: 6.5 s); 0 for never: what is sent then is lost.",
    )


class Relay(Section):
    """What the relay of transports with `relay_first` can carry."""

    up: Bandwidth | None = Field(
        default=None, description="What it receives of all phones; absent for no limit."
    )
    down: Bandwidth | None = Field(
        default=None, description="What it sends to all phones; absent for no limit."
    )
    queue: Annotated[Count, PACKETS] = Field(
        default=512,
        description="Datagrams of a phone that it holds before each of these limits; it drops what"
        " finds as many (`relay_full`; iroh-relay 0.35: 512).",
    )
    client_rate: Bandwidth | None = Field(
        default=None,
        description="What it takes of each phone on average, by a token bucket; absent for no"
        " limit.",
    )
    client_burst: Size = Field(
        default=written("0B"), description="What the bucket holds: taken at once beyond that."
    )


def with_punching(given: Any) -> Any:
    """Return a network as it is written, which says how to punch if it has NATs."""
    if not isinstance(given, dict) or "hole_punching" in given:
        return given
    access = given.get("access")
    networks = access.values() if isinstance(access, dict) else ()
    has_nats = any(isinstance(one, dict) and one.get("nat") is not None for one in networks)
    return {**given, "hole_punching": {}} if has_nats else given


def check(scenario: Scenario, path: Path) -> None:
    """Refuse NATs and limits of the relay where SimGrid carries datagrams all the way."""
    network = scenario.network
    places = [f"network.access.{name}.nat" for name, one in network.access.items() if one.nat]
    if network.relay is not None:
        places.append("network.relay")
    if places and scenario.run.fidelity == "flow":
        reason = 'run.fidelity = "flow" knows no place between two phones'
        raise ScenarioError(path, places[0], reason, 'run.fidelity = "hybrid"')
    if network.hole_punching is not None and not any(one.nat for one in network.access.values()):
        reason = "no access network has a section nat"
        raise ScenarioError(path, "network.hole_punching", reason)
