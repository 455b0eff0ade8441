"""Whether executions scatter as the simulator draws them, and which family would do better.

The engine draws executions from a lognormal. What a report's samples say of it is an
Anderson-Darling statistic; where that has no chance is told by samples drawn of the fitted law and
fitted again (the parametric bootstrap: Stute, Gonzalez Manteiga and Presedo Quindimil, Metrika 40,
1993, 243). The AICc of other families stands beside (Hurvich and Tsai, Biometrika 76, 1989, 297).
Rounds have levels of their own, which are fitted, too. A sample is a mean over the executions that
were timed together: of many it is nearly normal whatever they are, and it scatters less. So each
report has a sigma of its own, or several, where its rounds timed more or fewer together.
What does not live here: how large the scatter is (`calibration.fit.samples`).
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit.kernels import QUIC_WAKE, WAKE
from pocketsim.calibration.fit.looks import cases, estimate_of
from pocketsim.calibration.fit.wakes import rested
from pocketsim.sim.base import streams
from pocketsim.sim.devices.prices import REFERENCE_BYTES
from pocketsim.sim.devices.profile import Scatter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.kernels import Source
    from pocketsim.calibration.fit.probe_report import Measurement, Report, Samples

    Array = np.ndarray[Any, Any]

BOOTSTRAPS = 999
"""Of each cost: twenty p-values of 1/1000 are below Holm's bound of 5 %."""


@dataclass(frozen=True)
class Kind:
    """Samples in s that scatter alike: of one report, each a mean over as many executions.

    Every group is at a level of its own, that of its round. All are multiples of `step_s`, what a
    clock's step leaves of them; 0 where that is too fine to be seen.
    """

    groups: list[Array]
    executions: int = 1
    step_s: float = 0.0

    @property
    def size(self) -> int:
        """How many samples there are."""
        return sum(map(len, self.groups))

    def residuals(self) -> Array:
        """Return the logarithms of samples over the level of their group."""
        return np.concatenate([np.log(group) - np.log(group).mean() for group in self.groups])

    def spread_out(self, random: np.random.Generator) -> Kind:
        """Return samples drawn evenly from the steps around these."""
        if not self.step_s:
            return self
        groups = [group + self.step_s * (random.random(group.size) - 0.5) for group in self.groups]
        return replace(self, groups=groups, step_s=0.0)

    def sigma(self) -> float:
        """Return the deviation of those logarithms."""
        squares = float((self.residuals() ** 2).sum())
        return math.sqrt(squares / (self.size - len(self.groups)))


@dataclass(frozen=True)
class Fit:
    """What one family makes of positive samples: `parameters` beside levels, and its likelihood."""

    log_likelihood: float
    parameters: int

    def aicc(self, samples: int, levels: int) -> float:
        """Return Akaike's criterion, corrected for few samples; levels are parameters, too."""
        count = self.parameters + levels
        return 2 * (count - self.log_likelihood) + 2 * count * (count + 1) / (samples - count - 1)


def scattered(
    sources: Mapping[str, Source], reports: Sequence[Report], bootstraps: int = BOOTSTRAPS
) -> tuple[dict[str, Scatter], dict[str, str]]:
    """Return how well a lognormal fits the samples of each operation, or why that is not told.

    Both are by the operation's name; `sources` are what prices them.
    """
    looked = {name: look(source, reports) for name, source in sources.items()}
    untold = {name: found for name, found in looked.items() if isinstance(found, str)}
    told = {name: found for name, found in looked.items() if not isinstance(found, str)}
    p_values = {
        name: p_value(kinds, streams.stream(_SEED, f"scatter/{name}"), bootstraps)
        for name, kinds in told.items()
    }
    poor = rejected(p_values, POOR)
    found = {
        name: Scatter(
            samples=sum(kind.size for kind in kinds),
            executions=max(kind.executions for kind in kinds),
            p_value=p_values[name],
            poor=name in poor,
            aicc=aicc(kinds, streams.stream(_SEED, f"scatter/{name}/steps")),
        )
        for name, kinds in told.items()
    }
    return found, untold


def worded(found: Mapping[str, Scatter], untold: Mapping[str, str]) -> list[str]:
    """Return in words which operations a lognormal describes badly, and of which it is not told."""
    poor = [f"{name} ({_beside(one)})" for name, one in found.items() if one.poor]
    said = [
        f"whether samples are lognormal, as draws are, is not told of "
        f"{', '.join(name for name, one in untold.items() if one == why)}: {why}"
        for why in sorted(set(untold.values()))
    ]
    if not poor:
        return said
    count = f"{len(poor)} of {len(found)} operations"
    bad = f"samples of {count} are not lognormal (p < {POOR:g}, Holm), as draws are"
    return [f"{bad}: {', '.join(poor)}", *said]


