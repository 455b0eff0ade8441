"""Whether executions scatter as the simulator draws them, and which family would do better.

The engine draws every execution from one family, lognormal. What a report's samples say of that is
an Anderson-Darling statistic; where that has no chance is told by samples drawn of the fitted law
and fitted again (the parametric bootstrap: Stute, Gonzalez Manteiga and Presedo Quindimil, Metrika
40, 1993, 243). The AICc of other families stands beside (Hurvich and Tsai, Biometrika 76, 1989,
297).
Rounds have levels of their own, which are fitted, too. A sample is a mean over the executions that
were timed together: of many it is nearly normal whatever they are. What does not live here: how
large the scatter is (`calibration.fit.samples`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit.kernels import WAKE
from pocketsim.calibration.fit.looks import cases, estimate_of
from pocketsim.calibration.fit.wakes import rested
from pocketsim.sim.base import streams
from pocketsim.sim.devices.profile import Scatter
from pocketsim.sim.devices.ratios import REFERENCE_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.kernels import Source
    from pocketsim.calibration.fit.probe_report import Measurement, Report

    Array = np.ndarray[Any, Any]

BOOTSTRAPS = 999
"""Of each cost: twenty p-values of 1/1000 are below Holm's bound of 5 %."""


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
) -> dict[str, Scatter]:
    """Return how well a lognormal fits the samples of each operation, by its name.

    `sources` are what prices them; those of which too few samples are kept are left out.
    """
    looked = {name: _look(source, reports) for name, source in sources.items()}
    told = {name: found for name, found in looked.items() if found}
    p_values = {
        name: p_value(
            found.groups, streams.stream(_SEED, f"scatter/{name}"), bootstraps, found.step_s
        )
        for name, found in told.items()
    }
    poor = rejected(p_values, POOR)
    return {
        name: Scatter(
            family="lognormal",
            samples=sum(map(len, found.groups)),
            executions=found.executions,
            p_value=p_values[name],
            poor=name in poor,
            aicc=aicc(found.groups),
        )
        for name, found in told.items()
    }


def worded(found: Mapping[str, Scatter]) -> str:
    """Return in words which operations a lognormal describes badly; nothing where it fits all."""
    poor = [f"{name} ({_beside(one)})" for name, one in found.items() if one.poor]
    if not poor:
        return ""
    return (
        f"samples of {len(poor)} of {len(found)} operations are not lognormal (p < {POOR:g}, Holm),"
        f" as draws are: {', '.join(poor)}"
    )


def _beside(found: Scatter) -> str:
    """Return the family that does best, by how much; or that none does better."""
    best = min(found.aicc, key=lambda family: found.aicc[family])
    if found.aicc[best] >= 0:
        return "nor of another family"
    return f"{best.replace('_', ' ')}: AICc {found.aicc[best]:+g}"


def aicc(groups: Sequence[Array]) -> dict[str, float]:
    """Return by how much the AICc of each other family is above the lognormal's.

    `groups` are positive samples, each group at a level of its own. Below 0: it describes them
    better, by so much.
    """
    relative = np.exp(_residuals(groups))
    found = {name: fit(relative).aicc(relative.size, len(groups)) for name, fit in FAMILIES.items()}
    least = found.pop("lognormal")
    return {name: round(value - least, 1) for name, value in found.items()}


def p_value(
    groups: Sequence[Array], random: np.random.Generator, bootstraps: int, step: float = 0.0
) -> float:
    """Return how likely lognormal samples fit as badly as `groups`, whose levels are their own.

    Each of so many bootstraps is drawn of the fitted law, rounded to the `step` of the clock as the
    samples are, and fitted anew.
    """
    sizes = [group.size for group in groups]
    residuals = _residuals(groups)
    sigma = _sigma(residuals, len(groups))
    levels = np.repeat([np.log(group).mean() for group in groups], sizes)
    seen = float(_distance(residuals[None, :], len(groups))[0])
    worse, left = 0, bootstraps
    while left > 0:
        number = min(left, _AT_ONCE)
        logs = levels + sigma * random.standard_normal((number, residuals.size))
        if step:
            logs = np.log(np.maximum(1, np.round(np.exp(logs) / step)))
        starts = np.cumsum([0, *sizes[:-1]])
        means = np.add.reduceat(logs, starts, axis=1) / sizes
        drawn = logs - np.repeat(means, sizes, axis=1)
        worse += int((_distance(drawn, len(groups)) >= seen).sum())
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


