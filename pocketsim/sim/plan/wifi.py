"""Access points of IEEE 802.11 as the engine takes them, and by what scheme each phone sends.

How far a phone is from its access point is drawn once in a repetition, from the stream
"<name>/wifi/distance". Frames and turns are the engine's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base.streams import Lanes
from pocketsim.sim.base.wifi_channels import DISTANCES, scheme_max, width_mhz

if TYPE_CHECKING:
    import numpy.typing as npt

    from pocketsim.sim.plan import plan
    from pocketsim.sim.plan.population import Population
    from pocketsim.sim.scenario import resolved as given


def columns(wifi: given.Wifi) -> plan.Wifi:
    """Return what the access points of a network are."""
    return {
        "standard": wifi["standard"],
        "channel_width_mhz": width_mhz(wifi["standard"], wifi["channel_width_mhz"]),
        "streams": wifi["streams"],
        "aggregation": wifi["aggregation"],
        "block_ack_request": wifi["block_ack_request"],
        "queue_packets": wifi["queue_packets"],
    }


def schemes(resolved: given.Resolved, people: Population, name: str) -> npt.NDArray[np.int64]:
    """Return the modulation and coding scheme of each attachment; nothing where no network has one.

    0 of those to networks of another kind.
    """
    access = [network.get("wifi") for _, network in sorted(resolved["network"]["access"].items())]
    if not any(access):
        return np.zeros(0, dtype=np.int64)
    drawn = people.attachment_draws(Lanes(resolved["run"]["seed"], f"{name}/wifi/distance"))
    _, networks, _ = people.attachments()
    found = np.zeros(networks.size, dtype=np.int64)
    for number, wifi in enumerate(access):
        if wifi is not None:
            here = networks == number
            of_class, shares = _classes(wifi)
            at = np.searchsorted(np.cumsum(shares)[:-1], drawn[here], side="right")
            found[here] = of_class[at]
    return found


def _classes(wifi: given.Wifi) -> tuple[npt.NDArray[np.int64], list[float]]:
    """Return schemes, and the share of phones with each."""
    if wifi["mcs"] is not None:
        return np.array([wifi["mcs"]]), [1.0]
    highest = scheme_max(wifi["standard"], wifi["channel_width_mhz"])
    by_class = np.minimum(list(DISTANCES.values()), highest)
    distance = wifi["distance"]
    if distance is None:
        return by_class[[list(DISTANCES).index("room")]], [1.0]
    shares = [distance["near"], distance["room"], distance["next_room"], distance["edge"]]
    return by_class, shares
