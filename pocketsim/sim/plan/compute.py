"""Phones that only compute: all start at once, and the engine is told what on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.plan import plan
from pocketsim.sim.plan.arrivals import none

if TYPE_CHECKING:
    from pocketsim.sim.plan.population import Population
    from pocketsim.sim.scenario import resolved as given


def starts(workload: given.Compute, people: Population) -> plan.Workload:
    """Return an arrival at each phone, which starts it; what is computed is in `options`."""
    every = np.arange(people.lane.size)
    return {
        **none(),
        "time_s": np.full(every.size, workload["start_s"]),
        "from_phone": plan.numbers(every),
        "to_phone": plan.numbers(every),
        "payload_bytes": plan.numbers(np.zeros_like(every)),
    }


def options(workload: given.Workload) -> plan.Compute | None:
    """Return what phones compute; None of other workloads."""
    if workload["kind"] != "compute":
        return None
    return {
        "task": workload["task"],
        "threads": workload["threads"],
        "count": workload["count"],
        "payload_bytes": workload["payload_bytes"],
        "tokens": workload["tokens"],
        "recipients": workload["recipients"],
    }
