"""All that is measured, in order: capacities, then turns over all points.

Repetitions are interleaved: a turn measures each point once, in an order of its own, so that what
changes on the host within minutes scatters over points instead of telling them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.host.design import order
from pocketsim.calibration.host.figures import Figures
from pocketsim.calibration.host.measuring import forwarding_cpu_s, passage_s
from pocketsim.calibration.host.prediction import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pocketsim.calibration.host.design import Point
    from pocketsim.calibration.host.measuring import Bench

    Named = Callable[[str], None]
    Told = Callable[[str], None]


@dataclass(frozen=True)
class Measured:
    """A point's capacity and rate, and its repetitions as `Bench.repetition` has them."""

    point: Point
    capacity_per_s: float
    rate_per_s: float
    repetitions: tuple[dict[str, Any], ...]

    def figures(self) -> tuple[Figures, ...]:
        """Return the figures of each repetition."""
        return tuple(Figures.from_json(one["figures"]) for one in self.repetitions)

    def setting(self, *, shares_core: bool) -> Setting:
        """Return what a simulation of it takes: medians over repetitions."""
        relays, delay_s = [one["relay"] for one in self.repetitions], self.point.delay_s
        works_s = map(forwarding_cpu_s, self.repetitions)
        known = [work_s for work_s in works_s if work_s is not None]
        return Setting(
            rate_per_s=self.rate_per_s,
            passage_s=median(passage_s(relay, delay_s) for relay in relays),
            late_passage_s=median(passage_s(relay, delay_s, "p99_s") for relay in relays),
            mean_passage_s=median(passage_s(relay, delay_s, "mean_s") for relay in relays),
            forwarding_cpu_s=median(known) if known and shares_core else 0.0,
        )


def measure(bench: Bench, points: Sequence[Point], report: Named, told: Told) -> list[Measured]:
    """Measure every point as often as the others.

    `report` is called with a name before the first turn over all points, after that and every
    second one from there, and after the last. `told` gets a line for each trade.
    """
    turns = bench.effort.repetitions
    rates = [_rate(bench, point, told) for point in points]
    report("before")
    per_s = {point.name: rate for point, _, rate in rates}
    found: dict[str, list[dict[str, Any]]] = {point.name: [] for point in points}
    for turn in range(1, turns + 1):
        for point in order(list(points), turn - 1):
            one = bench.repetition(point, per_s[point.name], turn - 1)
            found[point.name].append(one)
            rtt_s = one["figures"]["rtt_p50_s"]
            said = "nothing stored" if rtt_s is None else f"{1000 * rtt_s:.3f} ms"
            told(f"turn {turn} of {turns}, {point.name}: {said}")
        if turn % 2 or turn == turns:
            report(f"turn_{turn}")
    return [
        Measured(point, capacity, rate, tuple(found[point.name])) for point, capacity, rate in rates
    ]


def _rate(bench: Bench, point: Point, told: Told) -> tuple[Point, float, float]:
    capacity_per_s = bench.capacity_per_s(point)
    told(f"{point.name}: {point.carrier} stores {capacity_per_s:.4g}/s at most")
    return point, capacity_per_s, float(f"{point.load_ratio * capacity_per_s:.4g}")
