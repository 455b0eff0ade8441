"""By what phones reach each other, from the classes of their NATs: shares of ordered pairs.

A pair is a phone and one that it wants to reach. Of transports with `relay_first`, whose ends
coordinate over the relay (quic_keep, quic_reconnect), it is

* `direct` where the other has a public address, or both share a site and its private addresses;
* `punched` where the classes allow hole punching (Ford et al., USENIX ATC 2005; RFC 5128), with
  the probability that it succeeds; and where the first alone has a public address, since the
  other dials;
* `relay` otherwise.

Of others it is `direct` as before and where the other is behind a full cone, while its binding
lasts, and `none` otherwise: such phones answer whom they have sent to, and nobody else reaches
them.
Which binding is there when is the engine's to tell (sim/engine/src/network/reach).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pocketsim.sim.scenario.resolved import Access, Group, Nat, Network, Transport

CLASSES = (
    *("open", "full_cone", "address_restricted"),
    *("port_restricted", "symmetric", "blocked"),
)
"""Names of the classes, in the order of the engine's `NatClass`."""
UNLIMITED = math.inf
"""Seconds that a binding lasts of which nobody says how long."""


class Ways(NamedTuple):
    """Shares of ordered pairs of phones, which add up to 1."""

    direct: float
    punched: float
    relay: float
    none: float

    def text(self) -> str:
        """Return the shares in words."""
        parts = zip(("direct", "direct by hole punching", "by the relay alone"), self, strict=False)
        named = [f"{100 * share:.1f} % {how}" for how, share in parts]
        return f"{', '.join(named)}, {100 * self.none:.1f} % not at all"


@dataclass(frozen=True)
class Site:
    """Phones of one site by the class of their NAT; isolated ones have no private addresses."""

    classes: dict[str, int]
    isolated: bool


def coordinates(transport: Transport) -> bool:
    """Tell whether ends of a transport tell each other over the relay when to send."""
    return transport["mode"].startswith("quic") and transport["relay_first"]


def class_shares(nat: Nat) -> dict[str, float]:
    """Return the share of each class, in the order of `CLASSES`."""
    return {
        "open": nat["open"],
        "full_cone": nat["full_cone"],
        "address_restricted": nat["address_restricted"],
        "port_restricted": nat["port_restricted"],
        "symmetric": nat["symmetric"],
        "blocked": nat["blocked"],
    }


def of_phones(sites: Sequence[Site], transport: Transport, success: float) -> Ways:
    """Return by what phones reach each other whose classes are known."""
    total = dict.fromkeys(CLASSES, 0)
    for site in sites:
        for name, count in site.classes.items():
            total[name] += count
    pairs = {
        (one, other): float(total[one] * (total[other] - (one == other)))
        for one in CLASSES
        for other in CLASSES
    }
    local = 0.0
    for site in sites:
        if not site.isolated:
            size = sum(site.classes.values())
            local += size * (size - 1)
            for one, count in site.classes.items():
                for other, others in site.classes.items():
                    pairs[one, other] -= count * (others - (one == other))
    return _ways(local, pairs, success if coordinates(transport) else None)


def expected(network: Network, groups: Iterable[Group], transport: Transport) -> Ways | None:
    """Return by what phones reach each other on average; None of networks without NATs.

    Phones are taken to be on networks and in sites just as often as their shares say.
    """
    if "hole_punching" not in network:
        return None
    phones, servers = _phones(groups)
    homes = [_Home.of(network["access"][name], count) for name, count in phones.items()]
    homes += [_Home(1.0, 1.0, {"open": 1.0}) for _ in range(servers)]
    pairs = dict.fromkeys(((one, other) for one in CLASSES for other in CLASSES), 0.0)
    local = 0.0
    for home in homes:
        for other in homes:
            # Of one network, those on other sites.
            others = other.count - (home.per_site if other is home else 0.0)
            _add(pairs, home.count * others, home.shares, other.shares)
        together = home.count * (home.per_site - 1)
        if not home.isolated:
            local += together
        elif home.carrier_grade:
            _add(pairs, together, home.shares, home.shares)
        else:
            for name, share in home.shares.items():
                pairs[name, name] += together * share
    success = network["hole_punching"]["success"]
    return _ways(local, pairs, success if coordinates(transport) else None)


@dataclass(frozen=True, eq=False)
class _Home:
    """Phones of one network, how many are on a site, and shares of their classes."""

    count: float
    per_site: float
    shares: Mapping[str, float]
    carrier_grade: bool = False
    isolated: bool = False

    @classmethod
    def of(cls, access: Access, count: float) -> _Home:
        per_site = min(float(access["phones_per_site"] or math.inf), count)
        if "nat" not in access:
            return cls(count, per_site, {"open": 1.0})
        nat = access["nat"]
        isolated = nat["client_isolation"]
        return cls(count, per_site, class_shares(nat), nat["carrier_grade"], isolated)


def _phones(groups: Iterable[Group]) -> tuple[dict[str, float], int]:
    """Return how many phones are on each access network, and how many are servers."""
    phones: dict[str, float] = {}
    servers = 0
    for group in groups:
        if group["role"] == "authority":
            servers += group["count"]
            continue
        for name, share in group["access"].items():
            if share:
                phones[name] = phones.get(name, 0.0) + share * group["count"]
    return phones, servers


def _add(
    pairs: dict[tuple[str, str], float],
    count: float,
    shares: Mapping[str, float],
    others: Mapping[str, float],
) -> None:
    for one, share in shares.items():
        for other, of_others in others.items():
            pairs[one, other] += count * share * of_others


def _ways(local: float, pairs: Mapping[tuple[str, str], float], success: float | None) -> Ways:
    found = [local, 0.0, 0.0, 0.0]
    for (one, other), count in pairs.items():
        for number, share in enumerate(_between(one, other, success)):
            found[number] += count * share
    total = sum(found)
    return Ways(*(count / total if total else 0.0 for count in found))


def _between(one: str, other: str, success: float | None) -> Ways:
    """Return by what a phone of one class reaches one of another class on another site.

    `success` is None of transports that do not coordinate.
    """
    if "blocked" in (one, other):
        return _NOT_AT_ALL if success is None else Ways(0.0, 0.0, 1.0, 0.0)
    if other == "open" or (other == "full_cone" and success is None):
        return Ways(1.0, 0.0, 0.0, 0.0)
    if success is None:
        return _NOT_AT_ALL
    if one == "open":
        return Ways(0.0, 1.0, 0.0, 0.0)
    is_strict = all(name in _FILTERING_PORTS for name in (one, other))
    punched = 0.0 if "symmetric" in (one, other) and is_strict else success
    return Ways(0.0, punched, 1.0 - punched, 0.0)


_FILTERING_PORTS = ("port_restricted", "symmetric")
_NOT_AT_ALL = Ways(0.0, 0.0, 0.0, 1.0)
