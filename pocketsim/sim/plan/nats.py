"""Which phone is behind which NAT, and what the relay can carry, as the engine takes them.

Classes are drawn from the stream "name/nat": of each phone where the NAT is an operator's, or of
the first phone of each site. The tokens' authority, a server, has a public address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base.streams import Lanes
from pocketsim.sim.plan import plan
from pocketsim.sim.plan.population import ROLES, Indices, by_share
from pocketsim.sim.scenario.reachability import (
    CLASSES,
    UNLIMITED,
    Site,
    Ways,
    class_shares,
    of_phones,
)

if TYPE_CHECKING:
    from pocketsim.sim.plan.population import Population
    from pocketsim.sim.scenario import resolved as given
    from pocketsim.sim.scenario.resolved import Resolved


def classes(resolved: Resolved, name: str, people: Population) -> Indices:
    """Return the class of the NAT of each attachment; nothing where networks say nothing of any."""
    network = resolved["network"]
    if "hole_punching" not in network:
        return np.zeros(0, dtype=np.int64)
    phone, networks, sites = people.attachments()
    alone = people.attachment_draws(Lanes(resolved["run"]["seed"], f"{name}/nat"))
    # A NAT is that of its site's first phone: sites may be more when phones are added, and others.
    _, first, site = np.unique(sites, return_index=True, return_inverse=True)
    together = alone[first][site]
    found = np.zeros(phone.size, dtype=np.int64)
    for number, access in enumerate(_access(network)):
        nat = access.get("nat")
        if nat is not None:
            here = (networks == number) & (people.role[phone] != ROLES.index("authority"))
            chance = alone if nat["carrier_grade"] else together
            found[here] = by_share(list(class_shares(nat).values()), chance[here])
    return found


def columns(network: given.Network, classes: Indices) -> plan.Nats | None:
    """Return the NATs of phones of these classes; None of networks that say nothing of any."""
    if "hole_punching" not in network:
        return None
    return {
        "classes": plan.numbers(classes),
        "access": [_nat(access.get("nat")) for access in _access(network)],
        "hole_punching": network["hole_punching"],
    }


def relay(resolved: Resolved) -> plan.Relay | None:
    """Return the limits of the relay, without contention those of each client alone.

    None where it is a delay alone.
    """
    limits = resolved["network"].get("relay")
    if limits is None:
        return None
    shared = resolved["run"].get("contention", True)
    return {
        "up_bytes_per_s": limits["up_bytes_per_s"] if shared else None,
        "down_bytes_per_s": limits["down_bytes_per_s"] if shared else None,
        "queue_packets": limits["queue_packets"],
        "client_rate_bytes_per_s": limits["client_rate_bytes_per_s"],
        "client_burst_bytes": limits["client_burst_bytes"],
    }


def ways(resolved: Resolved, made: plan.Plan) -> Ways | None:
    """Return by what phones reach each other in a repetition, as its classes are drawn."""
    nats = made["nats"]
    if nats is None:
        return None
    sites: dict[int, Site] = {}
    columns = (made["phones"]["site"], made["phones"]["access"], nats["classes"])
    for site, access, number in zip(*(column.tolist() for column in columns), strict=True):
        isolated = nats["access"][access]["client_isolation"]
        here = sites.setdefault(site, Site({}, isolated=isolated))
        here.classes[CLASSES[number]] = here.classes.get(CLASSES[number], 0) + 1
    success = nats["hole_punching"]["success"]
    return of_phones(list(sites.values()), resolved["transport"], success)


def _access(network: given.Network) -> list[given.Access]:
    return [access for _, access in sorted(network["access"].items())]


def _nat(nat: given.Nat | None) -> plan.Nat:
    """Return what the NATs of a network have in common; without any, nothing looks at it."""
    return {
        "unreplied_timeout_s": nat["unreplied_timeout_s"] if nat else UNLIMITED,
        "replied_timeout_s": nat["replied_timeout_s"] if nat else UNLIMITED,
        "lifetime_s": nat["lifetime_s"] if nat else None,
        "inbound_refresh": nat["inbound_refresh"] if nat else False,
        "client_isolation": nat["client_isolation"] if nat else False,
    }
