"""Which netpoints of a platform a scenario's sites are at, and how far they are from each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.plan import core, placement
from pocketsim.sim.scenario.resolved import streams_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.scenario.resolved import Resolved


def lines(resolved: Resolved, files: Mapping[str, str]) -> list[str]:
    """Return lines on the sites of the first repetition; `files` are paths by digest.

    For each access network how many of its sites are at which netpoint, then the median and the
    95th percentile of the latency from a site to another, over all pairs of sites.
    """
    name = f"repetition/{streams_number(resolved['run'], 0)}"
    people = placement.placed(resolved, name, files).people
    attached = core.attach(resolved, name, people, files)
    if attached is None:
        return []
    found = []
    for number, network in enumerate(sorted(resolved["network"]["access"])):
        here = attached.netpoint[people.site_access == number]
        counts = np.bincount(here, minlength=len(attached.names))
        at = [
            f"{counts[place]} at {attached.names[place]}"
            for place in np.argsort(-counts, kind="stable")
            if counts[place]
        ]
        found.append(f"{_PLACE}: {network} has {_sites(here.size)}: {', '.join(at)}")
    shared = "some links are shared" if attached.shared.any() else "no link is shared"
    found.append(
        f"{_PLACE}: from site to site, one way, median"
        f" {1e3 * attached.between_sites_s(0.5):.3g} ms and p95"
        f" {1e3 * attached.between_sites_s(0.95):.3g} ms; {shared}"
    )
    return found


def _sites(count: int) -> str:
    return "1 site" if count == 1 else f"{count} sites"


_PLACE = "network.core"
