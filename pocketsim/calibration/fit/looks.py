"""What one report says about the cost of an operation, as a whole and round by round.

A line `cpu + per_byte * bytes` through the kernel's cases on one thread, free to move between
cores, and what is waited for beside it. Every round of the report gives such a line, too, by the
same weights: what differs between rounds is the error of the report, and how the fixed part and the
cost per byte err together is in it. What does not live here: several reports
(`calibration.fit.costs`), and which kernel prices which operation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit.lines import Line, fit_line
from pocketsim.calibration.fit.samples import FEWEST_SAMPLES, Estimate, estimate
from pocketsim.sim.base.t_interval import one_sigma
from pocketsim.sim.devices.prices import REFERENCE_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.kernels import Source
    from pocketsim.calibration.fit.probe_report import Measurement, Report

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Course:
    """A line through sizes, and the same line of each round."""

    line: Line
    rounds: Array  # a row of intercept and slope for each; none where rounds are not told apart
    clock_error: float  # of the line, which all rounds share
    points: dict[float, tuple[float, float]]  # mean and its own standard error in s, by bytes


@dataclass(frozen=True)
class Look:
    """What one report says about a kernel: CPU time, and how long it lasts or is waited for.

    `called` tells the report from others: its digest.
    """

    called: str
    estimates: tuple[Estimate, ...]  # of what decides the spread
    cpu: Course
    wall: Course | None = None
    latency: Estimate | None = None
    # Of the latency, the call that woke the thread; its own operation has that already.
    sent: Estimate | None = None

    def wait_s(self, threads: int) -> float:
        """Return how long is waited, which is never less than nothing."""
        at, cpu = self.place(), self.cpu.line
        if self.latency:
            # It ends when the call has returned that `cpu` is about, with next to nothing to read.
            sent_s = self.sent.mean if self.sent else 0.0
            return max(0.0, self.latency.mean - sent_s - cpu.at(0.0))
        return max(0.0, self.wall.line.at(at) - cpu.at(at) / threads) if self.wall else 0.0

    def parts(self, threads: int) -> Array:
        """Return what is fixed, waiting included, and what each byte adds."""
        return np.array([self.cpu.line.intercept + self.wait_s(threads), self.cpu.line.slope])

    def total_s(self, threads: int) -> float:
        """Return the whole at `place`."""
        return float(self.parts(threads) @ self.direction())

    def direction(self) -> Array:
        """Return what makes the whole at `place` of the parts."""
        return np.array([1.0, self.place()])

    def rounds(self, threads: int) -> Array:
        """Return the parts by round, a row for each; none where rounds are not told apart."""
        courses = [course.rounds for course in (self.cpu, self.wall) if course]
        waits = [np.array(wait.rounds) for wait in (self.latency, self.sent) if wait]
        if len({len(each) for each in (*courses, *waits)}) > 1 or len(courses[0]) < _FEWEST_ROUNDS:
            return np.empty((0, 2))
        fixed, per_byte = courses[0].T
        at = self.place()
        wait = np.zeros_like(fixed)
        if self.wait_s(threads) and self.wall:
            wait = self.wall.rounds @ (1.0, at) - courses[0] @ (1.0, at) / threads
        elif self.wait_s(threads):
            wait = waits[0] - sum(waits[1:]) - fixed
        return np.column_stack([fixed + wait, per_byte])

    def error_s(self, threads: int) -> float:
        """Return the standard error of the whole as samples alone leave it, rounds aside.

        With a wall time, of cpu (1 - 1 / threads) + wall.
        """
        cpu_s = self.cpu.line.sampling_error(self.place())
        if self.wall:
            wall_s = self.wall.line.sampling_error(self.place())
            return math.hypot(cpu_s * (1 - 1 / threads), wall_s)
        waits = [wait.standard_error for wait in (self.latency, self.sent) if wait]
        return math.hypot(cpu_s, *waits)

    def common_error_s(self, threads: int) -> float:
        """Return the standard error that no round tells, as each has it: the clock's."""
        clocks = [course.clock_error for course in (self.cpu, self.wall) if course]
        clocks += [wait.clock_error for wait in (self.latency, self.sent) if wait]
        return max(math.hypot(*clocks), self.total_s(threads) * LEAST_ERROR)

    def place(self) -> float:
        """Return the reference size, or the measured one nearest to it."""
        places = self.cpu.line.places
        return float(np.clip(REFERENCE_BYTES, places.min(), places.max()))


