"""Compares reports of repeated full runs of the probe on one device: do their medians agree?

Compared are the compute kernels (cryptography and serialisation), case by case: the largest median
of wall time over the smallest. The bar is on cases of one thread; several threads share what one
has to itself, and stand beside. A report that says why its medians wander (`spoiled`) is what a
user needs as much as medians that do not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

BAR = 0.05
"""How far apart, relative to the smallest, the medians of one case may be."""

GROUPS = ("crypto", "serialisation")
# What of `spoiled` tells of a device that was not the same all the time.
WANDERING = ("noisy", "unsettled", "throttled", "stopped")
SHOWN = 5
EXIT_CHECK_FAILED = 3

Case = tuple[str, tuple[tuple[str, float], ...], int, str]


def main() -> int:
    """Compare, print, say whether the bar is met."""
    options = parse()
    paths: list[Path] = options.reports
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    found = [medians_s(report) for report in reports]
    common = sorted(set.intersection(*(set(medians) for medians in found)))
    if not common:
        sys.exit("the reports have no compute kernel in common")
    apart = {case: spread([medians[case] for medians in found]) for case in common}
    single = {case: share for case, share in apart.items() if case[2] == 1}
    several = {case: share for case, share in apart.items() if case[2] > 1}
    print(f"{len(reports)} reports, {len(common)} cases of compute kernels\n")
    show("one thread", single)
    show("several threads", several)
    why = reasons(paths, reports)
    print("\nthe reports say:", *(why or ["nothing that explains a difference"]), sep="\n  ")
    met = not single or max(single.values()) <= BAR
    explained = "missed, and explained by the reports" if why else "missed"
    print(f"\nbar: medians of one thread within {BAR:.0%}: {'met' if met else explained}")
    return 0 if met or why or options.no_bar else EXIT_CHECK_FAILED


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", type=Path, nargs="+", metavar="REPORT")
    parser.add_argument("--no-bar", action="store_true", help="exit code 0 beyond it, too")
    options = parser.parse_args()
    if len(options.reports) < 2:  # noqa: PLR2004 - one agrees with itself
        parser.error("two reports or more")
    return options


def medians_s(report: dict[str, Any]) -> dict[Case, float]:
    """Return the median wall time of each measured case of the compute kernels."""
    found: dict[Case, float] = {}
    for measurement in report["measurements"]:
        if measurement["group"] in GROUPS and measurement["status"] == "measured":
            (wall,) = (
                each["samples"] for each in measurement["quantities"] if each["name"] == "wall_s"
            )
            parameters = tuple(sorted(measurement["parameters"].items()))
            case = (
                measurement["kernel"],
                parameters,
                measurement["threads"],
                measurement["core_class"] or "",
            )
            found[case] = wall["median"]
    return found


def spread(values: list[float]) -> float:
    """Return by how much the largest exceeds the smallest, relative to it."""
    return max(values) / min(values) - 1


def show(title: str, apart: dict[Case, float]) -> None:
    """Print how many agree, and those that agree least."""
    if not apart:
        return
    within = sum(share <= BAR for share in apart.values())
    print(
        f"{title}: {within} of {len(apart)} within {BAR:.0%}; "
        f"middle {statistics.median(apart.values()):.1%}, largest {max(apart.values()):.1%}"
    )
    for case in sorted(apart, key=apart.__getitem__, reverse=True)[:SHOWN]:
        kernel, parameters, threads, core_class = case
        numbers = [f"{name} {value:g}" for name, value in parameters]
        words = [kernel, *numbers, f"{threads} threads" if threads > 1 else "", core_class]
        print(f"  {apart[case]:6.1%}  {', '.join(word for word in words if word)}")


def reasons(paths: list[Path], reports: list[dict[str, Any]]) -> list[str]:
    """Return what the reports say of a device that was not the same all the time."""
    return [
        f"{path.name}: {spoiled['condition']}: {spoiled['detail']}"
        for path, report in zip(paths, reports, strict=True)
        for spoiled in report["spoiled"]
        if spoiled["condition"] in WANDERING
    ]


if __name__ == "__main__":
    raise SystemExit(main())