def _beside(found: Scatter) -> str:
    """Return the family that does best, by how much; or that none does better."""
    best = min(found.aicc, key=lambda family: found.aicc[family])
    if found.aicc[best] >= 0:
        return "nor of another family"
    return f"{best.replace('_', ' ')}: AICc {found.aicc[best]:+g}"


def aicc(kinds: Sequence[Kind], random: np.random.Generator) -> dict[str, float]:
    """Return by how much the AICc of each other family is above the lognormal's.

    Each kind has parameters of its own, each of its groups a level. Below 0: the family describes
    them better, by so much. Samples are spread over their steps: a narrow mode on a single value
    would else have the likelihood of a density that nothing has.
    """
    relative = [np.exp(kind.spread_out(random).residuals()) for kind in kinds]
    samples, levels = sum(kind.size for kind in kinds), sum(len(kind.groups) for kind in kinds)
    found = {}
    for name, fit in FAMILIES.items():
        fits = [fit(each) for each in relative]
        whole = Fit(sum(one.log_likelihood for one in fits), sum(one.parameters for one in fits))
        found[name] = whole.aicc(samples, levels)
    least = found.pop("lognormal")
    return {name: round(value - least, 1) for name, value in found.items()}


def p_value(kinds: Sequence[Kind], random: np.random.Generator, bootstraps: int) -> float:
    """Return how likely lognormal samples fit as badly, each kind with a sigma of its own.

    Each of so many bootstraps is drawn of the fitted law, rounded to the steps that the samples are
    on, and fitted anew, levels and sigmas.
    """
    groups = [group for kind in kinds for group in kind.groups]
    sizes, numbers = [group.size for group in groups], [kind.size for kind in kinds]
    levels = np.repeat([np.log(group).mean() for group in groups], sizes)
    sigmas = np.repeat([kind.sigma() for kind in kinds], numbers)
    steps_s = np.repeat([kind.step_s for kind in kinds], numbers)
    seen = float(_distance(np.concatenate([kind.residuals() for kind in kinds])[None, :], kinds)[0])
    starts = np.cumsum([0, *sizes[:-1]])
    worse, left = 0, bootstraps
    while left > 0:
        number = min(left, _AT_ONCE)
        logs = levels + sigmas * random.standard_normal((number, levels.size))
        logs = _on_grids(logs, steps_s)
        means = np.add.reduceat(logs, starts, axis=1) / sizes
        drawn = logs - np.repeat(means, sizes, axis=1)
        worse += int((_distance(drawn, kinds) >= seen).sum())
        left -= number
    return (worse + 1) / (bootstraps + 1)


def rejected(p_values: Mapping[str, float], false_alarm: float) -> list[str]:
    """Return what is no chance, by Holm's method: the least likely first.

    The chance of naming any where all are is `false_alarm`, at most.
    """
    named: list[str] = []
    for left, name in zip(
        range(len(p_values), 0, -1), sorted(p_values, key=lambda key: p_values[key]), strict=True
    ):
        if p_values[name] * left > false_alarm:
            break
        named.append(name)
    return named


