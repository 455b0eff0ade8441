"""How much memory a phone takes that has done nothing, one that has traded, and a transaction.

Usage: SMALL LARGE, two numbers of phones. What is looked at is the resident memory of a run, its
plan included, near its end, when all of it is there; what a phone takes is by how much that grows
from one number to the other, so that what every run has cancels out. Phones that trade do so once,
each with the next one, and without a trace, which is not theirs. A transaction is measured with its
events, between two numbers of trades among SMALL phones. Prints one line of JSON.
"""

from __future__ import annotations

import resource
import sys
from functools import partial
from json import dumps
from pathlib import Path
from typing import Any

import pocketsim_pairwise as pairwise  # first: what it sets, numpy reads when it is loaded

# isort: split
import numpy as np
import workload
from forks import forked

from pocketsim.sim import _engine
from pocketsim.sim.base.units import RATE
from pocketsim.sim.plan import arrivals

PROTOCOLS = ("pairwise", "trustchain")
"""The benchmark's two messages, and the agent that a phone would run; over UDP, both."""
BARS_BYTES = {"idle_phone_bytes": 3_000, "used_phone_bytes": 10_000}
"""What a phone is to stay below."""


def measured(protocol: str, small: int, large: int) -> dict[str, float]:
    """Return the bytes that a phone takes, idle and after a trade, and that a transaction does."""

    def taken(phones: int, trades: int, trace: str) -> float:
        return forked(partial(resident_bytes, protocol, phones, trades, trace))

    def slope(first: tuple[int, int], second: tuple[int, int], trace: str) -> float:
        steps = max(after - before for before, after in zip(first, second, strict=True))
        return (taken(*second, trace) - taken(*first, trace)) / steps

    return {
        "idle_phone_bytes": slope((small, FEW), (large, FEW), "sampled"),
        "used_phone_bytes": slope((small, small), (large, large), "sampled"),
        "transaction_bytes": slope((small, 2 * small), (small, 10 * small), "full"),
    }


def resident_bytes(protocol: str, phones: int, trades: int, trace: str) -> float:
    """Return the resident memory of this process near the end of a run."""
    found = [0]

    def look(_share: float, _events: int) -> None:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        found[0] = pages * PAGE_BYTES

    _engine.run(plan(protocol, phones, trades, trace), look)
    return found[0]


def plan(protocol: str, phones: int, trades: int, trace: str) -> dict[str, Any]:
    """Return the plan of phones of which one after the other trades with the next one."""
    document = pairwise.document(phones, END_S)
    document["workload"]["rate"] = RATE.write(1 / (phones * END_S))  # replaced below
    document["output"] = {"trace": trace, **({"sample_ratio": 1e-9} if trace == "sampled" else {})}
    made = pairwise.planned(document)
    made["protocol"]["kind"] = protocol
    number = np.arange(trades)
    regular = arrivals.Arrivals(number * (LAST_S / trades), number % phones, (number + 1) % phones)
    made["workload"] = arrivals.proposals(regular, workload.MESSAGE_BYTES)
    return made


def main(small: int, large: int) -> None:
    """Print what every protocol takes, and what a phone is to stay below."""
    taken = {name: measured(name, small, large) for name in PROTOCOLS}
    print(dumps({"phones": [small, large], "bars_bytes": BARS_BYTES, "bytes": taken}))


END_S, LAST_S = 10.0, 9.0
PAGE_BYTES = resource.getpagesize()
FEW = 100
"""Trades of a population that is idle but for these: without any, a run tells nothing."""

if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
