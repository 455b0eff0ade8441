"""How often something interrupts an operation, and how much longer it takes then.

Two lognormals describe samples that were interrupted at times (`calibration.fit.scatter`). A second
one that is the better family, rare, and clearly slower than the first is the tail of the cost. Only
of what a report tells the executions that a sample has, and times alone: what is left of several
things timed together says nothing of which was late. Where the kernel's ticks are priced, a tail as
long as a tick is one: threads lose it whatever they compute, and not here again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit.costs import ERROR_DIGITS, rounded
from pocketsim.calibration.fit.looks import LEAST_S
from pocketsim.calibration.fit.scatter import look, mixture, tells_executions
from pocketsim.sim.base import streams
from pocketsim.sim.devices.prices import REFERENCE_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.kernels import Source
    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.calibration.fit.scatter import Kind
    from pocketsim.sim.devices.profile import Cost, Scatter


@dataclass(frozen=True)
class Tail:
    """Of samples that scatter alike: the share of which an execution is late, by how much, in s."""

    share: float
    executions: int
    late_s: float
    late_square: float
    samples: int

    @property
    def is_rare(self) -> bool:
        """Whether quantiles leave it out of what the cost and its sigma are by."""
        return self.share <= RARE


def with_tail(
    name: str,
    cost: Cost,
    scatter: Scatter,
    source: Source,
    reports: Sequence[Report],
    tick_s: float,
) -> Cost:
    """Return the cost with the tail that its samples have, or as it is where they have none.

    `tick_s` is what each of the kernel's ticks takes, 0 where they are not priced.
    """
    best = min(scatter.aicc, key=lambda family: scatter.aicc[family])
    is_better = scatter.poor and best == FAMILY and scatter.aicc[best] < 0
    whole_s = (cost.cpu + cost.per_byte * REFERENCE_BYTES) / cost.threads + cost.wait
    if not is_better or whole_s <= LEAST_S or not tells_executions(source, reports):
        return cost
    kinds = look(source, reports)
    assert not isinstance(kinds, str), "that it scatters badly was told of them"
    random = streams.stream(_SEED, f"tail/{name}")
    tails = [_tail(kind, random, tick_s) for kind in kinds]
    if not all(one.is_rare for one in tails) or not any(one.share for one in tails):
        return cost
    samples = np.array([one.samples for one in tails], dtype=float)
    weights = samples / samples.sum()
    each = np.array([one.share for one in tails])
    often = float(weights @ each)
    shares = each / [one.executions for one in tails]
    share = float(weights @ shares)
    among = weights * shares / share
    late_s = float(among @ [one.late_s for one in tails])
    square = float(among @ [one.late_square for one in tails])
    apart = float(weights**2 @ (shares - share) ** 2) * len(tails) / max(1, len(tails) - 1)
    by_chance = share * math.sqrt((1 - often) / often / samples.sum())
    found: dict[str, Any] = {
        "tail_share": rounded(share),
        "tail_ratio": rounded(1 + late_s / whole_s),
        "tail_sigma": rounded(math.sqrt(max(0.0, math.log(square / late_s**2))), ERROR_DIGITS),
        "tail_share_standard_error": rounded(max(math.sqrt(apart), by_chance), ERROR_DIGITS),
    }
    if not 1 < found["tail_ratio"] <= _RATIO_MAX:
        return cost
    return cost.model_copy(update=found)


def of_all(
    operations: Mapping[str, Cost],
    scatter: Mapping[str, Scatter],
    sources: Mapping[str, Source],
    reports: Sequence[Report],
    tick_s: float,
) -> dict[str, Cost]:
    """Return all costs with their tails, by operation; of those without `scatter` as they are.

    But where ticks are priced: what another profile has for a tail may be ticks.
    """
    untold = dict.fromkeys(_KEYS) if tick_s else {}
    return {
        name: with_tail(name, cost, scatter[name], sources[name], reports, tick_s)
        if name in scatter
        else cost.model_copy(update=untold)
        for name, cost in operations.items()
    }


def _tail(kind: Kind, random: np.random.Generator, tick_s: float) -> Tail:
    """Return what is late of samples that scatter alike; nothing where it is no mode of its own."""
    level_s = float(np.mean([np.log(group).mean() for group in kind.groups]))
    level_s = kind.executions * math.exp(level_s)
    found = mixture(np.exp(kind.spread_out(random).residuals()))
    apart = found.means[1] - found.means[0]
    is_late = _APART * found.sigmas[0] <= apart <= math.log(_RATIO_MAX)
    if not is_late or found.sigmas[1] > _SIGMA_MAX:
        return Tail(0.0, kind.executions, 0.0, 0.0, kind.size)
    means = [
        level_s * math.exp(mean + sigma**2 / 2)
        for mean, sigma in zip(found.means, found.sigmas, strict=True)
    ]
    late_s = means[1] - means[0]
    is_tick = tick_s > 0 and tick_s / _AS_A_TICK <= late_s <= tick_s * _AS_A_TICK
    if late_s <= 0 or (is_tick and found.share <= _HALF):
        return Tail(0.0, kind.executions, 0.0, 0.0, kind.size)
    variances = [
        mean**2 * math.expm1(sigma**2) for mean, sigma in zip(means, found.sigmas, strict=True)
    ]
    square = late_s**2 + max(0.0, variances[1] - variances[0])
    return Tail(found.share, kind.executions, late_s, square, kind.size)


FAMILY = "lognormal_with_tail"
RARE = 0.05
"""Share of samples. Where as many are far out, a sigma by the quantiles 16 and 84 %, which are 17
and 89 % of the others, is 9 % too large; what more of them make of it would be drawn twice."""
_KEYS = "tail_share", "tail_ratio", "tail_sigma", "tail_share_standard_error"
_SEED = 0  # of streams "tail/<operation>": the same reports give the same bytes
_APART = 3.0  # sigmas of the first, between both
_HALF = 0.5
_AS_A_TICK = 2.0  # times as long or as short
_RATIO_MAX = 1e6  # that a profile may have
_SIGMA_MAX = 3.0  # of what is late: beyond, it is no mode of anything
