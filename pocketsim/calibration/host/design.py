"""Which trades are compared on a host, and how much is measured of each.

Points fill a Latin hypercube under a fixed seed. Simulations are fitted to none of them; the null
`carrier` and the model's discrepancy are to some, which are chosen by a fixed seed, too. Nobody has
measured anything by then.
"""

from __future__ import annotations

from dataclasses import dataclass

from pocketsim.sim.base import designs
from pocketsim.sim.base.streams import stream

SEED = 1
"""Of the design, the relay's losses and the simulations."""
CARRIERS = ("udp", "quic_keep", "quic_reconnect", "tftp")
DELAYS_S = (0.0, 0.005)
"""What the relay adds each way."""
LOSSES = ("none", "independent", "bursts")
LOSS_RATIO = 0.01
BURST_PACKETS = 5.0
"""Mean length of a burst, in which everything is lost: at 1 %, bursts are 495 packets apart."""
LOADS = (0.05, 1.2)
"""Shares of the carrier's capacity at this point."""
PAYLOADS_BYTES = (16, 2048)
LOAD_MAX = 0.8
"""Above this share of the capacity queues may grow, and rates are judged, not round trips."""


@dataclass(frozen=True)
class Point:
    """A real trade to be simulated, too; `is_fitted` if a null or intervals may be fitted to it."""

    name: str
    carrier: str
    load_ratio: float
    payload_bytes: int
    delay_s: float
    loss: str
    is_fitted: bool

    @property
    def is_relayed(self) -> bool:
        """Whether `probe link` stands between the ends."""
        return self.delay_s > 0 or self.loss != "none"

    @property
    def is_overloaded(self) -> bool:
        """Whether rates are judged, not round trips."""
        return self.load_ratio > LOAD_MAX


@dataclass(frozen=True)
class Effort:
    """How much is measured: points, of each so many repetitions of `proposed_s`, then `drained_s`.

    `warm_up_s` goes before, in which nothing counts: a process that has just begun has cold code
    and new memory, which no profile prices, and nothing simulated begins so. Of each carrier nulls
    and intervals may be fitted to `fitted` points. Every point is measured `repetitions` times,
    however far its measurements are apart. `draws` are simulated
    repetitions of a point. `is_judged` says whether bars count; where they do not, one report of
    the probe is whole, and the others only show whether the host has changed.
    """

    points: int
    repetitions: int
    proposed_s: float
    drained_s: float
    warm_up_s: float
    fitted: int
    draws: int
    is_judged: bool

    @property
    def proposing_s(self) -> float:
        """How long a repetition proposes in all."""
        return self.warm_up_s + self.proposed_s + self.drained_s


FULL = Effort(
    points=24,
    repetitions=5,
    proposed_s=5.0,
    drained_s=1.0,
    warm_up_s=1.0,
    fitted=2,
    draws=32,
    is_judged=True,
)
# Too little to judge by: it shows that everything runs.
QUICK = Effort(
    points=4,
    repetitions=2,
    proposed_s=2.0,
    drained_s=0.5,
    warm_up_s=0.5,
    fitted=0,
    draws=8,
    is_judged=False,
)


def design(effort: Effort) -> list[Point]:
    """Return the points, of which each carrier has as many; the same at every call."""
    draws = stream(SEED, "validate/host/design")
    cube = designs.latin_hypercube(effort.points, 5, draws)
    low, high = PAYLOADS_BYTES
    drawn = [
        Point(
            name=f"p{number:02}",
            carrier=CARRIERS[int(len(CARRIERS) * row[0])],
            load_ratio=round(LOADS[0] + (LOADS[1] - LOADS[0]) * float(row[1]), 3),
            payload_bytes=round(low * (high / low) ** float(row[2])),
            delay_s=DELAYS_S[int(len(DELAYS_S) * row[3])],
            loss=LOSSES[int(len(LOSSES) * row[4])],
            is_fitted=False,
        )
        for number, row in enumerate(cube)
    ]
    fitted = _fitted(drawn, effort.fitted)
    return [Point(**{**vars(point), "is_fitted": point.name in fitted}) for point in drawn]


def order(points: list[Point], turn: int) -> list[Point]:
    """Return the points in the order of one turn over all of them, another for each turn."""
    places = stream(SEED, f"validate/host/order/{turn}").permutation(len(points))
    return [points[place] for place in places]


def _fitted(points: list[Point], count: int) -> set[str]:
    """Return the names of `count` points of each carrier."""
    draws = stream(SEED, "validate/host/fitted")
    chosen: set[str] = set()
    for carrier in CARRIERS:
        names = [point.name for point in points if point.carrier == carrier]
        chosen |= {names[place] for place in draws.permutation(len(names))[:count]}
    return chosen
