"""What the cases of one kernel say about the cost of one operation, over one or several reports.

For each report a line `cpu + per_byte * bytes` through the kernel's cases on one thread, free to
move between cores; over reports, a mean with what differs between them. What does not live here:
which kernel prices which operation, and what no kernel has measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit.lines import Line, combine, fit_line
from pocketsim.calibration.fit.samples import FEWEST_SAMPLES, Estimate, estimate, execution_sigma
from pocketsim.sim.base.units import DURATION
from pocketsim.sim.devices.profile import Cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.kernels import Source
    from pocketsim.calibration.fit.probe_report import Measurement, Report

    Array = np.ndarray[Any, Any]

REFERENCE_BYTES = 668.0
"""Where waits and relative errors are taken: the block of a 100-byte transaction with both previous
hashes (Chirila 2025, appendix B), in the midst of what the protocols ask for."""


def price(source: Source, reports: Sequence[Report], cores: int) -> Cost | None:
    """Return the cost that `source` says, or None when no report has measured its kernel."""
    looks = [look for report in reports if (look := _look(source, report))]
    if not looks:
        return None
    threads = _threads(looks, cores) if source.parallel else 1
    totals = [look.total_s(threads) for look in looks]
    mean = combine(np.array(totals), np.array([look.total_error_s(threads) for look in looks]))

    def weighted(values: Sequence[float]) -> float:
        return float(mean.weights @ np.array(values))

    wait_s = max(0.0, weighted([look.wait_s(threads) for look in looks]))
    cpu_s = weighted([look.cpu.intercept for look in looks])
    lack = math.sqrt(np.mean([look.lack_of_fit() ** 2 for look in looks]))
    relative = math.hypot(mean.relative_error(), lack)
    return Cost.model_validate(
        {
            "cpu": seconds(cpu_s),
            "per_byte": seconds(weighted([look.cpu.slope for look in looks])),
            "wait": seconds(wait_s),
            "threads": threads,
            "spread_sigma": rounded(_spread(looks), ERROR_DIGITS),
            "repetition_sigma": rounded(mean.between_sigma(), ERROR_DIGITS),
            "standard_error": seconds(
                _standard_error_s(cpu_s + wait_s, relative, mean.value), ERROR_DIGITS
            ),
            "basis": "measured",
            "samples": sum(one.samples for look in looks for one in look.estimates),
            "source": _source_text(source, looks, lack),
        }
    )


def cases(
    report: Report, kernel: str, quantity: str, variant: Sequence[tuple[str, float]] = ()
) -> list[Measurement]:
    """Return the cases of `kernel` on one thread and any core with enough samples of `quantity`.

    `variant` are the parameters that they must have besides a size or a length of time.
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
    clock = report.document.clock
    medians = [each.median for each in case.rounds]
    return estimate(samples, clock.resolution_s, case.iterations_per_sample or 1, medians)


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


def line_through(x: Array, estimates: Sequence[Estimate]) -> Line:
    """Return the line through durations at `x`; none is shorter or surer than can be."""
    means = np.array([max(one.mean, _LEAST_S) for one in estimates])
    errors = np.maximum([one.standard_error for one in estimates], means * _LEAST_ERROR)
    return fit_line(x, means, errors)


@dataclass(frozen=True)
class _Look:
    """What one report says about a kernel: CPU time, and how long it lasts or is waited for."""

    report: Report
    estimates: tuple[Estimate, ...]  # of what decides the spread
    cpu: Line
    wall: Line | None = None
    latency: Estimate | None = None
    # Of the latency, the call that woke the thread; its own operation has that already.
    sent: Estimate | None = None

    def wait_s(self, threads: int) -> float:
        at = self.place()
        if self.latency:
            # It ends when the call has returned that `cpu` is about, with a datagram of one byte.
            sent_s = self.sent.mean if self.sent else 0.0
            return max(0.0, self.latency.mean - sent_s - self.cpu.intercept)
        return self.wall.at(at) - self.cpu.at(at) / threads if self.wall else 0.0

    def total_s(self, threads: int) -> float:
        return self.cpu.at(self.place()) + max(0.0, self.wait_s(threads))

    def total_error_s(self, threads: int) -> float:
        """The standard error of `total_s`: with a wall time, cpu (1 - 1 / threads) + wall."""
        cpu_s = self.cpu.sampling_error(self.place())
        if self.wall:
            wall_s = self.wall.sampling_error(self.place())
            return math.hypot(cpu_s * (1 - 1 / threads), wall_s)
        waits = [wait.standard_error for wait in (self.latency, self.sent) if wait]
        return math.hypot(cpu_s, *waits)

    def lack_of_fit(self) -> float:
        return max(self.cpu.lack_of_fit, self.wall.lack_of_fit if self.wall else 0.0)

    def place(self) -> float:
        """The reference size, or the measured one nearest to it."""
        return float(np.clip(REFERENCE_BYTES, self.cpu.places.min(), self.cpu.places.max()))


