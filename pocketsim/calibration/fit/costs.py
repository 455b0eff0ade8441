"""What reports say about the cost of one operation: a mean, and a posterior of it.

A random effect on each level: executions differ within a round, rounds within a report, reports of
one device. What is above tells the error: reports where there are several, else rounds, else the
samples. So few tell it that the interval is Student's t, with reports - 1 or rounds - 1 degrees of
freedom; what the line leaves over and the clock's error come on top, by Welch and Satterthwaite's
rule. What does not live here: one report (`calibration.fit.looks`), which kernel prices which
operation, what operations have in common (`calibration.fit.common`), and what no kernel has
measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit.lines import Mean, combine
from pocketsim.calibration.fit.looks import LEAST_ERROR, Look, lack_of_fit, look
from pocketsim.calibration.fit.samples import Sigma, execution_sigma
from pocketsim.sim.base.t_interval import freedom_of_sum
from pocketsim.sim.base.units import DURATION
from pocketsim.sim.devices.profile import Cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.kernels import Source
    from pocketsim.calibration.fit.probe_report import Report

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Posterior:
    """What is known of the fixed part of a cost, waiting included, and of what each byte adds.

    `deviations` are those of reports, or of the rounds of one, from the mean of the whole, relative
    to it, by how they are called; empty where neither are told apart.
    """

    mean: Array
    covariance: Array
    degrees_of_freedom: float  # infinite where the error is as good as known
    deviations: dict[str, float]


@dataclass(frozen=True)
class Priced:
    """The cost of an operation, and by what those who measured it differ."""

    cost: Cost
    deviations: dict[str, float]


def price(source: Source, reports: Sequence[Report], cores: int) -> Priced | None:
    """Return the cost that `source` says, or None when no report has measured its kernel."""
    told = [(report, found) for report in reports if (found := look(source, report))]
    if not told:
        return None
    looks = [found for _, found in told]
    threads = _threads(looks, cores) if source.parallel else 1
    return cost(looks, threads, _source_text(source, [report for report, _ in told], looks))


def cost(looks: Sequence[Look], threads: int, source: str) -> Priced:
    """Return what looks at one operation say together, with `threads` for each.

    `source` says how they came about; how much the lines leave over is added to it.
    """
    mean = combine(np.array([found.total_s(threads) for found in looks]), _errors_s(looks, threads))
    posterior = _posterior(looks, threads, mean)
    wait_s = float(mean.weights @ [found.wait_s(threads) for found in looks])
    spread = _spread(looks)
    found = Cost.model_validate(
        {
            "cpu": seconds(float(posterior.mean[0]) - wait_s),
            "per_byte": seconds(float(posterior.mean[1])),
            "wait": seconds(wait_s),
            "threads": threads,
            "spread_sigma": rounded(spread.value, ERROR_DIGITS),
            "repetition_sigma": rounded(mean.between_sigma(), ERROR_DIGITS),
            **_sigma_errors(spread, mean, len(looks)),
            **_uncertainty(posterior),
            "basis": "measured",
            "samples": sum(one.samples for each in looks for one in each.estimates),
            "source": f"{source}{_left_over(lack_of_fit(looks))}",
        }
    )
    return Priced(found, posterior.deviations)


def seconds(value_s: float, digits: int = 5) -> str:
    """Return a duration as profiles write it."""
    return DURATION.write(rounded(value_s, digits))


def rounded(value: float, digits: int = 5) -> float:
    """Return `value` in as many digits as the measurements bear.

    Five: standard errors of a hundredth of a percent are beyond any phone.
    """
    return float(f"{value:.{digits}g}")


def named(reports: Sequence[Report]) -> str:
    """Return by which digests the reports can be found again."""
    digests = ", ".join(report.digest[:_DIGEST_DIGITS] for report in reports)
    return f"probe report{'s' if len(reports) > 1 else ''} {digests}"


def _errors_s(looks: Sequence[Look], threads: int) -> Array:
    """Return the standard error of each report's whole cost, as its rounds and samples leave it.

    Rounds are taken to differ alike in all reports of the device: two or three of one report alone
    would give weights that are mostly chance.
    """
    rounds = [found.rounds(threads) @ found.direction() for found in looks]
    squares = [((each / each.mean() - 1) ** 2).sum() for each in rounds if each.size]
    freedom = sum(each.size - 1 for each in rounds if each.size)
    relative = math.sqrt(sum(squares) / freedom) if freedom else 0.0
    return np.array(
        [
            max(
                relative / math.sqrt(each.size) * found.total_s(threads)
                if each.size
                else found.error_s(threads),
                found.common_error_s(threads),
            )
            for found, each in zip(looks, rounds, strict=True)
        ]
    )


def _posterior(looks: Sequence[Look], threads: int, mean: Mean) -> Posterior:
    """Return what `looks` say together; `mean` weighs them."""
    parts = np.array([found.parts(threads) for found in looks])
    middle: Array = mean.weights @ parts
    direction = np.array([1.0, float(np.mean([found.place() for found in looks]))])
    rounds = looks[0].rounds(threads) if len(looks) == 1 else np.empty((0, 2))
    if len(looks) > 1:
        names = [found.called for found in looks]
        scatter = _scatter(parts - middle, mean.weights)
        apart, freedom = parts - middle, len(looks) - 1.0
    elif rounds.size:
        names = [f"round {number}" for number in range(len(rounds))]
        apart, freedom = rounds - rounds.mean(axis=0), len(rounds) - 1.0
        scatter = _scatter(apart, np.full(len(rounds), 1 / len(rounds)))
    else:
        names, apart, freedom = [], rounds, math.inf
        scatter = _sampled(looks[0], threads)
    total_s = float(middle @ direction)
    common_s = math.sqrt(np.mean([found.common_error_s(threads) ** 2 for found in looks]))
    clock = np.diag([common_s**2, (middle[1] * LEAST_ERROR) ** 2])
    bent = lack_of_fit(looks) ** 2 * np.outer(middle, middle)
    variances = [float(direction @ each @ direction) for each in (scatter, bent, clock)]
    # By how much the line is off is seen, not inferred: it is off by that at the sizes themselves.
    degrees = freedom_of_sum(variances, (freedom, math.inf, math.inf))
    deviations = dict(zip(names, (apart @ direction / total_s).tolist(), strict=True))
    return Posterior(middle, scatter + bent + clock, degrees, deviations)


def _scatter(apart: Array, weights: Array) -> Array:
    """Return the covariance of a weighted mean, from what it is the mean of.

    That of Hartung and Knapp (Statistics in Medicine 20, 2001, 3875), for two parts at once.
    """
    found: Array = (apart.T * weights) @ apart / (len(apart) - 1)
    return found


def _sampled(found: Look, threads: int) -> Array:
    """Return the covariance that samples leave, where no rounds tell it."""
    line, direction = found.cpu.line, found.direction()
    beside = found.error_s(threads) ** 2 - float(direction @ line.covariance @ direction)
    return line.covariance + np.diag([max(0.0, beside), 0.0])


def _uncertainty(posterior: Posterior) -> dict[str, Any]:
    """Return the keys of a cost that say how it is drawn."""
    fixed_s, per_byte_s = np.sqrt(np.diag(posterior.covariance)).tolist()
    said: dict[str, Any] = {"standard_error": seconds(fixed_s if posterior.mean[0] else 0.0)}
    if posterior.mean[1] > 0:
        said["per_byte_standard_error"] = seconds(per_byte_s)
    if posterior.mean.min() > 0:
        together = float(posterior.covariance[0, 1]) / (fixed_s * per_byte_s)
        said["correlation"] = rounded(min(1.0, max(-1.0, together)))
    if posterior.degrees_of_freedom < _MANY:
        said["degrees_of_freedom"] = rounded(posterior.degrees_of_freedom, ERROR_DIGITS)
    return said


def _threads(looks: Sequence[Look], cores: int) -> int:
    """Return the fewest threads whose CPU time fits into the wall time."""
    ratios = [
        found.cpu.line.at(found.place()) / found.wall.line.at(found.place())
        for found in looks
        if found.wall
    ]
    return min(cores, max(1, math.ceil(float(np.mean(ratios)) - _BY_CHANCE)))


def _spread(looks: Sequence[Look]) -> Sigma:
    """Return the sigma of the whole cost: of its parts by their shares, which vary on their own."""
    own = execution_sigma([one for found in looks for one in found.estimates])
    latencies = [found.latency for found in looks if found.latency]
    if not latencies:
        return own
    share = float(np.mean([found.wait_s(1) / found.total_s(1) for found in looks]))
    waited = execution_sigma(latencies)
    parts = np.array([[1 - share, share], [1 - share, share]])
    parts *= [[own.value, waited.value], [own.standard_error, waited.standard_error]]
    value = math.hypot(*parts[0])
    return Sigma(value, math.hypot(*(parts[0] * parts[1])) / value if value else 0.0)


def _sigma_errors(spread: Sigma, mean: Mean, reports: int) -> dict[str, float]:
    """Return the keys that say how sure sigmas are; none for what nothing tells."""
    said = {"spread_sigma_standard_error": spread.standard_error}
    if reports > 1:
        said["repetition_sigma_standard_error"] = between_error(mean, reports)
    return {key: rounded(error, ERROR_DIGITS) for key, error in said.items() if error > 0}


def between_error(mean: Mean, reports: int) -> float:
    """Return the standard error of `mean.between_sigma()` over so many reports, two at least.

    That of a standard deviation, s / sqrt(2 (n - 1)); where reports are as near to each other as
    their own errors explain, that of a deviation as large as the error of their mean.
    """
    return max(mean.between_sigma(), mean.relative_error()) / math.sqrt(2 * (reports - 1))


def _source_text(source: Source, reports: Sequence[Report], looks: Sequence[Look]) -> str:
    waited = f" and {source.waits}" if source.waits not in {"", "wall"} else ""
    kernel = f"kernel {source.kernel}{waited}{at_sizes(looks)}"
    return f"{named(reports)}; {kernel}: {source.why}"


def at_sizes(looks: Sequence[Look]) -> str:
    """Return in words at which sizes was measured; nothing for what has none."""
    sizes = sorted(
        {f"{size:g}" for found in looks for size in found.cpu.line.places if size > 0}, key=float
    )
    return f" at {' '.join(sizes)} bytes" if sizes else ""


def _left_over(lack: float) -> str:
    return f"; the line leaves {lack:.1%} over, which the standard error has" if lack else ""


ERROR_DIGITS = 3
"""Significant digits of sigmas and degrees of freedom."""

_DIGEST_DIGITS = 12  # of SHA-256: enough to find a report again
_BY_CHANCE = 0.05  # CPU time may exceed the wall time of one thread by what timing them differs
_MANY = 200  # degrees of freedom from which Student's t is as good as normal: 1.97 for 1.96