def look(source: Source, report: Report) -> Look | None:
    """Return what `report` says of the kernel of `source`; None where it has not measured it."""
    cpu = estimates(report, source.kernel, "cpu_s", source.variant)
    waits = source.waits == "wall"
    wall = estimates(report, source.kernel, "wall_s", source.variant) if waits or not cpu else {}
    # Without a CPU clock of its own, an operation that only computes takes its wall time.
    cpu = cpu or ({} if waits else wall)
    if not cpu or (waits and not wall):
        return None
    if source.opens:
        cpu = _less_opened(report, source, cpu)
    line = course(cpu)
    if waits:
        return Look(report.digest, tuple(wall.values()), line, wall=course(wall))
    if source.waits:
        latencies = estimates(report, source.waits, "latency_s")
        if not latencies:
            return None
        (latency,) = latencies.values()
        sent = next(iter(estimates(report, source.waits, "sent_s").values()), None)
        return Look(report.digest, tuple(cpu.values()), line, latency=latency, sent=sent)
    return Look(report.digest, tuple(cpu.values()), line)


def lack_of_fit(looks: Sequence[Look]) -> float:
    """Return by how much, relative to it, the cost of a size is off the line, in all of `looks`."""
    walls = [found.wall for found in looks if found.wall]
    return max(_bent([found.cpu for found in looks]), _bent(walls) if walls else 0.0)


def cases(
    report: Report, kernel: str, quantity: str, variant: Sequence[tuple[str, float]] = ()
) -> list[Measurement]:
    """Return the cases of `kernel` on one thread and any core with enough samples of `quantity`.

    `variant` are the parameters that they must have besides a size, a number of tokens or a
    length of time.
    """
    fixed = dict(variant)
    return [
        case
        for case in report.document.measurements
        if case.kernel == kernel
        and case.threads == 1
        and case.core_class is None
        and {key: value for key, value in case.parameters.items() if key not in _SIZES} == fixed
        and (samples := case.quantity(quantity))
        and samples.count >= FEWEST_SAMPLES
    ]


def estimate_of(case: Measurement, quantity: str, report: Report) -> Estimate:
    """Return what `case` says about the mean of its `quantity`, in seconds."""
    samples = case.quantity(quantity)
    assert samples, "the caller has chosen cases that have it"
    return estimate(
        samples,
        report.document.clock.resolution_s,
        case.iterations_per_sample or 1,
        [each.median for each in case.rounds],
        [each.samples for each in case.rounds],
    )


def estimates(
    report: Report, kernel: str, quantity: str, variant: Sequence[tuple[str, float]] = ()
) -> dict[float, Estimate]:
    """Return the estimates of a kernel's cases by their bytes, 0 for those without."""
    found = cases(report, kernel, quantity, variant)
    return {_size(case): estimate_of(case, quantity, report) for case in found}


def less(spent: Estimate, each: Estimate, number: float) -> Estimate:
    """Return what is left of `spent` without `number` of `each`, round by round where both tell."""
    rounds = [one - number * other for one, other in zip(spent.rounds, each.rounds, strict=False)]
    return replace(
        spent,
        mean=max(LEAST_S, spent.mean - number * each.mean),
        standard_error=math.hypot(spent.standard_error, number * each.standard_error),
        clock_error=math.hypot(spent.clock_error, number * each.clock_error),
        rounds=tuple(rounds) if len(spent.rounds) == len(each.rounds) else (),
    )


def line_through(
    x: Array, estimates: Sequence[Estimate], errors: Sequence[float] | None = None
) -> Line:
    """Return the line through durations at `x`; none is shorter or surer than can be.

    `errors` stand in for the estimates' own standard errors.
    """
    means = np.array([max(one.mean, LEAST_S) for one in estimates])
    said = [one.standard_error for one in estimates] if errors is None else errors
    return fit_line(x, means, np.maximum(said, means * LEAST_ERROR))


