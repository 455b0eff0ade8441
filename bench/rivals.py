"""What runs the benchmark's workload: pocketsim, and whom it is compared with.

A rival is a program that takes HOSTS SECONDS and prints one line of JSON. Two are not part of a
set-up and take turns where `make bench RIVALS=1` has put them: ns-3 and the code of IPv8, each as
its Python distribution brings it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import workload

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "bench"
OWN = "pocketsim"
LIMIT = "C++ heap, queues, -O3"
"""What no model is faster than that lets each message wait for two radios and a core."""
HEAPQ = "Python, heapq"


@dataclass(frozen=True)
class Rival:
    """A program that runs the workload and prints one line of JSON."""

    name: str
    command: tuple[str, ...]
    # Transactions a second that it reaches at least; it decides how long it may simulate.
    slow_rate_per_s: float
    differs: str = ""
    # What its model adds to a transaction.
    further_s: float = 0.0


def python(script: str) -> tuple[str, ...]:
    """Return the command that runs a script of this folder."""
    return (sys.executable, str(HERE / script))


def compiled(program: str) -> tuple[str, ...]:
    """Return the command that runs a program which make has built of this folder."""
    return (str(BUILD / program),)


def found() -> list[Rival]:
    """Return all that can run here: the set-up's, and further ones that have been installed."""
    return [*RIVALS, *(rival for rival in FURTHER if Path(rival.command[0]).exists())]


LINKS = "messages share links instead of queueing"
QUEUES = "downlinks of 10 Mbit/s queue, too: two more transmissions"
DOWNLINKS_S = 2 * workload.TRANSMISSION_S
_NS3_HEADERS_S = 4 * 30 / workload.ACCESS_BYTES_PER_S
RIVALS = (
    Rival(
        OWN,
        python("pocketsim_pairwise.py"),
        30_000,
        f"{QUEUES}, and messages have 28 B of headers",
        DOWNLINKS_S,
    ),
    Rival(
        "SimGrid, bare C++ loop",
        compiled("bare_loop"),
        30_000,
        f"{LINKS}, and work shares cores",
    ),
    Rival("SimGrid, Python actors", python("simgrid_actors.py"), 500, LINKS),
    Rival("SimPy, tuned", python("simpy_tuned.py"), 30_000),
    Rival("SimPy, as documented", python("simpy_processes.py"), 10_000),
    Rival(HEAPQ, python("heapq_pure.py"), 60_000),
    Rival(
        LIMIT,
        compiled("bare_queues"),
        200_000,
        QUEUES,
        DOWNLINKS_S,
    ),
    # As older figures had the limit.
    Rival("C++ heap, queues, -O2", compiled("bare_queues_o2"), 200_000, QUEUES, DOWNLINKS_S),
)
FURTHER = (
    Rival(
        "ns-3",
        compiled("ns3_star"),
        8_000,
        f"a whole UDP and IPv4 stack on each host; {QUEUES}, and frames have 30 B of headers",
        DOWNLINKS_S + _NS3_HEADERS_S,
    ),
    Rival(
        "IPv8, its own code",
        (str(BUILD / "rivals" / "bin" / "python"), str(HERE / "ipv8_communities.py")),
        1_000,
        "signs and verifies in earnest, which the wall clock pays",
    ),
)