def look(source: Source, reports: Sequence[Report]) -> list[Kind] | str:
    """Return the samples by which a cost scatters, or why they do not tell how.

    They are of one case of each report, the one nearest to `REFERENCE_BYTES`; what waits for
    another thread scatters by its wake-up. Samples that resemble their predecessor are thinned to
    as many as are independent.
    """
    timed = [(*one, report) for report in reports if (one := _timed(source, report))]
    positive = [one for one in timed if _samples(*one[:2]).minimum > 0]
    found = [kind for one in positive for kind in _kinds(*one)]
    stride = math.ceil(sum(kind.size for kind in found) / _MOST)
    thinned = [_thinned(kind, min(stride, kind.size // _FEWEST)) for kind in found]
    many = [kind for kind in thinned if kind.size >= _FEWEST and kind.sigma() > _LEAST_SIGMA]
    seen = [stepped for kind in many if (stepped := _stepped(kind))]
    is_coarse = many or len(positive) < len(timed)  # a clock that did not step in between
    return seen or (_COARSE if is_coarse else _FEW)


def _stepped(kind: Kind) -> Kind | None:
    """Return a kind with the step that its samples are on; None where steps hide how they scatter.

    The samples tell that: clocks of CPU time have steps of their own, and of what was timed some at
    a time nobody says how many.
    """
    distinct = np.unique(np.concatenate(kind.groups))
    width = float(distinct[-1] - distinct[0])
    step_s = width / round(width / float(np.diff(distinct).min()))
    places = distinct / step_s
    if np.abs(places - np.round(places)).max() > _OFF_STEP:
        return kind if distinct.size**2 >= _TIED * kind.size else None
    least_s = min(math.exp(np.log(group).mean()) for group in kind.groups)
    return replace(kind, step_s=step_s) if step_s <= _WIDEST * kind.sigma() * least_s else None


def _timed(source: Source, report: Report) -> tuple[Measurement, str] | None:
    """Return the case and the quantity by which a cost scatters."""
    if source.kernel == WAKE.kernel:
        case = rested(report)
        return (case, "latency_s") if case else None
    if source.kernel == QUIC_WAKE.kernel:
        return _nearest(report, source.kernel, "rtt_s", source.variant)
    if source.waits not in {"", "wall"}:
        return _nearest(report, source.waits, "latency_s")
    wall = _nearest(report, source.kernel, "wall_s", source.variant)
    return (
        wall if source.waits else _nearest(report, source.kernel, "cpu_s", source.variant) or wall
    )


def _nearest(
    report: Report, kernel: str, quantity: str, variant: Sequence[tuple[str, float]] = ()
) -> tuple[Measurement, str] | None:
    found = cases(report, kernel, quantity, variant)
    return (min(found, key=_away), quantity) if found else None


def _away(case: Measurement) -> float:
    return abs(case.parameters.get("bytes", 0.0) - REFERENCE_BYTES)


def _kinds(case: Measurement, quantity: str, report: Report) -> list[Kind]:
    """Return the samples of a case by how many executions each is the mean over, thinned.

    Rounds whose numbers are nearly equal are one kind. None where a report keeps quantiles alone.
    """
    samples = _samples(case, quantity)
    if samples.values is None:
        return []
    values, counts = np.array(samples.values), [each.samples for each in case.rounds]
    whole = case.iterations_per_sample or 1
    if sum(counts) == values.size:
        parts = np.split(values, np.cumsum(counts)[:-1])
        executions = [each.iterations_per_sample or whole for each in case.rounds]
    else:
        parts, executions = [values], [whole]
    independent = estimate_of(case, quantity, report).independent
    stride = math.ceil(values.size / independent) if independent > 1 else 1
    alike: list[list[tuple[int, Array]]] = []
    for number, part in sorted(zip(executions, parts, strict=True), key=operator.itemgetter(0)):
        if not alike or number > _ALIKE * alike[-1][0][0]:
            alike.append([])
        alike[-1].append((number, part))
    return [_thinned(Kind([part for _, part in some], some[-1][0]), stride) for some in alike]


def _samples(case: Measurement, quantity: str) -> Samples:
    samples = case.quantity(quantity)
    assert samples, "the caller has chosen cases that have it"
    return samples


def _thinned(kind: Kind, stride: int) -> Kind:
    """Return each so manieth sample of a kind, of groups of which two are left, at least."""
    groups = [group[:: max(1, stride)] for group in kind.groups]
    return replace(kind, groups=[group for group in groups if group.size > 1])


def _on_grids(logs: Array, steps_s: Array) -> Array:
    """Return the logarithms of samples that are rounded to steps, to one at least."""
    is_on = steps_s > 0
    if not is_on.any():
        return logs
    steps = np.maximum(1, np.round(np.exp(logs[:, is_on]) / steps_s[is_on]))
    found = logs.copy()
    found[:, is_on] = np.log(steps * steps_s[is_on])
    return found


def _distance(residuals: Array, kinds: Sequence[Kind]) -> Array:
    """Return Anderson and Darling's statistic of each row, of normals of the kinds' deviations."""
    from scipy import special

    count, numbers = residuals.shape[1], [kind.size for kind in kinds]
    starts = np.cumsum([0, *numbers[:-1]])
    freedom = [kind.size - len(kind.groups) for kind in kinds]
    sigmas = np.sqrt(np.add.reduceat(residuals**2, starts, axis=1) / freedom)
    scaled = residuals / np.repeat(np.maximum(sigmas, _LEAST), numbers, axis=1)
    scaled = np.sort(scaled, axis=1)
    odd = 2 * np.arange(1, count + 1) - 1
    tails = special.log_ndtr(scaled) + special.log_ndtr(-scaled[:, ::-1])
    found: Array = -count - (tails * odd).mean(axis=1)
    return found


def _lognormal(x: Array) -> Fit:
    logs = np.log(x)
    return Fit(_normal_likelihood(logs) - float(logs.sum()), 1)


def _gamma(x: Array) -> Fit:
    """Of shape a: ln a - digamma(a) is the logarithm of the mean over the geometric mean."""
    from scipy import optimize, special

    apart = math.log(float(x.mean())) - float(np.log(x).mean())
    shape = optimize.brentq(lambda a: math.log(a) - special.digamma(a) - apart, 1e-3, 1 / apart + 1)
    scale = float(x.mean()) / shape
    each = (shape - 1) * np.log(x) - x / scale
    found = float(each.sum()) - x.size * (float(special.gammaln(shape)) + shape * math.log(scale))
    return Fit(found, 1)


def _shifted(x: Array) -> Fit:
    """Lognormal above a least time; that is not at the least sample, where the likelihood ends."""
    from scipy import optimize

    def missed(share: float) -> float:
        logs = np.log(x - share * least)
        return float(logs.sum()) - _normal_likelihood(logs)

    least = float(x.min())
    found = optimize.minimize_scalar(missed, bounds=(0, _NEAREST), method="bounded")
    return Fit(-float(min(found.fun, missed(0.0))), 2)


def _tailed(x: Array) -> Fit:
    """Two lognormals, the second slower and rarer, by expectation and maximisation."""
    logs = np.sort(np.log(x))
    is_tail = np.arange(x.size) >= x.size * (1 - _TAIL)
    weight = np.where(is_tail, 0.9, 0.1)
    floor = _NARROWEST * float(logs.std())
    likelihood = -math.inf
    for _ in range(_MOST_STEPS):
        parts = np.stack([1 - weight, weight])
        shares = parts.sum(axis=1) / x.size
        means = (parts @ logs) / parts.sum(axis=1)
        variances = (parts * (logs - means[:, None]) ** 2).sum(axis=1) / parts.sum(axis=1)
        sigmas = np.maximum(np.sqrt(variances), floor)
        scaled = (logs - means[:, None]) / sigmas[:, None]
        each = np.log(shares / sigmas)[:, None] - scaled**2 / 2 - _HALF_LOG_2_PI
        both = np.logaddexp(*each)
        weight = np.clip(np.exp(each[1] - both), _LEAST, 1 - _LEAST)
        before, likelihood = likelihood, float(both.sum())
        if likelihood - before < _SETTLED:
            break
    return Fit(likelihood - float(logs.sum()), 4)


def _normal_likelihood(values: Array) -> float:
    """Return the largest log likelihood that normals give."""
    deviation = max(float(values.std()), _LEAST)
    return -values.size * (math.log(deviation) + 0.5 + _HALF_LOG_2_PI)


FAMILIES = {
    "lognormal": _lognormal,
    "gamma": _gamma,
    "shifted_lognormal": _shifted,
    "lognormal_with_tail": _tailed,
}
"""By name, what fits each to positive samples; the engine draws the first."""

POOR = 0.05
"""The chance of calling any of a profile's lognormals poor where all are right."""

_SEED = 0  # of streams "scatter/<operation>": the same reports give the same bytes
_FEWEST = 20  # samples of a kind: fewer tell no family from another
_MOST = 1000  # about; with more, time grows and nothing real is exactly of a family
_ALIKE = 1.25  # times as many executions: sigmas 12 % apart, which 1000 samples do not show
# Of a deviation of samples: with 1000 of them on steps of a half, rounded bootstraps are rejected
# in 3 to 5 % at 5 %, on steps of a whole one in 68 %.
_WIDEST = 0.5
_OFF_STEP = 0.05  # steps that a multiple is off, by the 9 digits of reports
# Where as many samples as the square of n distinct ones over this share them, and on no grid, the
# statistic does not see it: of 1000 on steps of 0.05 deviations 10 to 12 % were rejected at 5 %.
_TIED = 20
_FEW = "fewer than 20 samples that differ are kept of each report"
_COARSE = "their clock's steps are too wide beside how they scatter"
_AT_ONCE = 100  # bootstraps: their numbers stay in the caches
_NEAREST = 0.98  # of the least sample: at 1 the likelihood of a shifted lognormal has no bound
_NARROWEST = 0.05  # of the whole deviation: nor has that of two, around a single sample
_TAIL = 0.1  # share of the samples that are taken for the tail at first
_MOST_STEPS = 200
_SETTLED = 1e-4  # of the logarithm of the likelihood: a thousandth of what AICs differ by
_LEAST_SIGMA = 1e-5  # below, samples are one number but for its rounding
_LEAST = 1e-12
_HALF_LOG_2_PI = math.log(2 * math.pi) / 2