def course(estimates: Mapping[float, Estimate]) -> Course:
    """Return the line through durations by their sizes in bytes, of all rounds and of each."""
    found = list(estimates.values())
    rounds = np.array([one.rounds for one in found]) if _have_rounds(found) else np.empty((0, 0))
    errors = _own_errors(found, rounds)
    line = line_through(np.array(list(estimates)), found, errors)
    clock = np.abs(line.weights) @ [one.clock_error for one in found]
    by_round = (line.weights @ rounds).T if rounds.size else np.empty((0, 2))
    points = {
        size: (one.mean, error)
        for (size, one), error in zip(estimates.items(), errors, strict=True)
    }
    return Course(line, by_round, float(clock[0]), points)


def _bent(courses: Sequence[Course]) -> float:
    """Return by how much, relative to it, the cost of a size is off the line of each course.

    Of several it is that of their mean, each at its own level: what is off by chance differs from
    report to report, and would else be taken for a bend as often as there are reports.
    """
    sizes = sorted(set.intersection(*(set(each.points) for each in courses)))
    if len(courses) == 1 or len(sizes) < _FEWEST_BENT:
        return math.sqrt(np.mean([each.line.lack_of_fit**2 for each in courses]))
    points = np.array([[each.points[size] for size in sizes] for each in courses])
    levels = np.array([each.line.at(sizes[len(sizes) // 2]) for each in courses])
    means, errors = np.moveaxis(points / levels[:, None, None], 2, 0)
    means = means.mean(axis=0)
    errors = np.sqrt((errors**2).sum(axis=0)) / len(courses)
    return fit_line(np.array(sizes), means, np.maximum(errors, means * LEAST_ERROR)).lack_of_fit


def _size(case: Measurement) -> float:
    """Return the bytes that a profile counts: of a QUIC packet those of its datagram."""
    datagram = case.quantity("datagram_bytes")
    return datagram.median if datagram else case.parameters.get("bytes", 0.0)


def _less_opened(
    report: Report, source: Source, cpu: dict[float, Estimate]
) -> dict[float, Estimate]:
    """Return `cpu` without the opening of the datagrams that the operation began with."""
    opening = estimates(report, source.opens, "cpu_s")
    found = cases(report, source.kernel, _OPENED, source.variant)
    if not opening or not found:
        return cpu
    opened = course(opening)
    each = Estimate(
        mean=opened.line.at(_FLIGHT_BYTES),
        standard_error=opened.line.sampling_error(_FLIGHT_BYTES),
        sample_sigma=0.0,
        samples=0,
        clock_error=opened.clock_error,
        rounds=tuple(opened.rounds @ (1.0, _FLIGHT_BYTES)),
    )
    numbers = {_size(case): samples.mean for case in found if (samples := case.quantity(_OPENED))}
    return {size: less(spent, each, numbers.get(size, 0.0)) for size, spent in cpu.items()}


def _have_rounds(found: Sequence[Estimate]) -> bool:
    """Return whether all cases have as many rounds, in which nothing took less than nothing."""
    numbers = {len(one.rounds) for one in found}
    return len(numbers) == 1 and numbers != {0} and min(min(one.rounds) for one in found) > 0


def _own_errors(found: Sequence[Estimate], rounds: Array) -> list[float]:
    """Return standard errors of cases beyond what all of them share in each round.

    A round that is slower for all sizes moves the line and bends nothing. So few rounds tell it
    that one standard error is Student's t: else chance would too often pass for a bend.
    """
    if len(rounds) < 2:  # noqa: PLR2004 - one case shares with nobody
        return [one.standard_error for one in found]
    logs = np.log(rounds)
    apart = logs - logs.mean(axis=0) - logs.mean(axis=1, keepdims=True) + logs.mean()
    cases_, number = rounds.shape
    freedom = (cases_ - 1) * (number - 1)
    relative = one_sigma(freedom) * math.sqrt(float((apart**2).sum()) / (freedom * number))
    return [max(one.own_error, relative * one.mean) for one in found]


LEAST_ERROR = 1e-4
"""Relative: quartz clocks are off by some 1e-5 to 1e-4."""

LEAST_S = 1e-12
"""Of CPU time that a coarse clock does not see: a picosecond, for the arithmetic."""

_SIZES = {"bytes", "tokens", "requested_s"}
_OPENED = "opened_datagrams"
_FLIGHT_BYTES = 1200.0  # initial datagrams are padded to as much (RFC 9000, 14.1)
_FEWEST_ROUNDS = 2
_FEWEST_BENT = 3  # sizes: through two there is always a line
