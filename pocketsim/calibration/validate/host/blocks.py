"""All that is measured, in order: capacities, turns over all points, and turns over noisy ones.

Repetitions are interleaved: a turn measures each point once, in an order of its own, so that what
changes on the host within minutes scatters over points instead of telling them apart.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.validate.host.design import order
from pocketsim.calibration.validate.host.figures import Figures
from pocketsim.calibration.validate.host.judging import is_too_noisy, noise
from pocketsim.calibration.validate.host.measuring import forwarding_cpu_s, passage_s
from pocketsim.calibration.validate.host.prediction import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pocketsim.calibration.validate.host.design import Point
    from pocketsim.calibration.validate.host.measuring import Bench

    Named = Callable[[str], None]
    Told = Callable[[str], None]


@dataclass(frozen=True)
class Measured:
    """A point's capacity and rate, and its blocks of repetitions, all of which count.

    A later block is no better than the first: to take the calmest would choose the noise.
    """

    point: Point
    capacity_per_s: float
    rate_per_s: float
    blocks: tuple[tuple[dict[str, Any], ...], ...]

    @property
    def repetitions(self) -> tuple[dict[str, Any], ...]:
        """What counts, as `Bench.repetition` has it."""
        return tuple(one for block in self.blocks for one in block)

    def figures(self) -> tuple[Figures, ...]:
        """Return the figures of each repetition that counts."""
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
    """Measure every point, and those again whose repetitions are too far apart.

    `report` is called with a name before the first turn over all points, after that and every
    second one from there, after the last, and after each block of noisy ones. `told` gets a line
    for each trade.
    """
    effort = bench.effort
    rates = [_rate(bench, point, told) for point in points]
    report("before")
    blocks = _block(bench, rates, range(effort.repetitions), told, report)
    found = {
        point.name: Measured(point, capacity, rate, (blocks[point.name],))
        for point, capacity, rate in rates
    }
    left, first = effort.most_repeated, effort.repetitions
    for number in itertools.count(1):
        noisy = _noisy(found.values())[:left]
        if not noisy:
            break
        again = [(one.point, one.capacity_per_s, one.rate_per_s) for one in noisy]
        blocks = _block(bench, again, range(first, first + effort.repeated), told)
        report(f"block_{number}")
        for one in noisy:
            every = (*one.blocks, blocks[one.point.name])
            found[one.point.name] = replace(one, blocks=every)
        left, first = left - len(noisy), first + effort.repeated
    return list(found.values())


def _noisy(found: Iterable[Measured]) -> list[Measured]:
    """Return those whose repetitions are too far apart, the nearest to agree first."""
    apart = [one for one in found if is_too_noisy(one.point, one.figures())]
    return sorted(apart, key=lambda one: noise(one.point, one.figures()))


def _rate(bench: Bench, point: Point, told: Told) -> tuple[Point, float, float]:
    capacity_per_s = bench.capacity_per_s(point)
    told(f"{point.name}: {point.carrier} stores {capacity_per_s:.4g}/s at most")
    return point, capacity_per_s, float(f"{point.load_ratio * capacity_per_s:.4g}")


def _block(
    bench: Bench,
    rates: Sequence[tuple[Point, float, float]],
    places: range,
    told: Told,
    report: Named = lambda _name: None,
) -> dict[str, tuple[dict[str, Any], ...]]:
    """Return every repetition of a block by the names of its points; `places` number its turns."""
    per_s = {point.name: rate for point, _, rate in rates}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in per_s}
    for turn, place in enumerate(places, 1):
        for point in order([point for point, _, _ in rates], place):
            one = bench.repetition(point, per_s[point.name], place)
            found[point.name].append(one)
            rtt_s = one["figures"]["rtt_p50_s"]
            said = "nothing stored" if rtt_s is None else f"{1000 * rtt_s:.3f} ms"
            told(f"turn {turn} of {len(places)}, {point.name}: {said}")
        if turn % 2 or turn == len(places):
            report(f"turn_{turn}")
    return {name: tuple(several) for name, several in found.items()}