@dataclass(frozen=True)
class _Looked:
    """Samples in s by round, how many executions each is the mean over, and the clock's step."""

    groups: list[Array]
    executions: int
    step_s: float


def _look(source: Source, reports: Sequence[Report]) -> _Looked | None:
    """Return the samples by which a cost scatters; None where they are few, or all equal.

    They are of one case of each report, the one nearest to `REFERENCE_BYTES`; what waits for
    another thread scatters by its wake-up. Samples that resemble their predecessor are thinned to
    as many as are independent.
    """
    groups: list[Array] = []
    executions, step_s = 1, 0.0
    for report in reports:
        if timed := _timed(source, report):
            case, quantity = timed
            groups += _rounds(case, quantity, report)
            if case.iterations_per_sample:  # else the clock's share in a sample is not told
                executions = max(executions, case.iterations_per_sample)
                step_s = report.document.clock.resolution_s / executions
    stride = math.ceil(sum(map(len, groups)) / _MOST)
    groups = [kept for group in groups if (kept := group[:: max(1, stride)]).size > 1]
    if sum(map(len, groups)) < _FEWEST or min(group.min() for group in groups) <= 0:
        return None
    scatters = _sigma(_residuals(groups), len(groups)) > _LEAST_SIGMA
    return _Looked(groups, executions, step_s) if scatters else None


def _timed(source: Source, report: Report) -> tuple[Measurement, str] | None:
    """Return the case and the quantity by which a cost scatters."""
    if source.kernel == WAKE.kernel:
        case = rested(report)
        return (case, "latency_s") if case else None
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


def _rounds(case: Measurement, quantity: str, report: Report) -> list[Array]:
    """Return the samples of a case by round, thinned; nothing where only quantiles are kept."""
    samples = case.quantity(quantity)
    assert samples, "the caller has chosen cases that have it"
    if samples.values is None:
        return []
    values = np.array(samples.values)
    counts = [each.samples for each in case.rounds]
    parts = np.split(values, np.cumsum(counts)[:-1]) if sum(counts) == values.size else [values]
    independent = estimate_of(case, quantity, report).independent
    stride = math.ceil(values.size / independent) if independent > 1 else 1
    return [kept for part in parts if (kept := part[::stride]).size > 1]


def _residuals(groups: Sequence[Array]) -> Array:
    """Return the logarithms of samples over the level of their group."""
    return np.concatenate([np.log(group) - np.log(group).mean() for group in groups])


def _sigma(residuals: Array, levels: int) -> float:
    return math.sqrt(float((residuals**2).sum()) / (residuals.size - levels))


def _distance(residuals: Array, levels: int) -> Array:
    """Return Anderson and Darling's statistic of each row, of a normal of the row's deviation."""
    from scipy import special

    count = residuals.shape[1]
    sigmas = np.sqrt((residuals**2).sum(axis=1, keepdims=True) / (count - levels))
    scaled = np.sort(residuals / np.maximum(sigmas, _LEAST), axis=1)
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
_FEWEST = 20  # samples: fewer tell no family from another
_MOST = 1000  # of a report; with more, time grows and nothing real is exactly of a family
_AT_ONCE = 100  # bootstraps: their numbers stay in the caches
_NEAREST = 0.98  # of the least sample: at 1 the likelihood of a shifted lognormal has no bound
_NARROWEST = 0.05  # of the whole deviation: nor has that of a mixture, around a single sample
_TAIL = 0.1  # share of the samples that are taken for the tail at first
_MOST_STEPS = 200
_SETTLED = 1e-4  # of the logarithm of the likelihood: a thousandth of what AICs differ by
_LEAST_SIGMA = 1e-5  # below, samples are one number but for its rounding
_LEAST = 1e-12
_HALF_LOG_2_PI = math.log(2 * math.pi) / 2
