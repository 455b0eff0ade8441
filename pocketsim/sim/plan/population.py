"""The phones of a plan: one column per property, and the device profiles they refer to.

Placement draws from one lane per phone, keyed by group and place in the group, so a phone added
to a group leaves every other phone where it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.engine_facts import OPERATIONS
from pocketsim.sim.base.streams import Floats, Lanes
from pocketsim.sim.devices.prices import own_prices, prices
from pocketsim.sim.plan import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pocketsim.sim.devices.contents import (
        AfterRest,
        ImplementationContents,
        ScaledCost,
        Scheduler,
        Shipped,
    )
    from pocketsim.sim.scenario.resolved import Resolved

Indices = npt.NDArray[np.int64]
Goes = tuple[Indices, Indices]
"""Phones and numbers of access networks, of one length."""
ROLES = ("person", "shop", "authority")


@dataclass(frozen=True)
class Further:
    """Access networks that phones go to beside their first, and their sites there, in columns.

    They are sorted by phone and network.
    """

    phone: Indices
    access: Indices
    site: Indices


@dataclass(frozen=True)
class Population:
    """The phones as arrays of one length (phones), in the order of the scenario's groups.

    `group` is the number of the group among these; `lane` keys each phone's random streams;
    `profile`, `access` and `site` are numbers into the plan's lists, in which names are sorted;
    `site_access` gives the access network of each site;
    `role` is the place in `ROLES`, `own_rate_per_s` the rate of the group, NaN where it has none;
    `further` is where they go.
    """

    group: Indices
    lane: npt.NDArray[np.uint64]
    profile: Indices
    access: Indices
    site: Indices
    site_access: Indices
    role: Indices
    own_rate_per_s: Floats
    further: Further

    def attachments(self) -> tuple[Indices, Indices, Indices]:
        """Return phone, network and site of every attachment, each phone's first before others."""
        phones, further = np.arange(self.lane.size), self.further
        columns = (phones, further.phone), (self.access, further.access), (self.site, further.site)
        phone, access, site = map(np.concatenate, columns)
        return phone, access, site

    def attachment_draws(self, lanes: Lanes) -> Floats:
        """Return a draw for each attachment, from its phone's lane.

        Draw 0 is of the first of each phone, others have the numbers of their networks behind that.
        """
        phone, access, _ = self.attachments()
        is_further = np.arange(phone.size) >= self.lane.size
        return lanes.uniform(self.lane[phone], np.where(is_further, 1 + access, 0))

    def rate_per_s(self, of_others: float) -> Floats:
        """Return what each phone is asked for: the rate of its group, or that of the workload."""
        return np.where(np.isnan(self.own_rate_per_s), of_others, self.own_rate_per_s)


def populate(
    resolved: Resolved,
    name: str,
    goes: Goes | None = None,
    place: Callable[[Indices, Indices], Indices] | None = None,
) -> Population:
    """Place the phones of `resolved` on access networks and sites, from streams under `name`.

    `goes` are phones and networks that they move to. `place` tells of phones and networks at which
    place each access point is, by number, and -1 where a network fills its sites in their order.
    """
    groups = resolved["devices"]
    group, lane = lanes(resolved)
    profile_names = sorted(resolved["profiles"])
    profile = np.array([profile_names.index(devices["profile"]) for devices in groups])[group]
    access = access_of(resolved, name)
    phone, to = _further(access, goes)
    everywhere = np.concatenate([access, to])
    at = np.full(everywhere.size, -1, dtype=np.int64)
    if place is not None:
        at = place(np.concatenate([np.arange(access.size), phone]), everywhere)
    sites, site_access = _sites(resolved, everywhere, at)
    site, further = sites[: access.size], Further(phone, to, sites[access.size :])
    role = np.array([ROLES.index(devices["role"]) for devices in groups])[group]
    own_rate_per_s = np.array([devices.get("rate_per_s", math.nan) for devices in groups])[group]
    return Population(
        group, lane, profile, access, site, site_access, role, own_rate_per_s, further
    )


def access_of(resolved: Resolved, name: str) -> Indices:
    """Return the number of the access network of each phone at the beginning."""
    group, lane = lanes(resolved)
    streams = Lanes(resolved["run"]["seed"], f"{name}/access")
    return _access(resolved, group, streams.uniform(lane, 0))


def _further(access: Indices, goes: Goes | None) -> tuple[Indices, Indices]:
    """Return phones and networks, each pair once, but those that phones begin with."""
    if goes is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    phone, to = np.unique(np.stack(goes, axis=1), axis=0).T
    is_other = to != access[phone]
    return phone[is_other], to[is_other]


