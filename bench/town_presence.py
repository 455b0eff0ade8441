"""What becomes of a town's payments as phones are on for different reasons, and what fails why.

`market` with 300 persons and 20 shops for a day, without its outage but for the last minute.
Usage: town_presence.py [--out FOLDER].
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Any

import pocketsim as ps

if TYPE_CHECKING:
    from collections.abc import Mapping

TOWN: dict[str, Any] = {
    "run.repetitions": 5,
    "run.duration": "24h",
    "workload.payments": "0.2/h",
    "devices[0].count": 200,
    "devices[1].count": 100,
    "devices[2].count": 20,
    "outages[0].start": "1439min",
    "outages[0].end": "24h",
}
ONE_LAW = {
    "session": {"distribution": "weibull", "shape": 0.411, "scale": "575s"},
    "gap": {"distribution": "lognormal", "median": "484s", "sigma": 3.3, "longest": "2d"},
}
LAW = {
    "churn": {"kind": "law", "law": "locked_charging_wifi"},
    "devices[2].churn": {"kind": "none"},
}
STAY = {"stay": {"distribution": "lognormal", "median": "40s", "sigma": 1.5}}
VARIANTS: dict[str, Mapping[str, Any]] = {
    "always": {},
    "by one Weibull law for all": {"churn": ONE_LAW},
    "by the presence law, shops always": LAW,
    "the same, and while they pay": {**LAW, "foreground": STAY},
    "the same, and while they pay or are paid": {**LAW, "foreground": {**STAY, "whose": "both"}},
}


def main() -> int:
    """Print the table; return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="build/bench/town", help="Folder for run directories.")
    out = parser.parse_args().out
    print("| phones are on | asked for | with the phone on | completed of all | lost |")
    print("|---|---|---|---|---|")
    for name, changes in VARIANTS.items():
        (run,) = ps.run("market", {**TOWN, **changes}, out=out, progress=False)
        metrics = {key: found["mean"] for key, found in run.metrics["metrics"].items()}
        with_phone = metrics["payments_asked"]
        asked = metrics.get("asked_count", with_phone)
        lost: Counter[str] = Counter()
        for fates in run.metrics["fates"]:
            lost.update(fates["lost"])
        why = ", ".join(f"{reason} {count}" for reason, count in lost.most_common())
        done = metrics["payments_completed"] / asked
        print(f"| {name} | {asked:.0f} | {with_phone:.0f} | {done:.1%} | {why} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
