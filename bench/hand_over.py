"""How long a plan takes from Python to the engine, and the memory that it takes beside its arrays.

Usage: [ARRIVALS], ten millions unless told otherwise. Two phones would propose, but only when the
run is over, so that nothing happens in it: what is measured is the plan's way from the call to
where the first event would be, with the set-up of the engine. Prints one line of JSON. Memory is
how much the call raises the peak of this process, in which the arrays are already.
"""

from __future__ import annotations

import sys
import time
from json import dumps
from typing import Any

import numpy as np
import pocketsim_pairwise
from report import peak_memory_mb

from pocketsim.sim import _engine

ARRIVALS = 10_000_000
END_S = 60.0
PAYLOAD_BYTES = 100


def build_plan(arrivals: int) -> dict[str, Any]:
    """Return the plan of two phones whose arrivals all lie beyond its end."""
    plan = pocketsim_pairwise.build_plan(2, END_S)
    none = np.zeros(0, np.uint32)
    # Written, all of them: pages that `zeros` leaves to be made would count for the engine.
    plan["workload"] = {
        "time_s": np.full(arrivals, 2 * END_S),
        "from_phone": np.full(arrivals, 0, np.uint32),
        "to_phone": np.full(arrivals, 1, np.uint32),
        "payload_bytes": np.full(arrivals, PAYLOAD_BYTES, np.uint32),
        "amount_cents": none,
        "conduct": none,
        "loops": [],
    }
    return plan


def main(arrivals: int) -> None:
    """Hand a plan over and print what it took."""
    plan = build_plan(arrivals)
    before_mb, start = peak_memory_mb(), time.perf_counter()
    result = _engine.run(plan)
    hand_over_s = time.perf_counter() - start - result["wall_s"]
    beyond_mb = peak_memory_mb() - before_mb
    if result["columns"]["time_s"]:
        sys.exit("something happened: that is no part of handing a plan over")
    line = {
        "arrivals": arrivals,
        "hand_over_s": hand_over_s,
        "memory_beyond_arrays_mb": beyond_mb,
    }
    print(dumps(line))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ARRIVALS)