def lanes(resolved: Resolved) -> tuple[Indices, npt.NDArray[np.uint64]]:
    """Return of each phone the number of its group, and the lane that keys its streams."""
    counts = [group["count"] for group in resolved["devices"]]
    group = np.repeat(np.arange(len(counts)), counts)
    lane = np.concatenate([np.arange(count) for count in counts]).astype(np.uint64)
    return group, lane | (group.astype(np.uint64) << np.uint64(32))


def profile_columns(
    contents: Shipped,
    implementation: ImplementationContents,
    operations: Mapping[str, ScaledCost],
) -> plan.Profile:
    """Return one device as the engine takes it: an array of each cost over a machine's steps.

    The scenario's own operations follow those of everybody.
    """
    costs = prices(contents, implementation) + own_prices(contents, operations)
    scheduler = contents["scheduler"]
    return {
        "cores": round(contents["device"]["cores"]["value"]),
        "cpu_s": plan.floats([cost["cpu_s"] for cost in costs]),
        "per_byte_s": plan.floats([cost["per_byte_s"] for cost in costs]),
        "threads": plan.numbers([cost["threads"] for cost in costs]),
        "wait_s": plan.floats([cost["wait_s"] for cost in costs]),
        "spread_sigma": plan.floats([cost["spread_sigma"] for cost in costs]),
        "wake_after": _after_rest(scheduler.get("wake_after", [])),
        "quic_wake_after": _after_rest(scheduler.get("quic_wake_after", [])),
        "pace_after": _after_rest(scheduler.get("pace_after", [])),
        "own_after": _own_after(implementation, scheduler),
        "tick_core_s": scheduler["tick_s"]["value"] if "tick_s" in scheduler else 0.0,
        "eevdf": "policy" in scheduler and scheduler["policy"]["value"] == "eevdf",
        "socket_buffer_bytes": contents["device"]["socket_buffer_bytes"],
    }


def _own_after(implementation: ImplementationContents, scheduler: Scheduler) -> list[plan.OwnAfter]:
    told = {
        cost["step"]: cost["after_rest"]
        for _, cost in sorted(implementation["own_costs"].items())
        if "after_rest" in cost
    }
    if "send_after" in scheduler:
        told.setdefault("udp_send", scheduler["send_after"])
    return [
        {"operation": OPERATIONS.index(name), "after": _after_rest(rests)}
        for name, rests in told.items()
    ]


def _after_rest(known: Sequence[AfterRest]) -> plan.AfterRest:
    return {
        "rest_s": plan.floats([each["rest_s"] for each in known]),
        "ratio": plan.floats([each["ratio"] for each in known]),
    }


def _access(resolved: Resolved, group: Indices, uniform: npt.NDArray[np.float64]) -> Indices:
    names = sorted(resolved["network"]["access"])
    chosen = np.zeros(group.size, dtype=np.int64)
    for number, devices in enumerate(resolved["devices"]):
        here = group == number
        shares = sorted(devices["access"].items())
        numbers = np.array([names.index(name) for name, _ in shares])
        chosen[here] = numbers[by_share([share for _, share in shares], uniform[here])]
    return chosen


def by_share(shares: Sequence[float], chance: npt.NDArray[np.float64]) -> Indices:
    """Return which of those with these shares, of 1, each number between 0 and 1 falls to.

    None falls to a share of 0.
    """
    edges = np.cumsum(shares)
    edges[np.flatnonzero(shares)[-1] :] = np.inf  # a sum of decimal fractions may be less than 1
    found: Indices = np.searchsorted(edges, chance, side="right")
    return found


def _sites(resolved: Resolved, access: Indices, place: Indices) -> tuple[Indices, Indices]:
    """Give each place a site of its own, and fill others in the order of the attachments."""
    site = np.zeros(access.size, dtype=np.int64)
    site_access: list[int] = []
    for number, (_, network) in enumerate(sorted(resolved["network"]["access"].items())):
        here = np.flatnonzero(access == number)
        if here.size:
            of_network = np.zeros(here.size, dtype=np.int64)
            has, rest = place[here] >= 0, np.flatnonzero(place[here] < 0)
            places, of_network[has] = np.unique(place[here][has], return_inverse=True)
            in_order = np.arange(rest.size) // (network["phones_per_site"] or here.size)
            of_network[rest] = places.size + in_order
            site[here] = len(site_access) + of_network
            site_access += [number] * int(of_network.max() + 1)
    return site, np.array(site_access, dtype=np.int64)