def _look(source: Source, report: Report) -> _Look | None:
    cpu = _estimates(report, source.kernel, "cpu_s", source.variant)
    wall = _estimates(report, source.kernel, "wall_s", source.variant)
    # Without a CPU clock of its own, an operation that only computes takes its wall time.
    cpu = cpu or ({} if source.waits == "wall" else wall)
    if not cpu or (source.waits == "wall" and not wall):
        return None
    if source.opens:
        cpu = _less_opened(report, source, cpu)
    line = _line(cpu)
    if source.waits == "wall":
        return _Look(report, tuple(wall.values()), line, wall=_line(wall))
    if source.waits:
        latencies = _estimates(report, source.waits, "latency_s")
        if not latencies:
            return None
        (latency,) = latencies.values()
        sent = next(iter(_estimates(report, source.waits, "sent_s").values()), None)
        return _Look(report, tuple(cpu.values()), line, latency=latency, sent=sent)
    return _Look(report, tuple(cpu.values()), line)


def _estimates(
    report: Report, kernel: str, quantity: str, variant: Sequence[tuple[str, float]] = ()
) -> dict[float, Estimate]:
    """Return the estimates of a kernel's cases by their bytes, 0 for those without."""
    found = cases(report, kernel, quantity, variant)
    return {_size(case): estimate_of(case, quantity, report) for case in found}


def _size(case: Measurement) -> float:
    """Return the bytes that a profile counts: of a QUIC packet those of its datagram."""
    datagram = case.quantity("datagram_bytes")
    return datagram.median if datagram else case.parameters.get("bytes", 0.0)


def _less_opened(
    report: Report, source: Source, cpu: dict[float, Estimate]
) -> dict[float, Estimate]:
    """Return `cpu` without the opening of the datagrams that the operation began with."""
    opening = _estimates(report, source.opens, "cpu_s")
    found = cases(report, source.kernel, _OPENED, source.variant)
    if not opening or not found:
        return cpu
    line = _line(opening)
    opened_s, opened_error_s = line.at(_FLIGHT_BYTES), line.sampling_error(_FLIGHT_BYTES)
    numbers = {_size(case): samples.mean for case in found if (samples := case.quantity(_OPENED))}
    return {
        size: replace(
            spent,
            mean=max(_LEAST_S, spent.mean - numbers.get(size, 0.0) * opened_s),
            standard_error=math.hypot(
                spent.standard_error, numbers.get(size, 0.0) * opened_error_s
            ),
        )
        for size, spent in cpu.items()
    }


def _line(estimates: dict[float, Estimate]) -> Line:
    return line_through(np.array(list(estimates)), list(estimates.values()))


def _threads(looks: Sequence[_Look], cores: int) -> int:
    """Return the fewest threads whose CPU time fits into the wall time."""
    ratios = [look.cpu.at(look.place()) / look.wall.at(look.place()) for look in looks if look.wall]
    return min(cores, max(1, math.ceil(float(np.mean(ratios)) - _BY_CHANCE)))


def _standard_error_s(fixed_s: float, relative: float, total_s: float) -> float:
    """Return the profile's standard error: in proportion to the whole cost, as it is drawn.

    Where all of the cost is per byte, a draw adds a fixed part of that size.
    """
    return relative * (fixed_s or total_s)


def _spread(looks: Sequence[_Look]) -> float:
    """Return the sigma of the whole cost: of its parts by their shares, which vary on their own."""
    own = execution_sigma([one for look in looks for one in look.estimates])
    latencies = [look.latency for look in looks if look.latency]
    if not latencies:
        return own
    share = float(np.mean([look.wait_s(1) / look.total_s(1) for look in looks]))
    return math.hypot((1 - share) * own, share * execution_sigma(latencies))


def _source_text(source: Source, looks: Sequence[_Look], lack: float) -> str:
    waited = f" and {source.waits}" if source.waits not in {"", "wall"} else ""
    sizes = sorted(
        {f"{size:g}" for look in looks for size in look.cpu.places if size > 0}, key=float
    )
    measured = f" at {' '.join(sizes)} bytes" if sizes else ""
    left = f"; the line leaves {lack:.1%} over, which the standard error has" if lack else ""
    kernel = f"kernel {source.kernel}{waited}{measured}"
    return f"{named([look.report for look in looks])}; {kernel}: {source.why}{left}"


ERROR_DIGITS = 3
"""Significant digits of sigmas and standard errors."""

_SIZES = {"bytes", "requested_s"}
_OPENED = "opened_datagrams"
_FLIGHT_BYTES = 1200.0  # initial datagrams are padded to as much (RFC 9000, 14.1)
_DIGEST_DIGITS = 12  # of SHA-256: enough to find a report again
_LEAST_ERROR = 1e-4  # relative: quartz clocks are off by some 1e-5 to 1e-4
_LEAST_S = 1e-12  # of CPU time that a coarse clock does not see: a picosecond, for the arithmetic
_BY_CHANCE = 0.05  # CPU time may exceed the wall time of one thread by what timing them differs
