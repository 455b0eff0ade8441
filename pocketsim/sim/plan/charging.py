"""When phones charge, drawn by hours of the day.

Of 4035 users in 2011, about 40 % of all plug-ins were between 18 and 20 h and about 30 % between
1 and 8 h. How often and for how long people charge is assumed. What is in a battery is not known
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.sim.plan import episodes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pocketsim.sim.base.streams import Streams
    from pocketsim.sim.plan.intervals import Intervals
    from pocketsim.sim.scenario import resolved as given


def drawn(
    law: given.Episodes,
    streams: Streams,
    lane: npt.NDArray[np.uint64],
    begin_s: float,
    end_s: float,
) -> Intervals:
    """Return when each phone charges that begins to in a time, in seconds since a midnight."""
    return episodes.drawn(law, streams.of("charging"), lane, begin_s, end_s)
