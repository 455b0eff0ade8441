"""Asks SimGrid for the routes of a platform, in a process of its own: it may end that.

`python -P -m pocketsim.sim.run.ask_simgrid < asked.json`, where {platform, names, hosts} is asked:
a file, netpoints, and whether all hosts are meant, too. The answer is JSON on stdout
(`pocketsim.sim.scenario.platform_routes`). Nothing of a run is here.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from pocketsim.sim import _engine
from pocketsim.sim.base.build import simgrid_file


def main() -> int:
    """Answer on stdout what is asked on stdin; return the exit code."""
    asked = json.load(sys.stdin)
    try:
        answer = found(**asked)
    except ValueError as error:
        sys.stderr.write(f"Error: {str(error).partition(_BREAK)[0]}\n")
        return 2
    json.dump(answer, sys.stdout)
    return 0


def found(*, platform: str, names: list[str], hosts: bool) -> dict[str, Any]:
    """Return the netpoints of a platform, and the routes between those that are asked for."""
    library = str(simgrid_file())
    all_hosts, netpoints, between, ways = _engine.platform_routes(library, platform, names, hosts)
    rows = [ways[at : at + len(between)] for at in range(0, len(ways), len(between) or 1)]

    def told(place: int, otherwise: Any) -> list[list[Any]]:
        return [[_json(way[place]) if way else otherwise for way in row] for row in rows]

    return {
        "hosts": all_hosts,
        "netpoints": netpoints,
        "between": between,
        "latency_s": told(0, None),
        "bytes_per_s": told(1, None),
        "shared": told(2, otherwise=False),
        "wifi": told(3, otherwise=False),
    }


def _json(value: float) -> float | None:
    return value if math.isfinite(value) else None


_BREAK = "\n"

if __name__ == "__main__":
    raise SystemExit(main())
