"""What lies between the sites of one repetition: the netpoint that each site is at, and routes.

Sites are at netpoints in turn, or each draws one by weights from a lane of its own, keyed by its
number on its access network; so a site more leaves the others where they were. Routes are those
that SimGrid has found (`sim.scenario.platform_routes`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pocketsim.sim.base.streams import Floats, Lanes
from pocketsim.sim.plan import plan
from pocketsim.sim.plan.population import Indices, by_share
from pocketsim.sim.scenario import platform_routes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.sim.plan.population import Population
    from pocketsim.sim.scenario import resolved as given
    from pocketsim.sim.scenario.resolved import Resolved


@dataclass(frozen=True)
class Attached:
    """Sites at netpoints, and the routes between those that are used.

    `netpoint` has of each site the number of its netpoint in `names`; matrices have a row for each
    sender. `relay` is the number of the relay's netpoint.
    """

    netpoint: Indices
    names: list[str]
    latency_s: Floats
    bytes_per_s: Floats
    shared: npt.NDArray[np.bool_]
    relay: int | None

    def between_sites_s(self, share: float) -> float:
        """Return a quantile of the latency from site to site, of all pairs, in seconds.

        0 where there is one site.
        """
        sites = np.bincount(self.netpoint, minlength=len(self.names))
        pairs = np.outer(sites, sites) - np.diag(sites)
        return _quantile(self.latency_s, pairs, share)

    def to_relay_s(self, share: float) -> float:
        """Return a quantile of the latency from a site to the relay, in seconds."""
        assert self.relay is not None, "whoever asks knows that it is at a netpoint"
        sites = np.bincount(self.netpoint, minlength=len(self.names))
        return _quantile(self.latency_s[:, self.relay], sites, share)


def attach(
    resolved: Resolved, name: str, people: Population, files: Mapping[str, str]
) -> Attached | None:
    """Return where the sites of a repetition are, None without a platform.

    Streams begin with "name/core/<network>"; `files` are paths by digest. Raises ScenarioError for
    a file that has changed.
    """
    if "core" not in resolved["network"]:
        return None
    core = resolved["network"]["core"]
    digest = core["routes_digest"]
    beside = Path(core["platform"]).with_suffix(".routes.json")
    routes = platform_routes.again(_file(files, digest, beside.name), digest)
    at = _names(resolved, name, people)
    relay = core.get("relay")
    names = sorted({*at, *([relay] if relay else [])})
    places = np.ix_(*2 * [routes.places(names)])
    limits = [[math.inf if each is None else each for each in row] for row in routes.bytes_per_s]
    return Attached(
        netpoint=np.searchsorted(np.array(names), np.array(at, dtype=object).astype(str)),
        names=names,
        latency_s=np.array(routes.latency_s, dtype=np.float64)[places],
        bytes_per_s=np.array(limits, dtype=np.float64)[places],
        shared=np.array(routes.shared, dtype=np.bool_)[places],
        relay=names.index(relay) if relay else None,
    )


def columns(attached: Attached, resolved: Resolved, files: Mapping[str, str]) -> plan.Core:
    """Return where sites are as the engine takes it."""
    core, is_flow = resolved["network"]["core"], resolved["run"]["fidelity"] == "flow"
    reads = is_flow or bool(attached.shared.any())
    return {
        "netpoint": plan.numbers(attached.netpoint),
        "names": attached.names,
        "latency_s": plan.floats(attached.latency_s.ravel()),
        "bytes_per_s": plan.floats(attached.bytes_per_s.ravel()),
        "shared": plan.flags(attached.shared.ravel()),
        "relay": attached.relay,
        "platform": str(_file(files, core["digest"], core["platform"])) if reads else None,
    }


def backbone(attached: Attached | None, network: given.Network) -> plan.Backbone:
    """Return one latency between sites: with a platform the median, for what knows no sites."""
    relay_s = network["relay_latency_s"]
    if attached is None:
        return {"latency_s": network["backbone_latency_s"], "relay_latency_s": relay_s}
    has_relay = attached.relay is not None
    return {
        "latency_s": attached.between_sites_s(0.5),
        "relay_latency_s": attached.to_relay_s(0.5) if has_relay else relay_s,
    }


def _file(files: Mapping[str, str], digest: str, name: str) -> Path:
    """Return where a file with a digest lies: what is shipped, nobody has to say."""
    return Path(files[digest]) if digest in files else platform_routes.PLATFORMS / name


def _names(resolved: Resolved, name: str, people: Population) -> list[str]:
    """Return of each site the name of its netpoint."""
    at = np.empty(people.site_access.size, dtype=object)
    rules = resolved["network"]["core"]["attach"]
    for number, network in enumerate(sorted(resolved["network"]["access"])):
        here = np.flatnonzero(people.site_access == number)
        lanes = Lanes(resolved["run"]["seed"], f"{name}/core/{network}")
        at[here] = np.array(rules[network]["netpoints"], dtype=object)[
            _chosen(rules[network], lanes, np.arange(here.size))
        ]
    return list(at)


def _chosen(rule: given.Attach, lanes: Lanes, sites: Indices) -> Indices:
    """Return which netpoint of a rule each site is at, by their numbers on their network."""
    if "weights" not in rule:
        found: Indices = sites % len(rule["netpoints"])
        return found
    total = sum(rule["weights"])
    shares: Sequence[float] = [weight / total for weight in rule["weights"]]
    return by_share(shares, lanes.uniform(sites, 0))


def _quantile(values: Floats, weights: npt.NDArray[np.int64], share: float) -> float:
    """Return the least value that at least this share of the weights is at or below."""
    order = np.argsort(values, axis=None, kind="stable")
    sums = np.cumsum(weights.ravel()[order])
    if not sums.size or sums[-1] == 0:
        return 0.0
    at = int(np.searchsorted(sums, share * sums[-1], side="left"))
    return float(values.ravel()[order][at])
