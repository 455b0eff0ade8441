"""The table of a run's map: what `sim.plan.whereabouts` draws, as `sim.trace.places` stores it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.trace import places
from pocketsim.sim.trace.places import Rows

if TYPE_CHECKING:
    import pyarrow as pa

    from pocketsim.sim.plan.whereabouts import Whereabouts


def table(found: Whereabouts, repetition: int) -> pa.Table:
    """Return the rows of map.parquet for the whereabouts of one repetition."""
    way, spots, changes, access = found.waypoints, found.places, found.transitions, found.access
    # A network may be called as places are.
    names = list(dict.fromkeys([*found.networks, *sorted(set(spots.kind))]))
    spot_names = np.array([names.index(kind) for kind in spots.kind], dtype=np.int64)
    nobody = np.full(len(spots.kind), -1)
    parts = [
        Rows("waypoint", way.phone, way.time_s, way.x_m, way.y_m),
        Rows("place", nobody, np.zeros(nobody.size), spots.x_m, spots.y_m, spot_names),
        Rows("off", changes.phone[~changes.on], changes.time_s[~changes.on]),
        Rows("on", changes.phone[changes.on], changes.time_s[changes.on]),
        Rows("access", access.phone, access.time_s, name=access.access),
    ]
    return places.build(repetition, parts, names)


def about(found: Whereabouts) -> dict[str, str]:
    """Return what the file says of the rectangle."""
    return {places.WIDTH: f"{found.width_m!r}", places.HEIGHT: f"{found.height_m!r}"}
