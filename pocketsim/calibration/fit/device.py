"""What reports say about the device beyond the cost of operations: its sleeps, cores and buffer."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit.costs import ERROR_DIGITS, between_error, named, rounded, seconds
from pocketsim.calibration.fit.lines import Line, combine
from pocketsim.calibration.fit.looks import cases, estimate_of, line_through
from pocketsim.sim.devices.draws import TICK_MAX_S
from pocketsim.sim.devices.profile import Policy, SleepOvershoot
from pocketsim.sim.devices.provenance import DurationNumber, PlainNumber

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.probe_report import Measurement, Report
    from pocketsim.calibration.fit.samples import Estimate

    Array = np.ndarray[Any, Any]
    Known = dict[str, Any]


def scheduling_policy(reports: Sequence[Report]) -> Policy | None:
    """Return how Linux gives a core to threads, by its version; None where that is not EEVDF.

    From 6.12 on, where a thread that falls asleep while it is ahead stays queued until it is not.
    """
    kernels = [report.document.device.kernel for report in reports]
    if min(map(_version, kernels)) < _EEVDF:
        return None
    return Policy(
        value="eevdf",
        basis="published",
        source=f"Linux {kernels[-1]}, of {named(reports)}: EEVDF with delayed dequeue since 6.12",
    )


def kernel_tick(reports: Sequence[Report]) -> DurationNumber | None:
    """Return what the kernel takes of a core every 4 ms; None unless all reports have timed it.

    The mean of their medians, by how much those differ, or of one report the samples. None, too,
    where it is none, or more than a kernel takes (`TICK_MAX_S`): then others had the core.
    """
    told = [
        samples
        for report in reports
        for case in cases(report, "kernel_tick", "cpu_s")
        if (samples := case.quantity("cpu_s"))
    ]
    if len(told) < len(reports):
        return None
    medians_s = np.array([samples.median for samples in told])
    value_s = float(medians_s.mean())
    if not 0 < value_s <= TICK_MAX_S:
        return None
    if len(told) > 1:
        error_s = float(medians_s.std(ddof=1)) / math.sqrt(len(told))
    else:
        every = told[0].values or told[0].quantiles or [value_s]
        low_s, high_s = np.percentile(every, [16, 84])  # a deviation below the median, and above
        error_s = _OF_A_MEDIAN * 0.5 * float(high_s - low_s) / math.sqrt(told[0].count)
    return DurationNumber.model_validate(
        {
            "value": seconds(value_s, ERROR_DIGITS),
            "standard_error": seconds(error_s, ERROR_DIGITS),
            "basis": "measured",
            "samples": sum(samples.count for samples in told),
            "source": f"{named(reports)}; kernel kernel_tick: what a thread that always computes "
            "loses within 4 ms",
        }
    )


def _version(kernel: str) -> tuple[int, ...]:
    """Return the first two numbers of a version of Linux; nothing that is no version."""
    found = re.match(r"(\d+)\.(\d+)", kernel)
    return tuple(map(int, found.groups())) if found else ()


def sleepers(reports: Sequence[Report]) -> list[Report]:
    """Return the reports that have slept; it takes two to tell how much repetitions differ."""
    return [report for report in reports if _sleeps(report)]


def sleep_overshoot(
    reports: Sequence[Report], base: SleepOvershoot | None
) -> SleepOvershoot | None:
    """Return the law base + slope * ln(interval / 1 ms), or None when no report has slept.

    One report cannot tell how much repetitions differ: that number is then `base`'s, or without a
    base 0, with an error as wide as the spread of single sleeps.
    """
    slept = sleepers(reports)
    return sleep_law([_sleeps(report) for report in slept], base, named(slept)) if slept else None


def sleep_law(
    found: Sequence[Mapping[float, Estimate]], base: SleepOvershoot | None, where: str
) -> SleepOvershoot:
    """Return the law of one or several looks: how much too long sleeps of so many seconds were.

    `where` says in words which looks those are; `base` is as for `sleep_overshoot`.
    """
    lines = [
        line_through(np.log(np.array(list(sleeps)) / _MILLISECOND_S), list(sleeps.values()))
        for sleeps in found
    ]
    sigmas = np.array([one.sample_sigma for sleeps in found for one in sleeps.values()])
    count = sum(one.samples for sleeps in found for one in sleeps.values())
    known = _measured(count, f"{where}; kernel sleep_overshoot: {_LAW}")
    if len(lines) > 1:
        between = _between(lines, known)
    elif base is not None:
        between = base.repetition_sigma
    else:
        source = f"{where}; one report does not tell how much repetitions differ"
        unknown = {"basis": "assumed", "samples": 0, "source": source}
        between = _plain(0.0, max(float(sigmas.mean()), _LEAST_SHARE), unknown)
    return SleepOvershoot(
        base=_duration(
            [line.intercept for line in lines], [_error(line, 0) for line in lines], known
        ),
        slope=_duration([line.slope for line in lines], [_error(line, 1) for line in lines], known),
        spread_sigma=_plain(float(sigmas.mean()), _scatter(sigmas, count), known),
        repetition_sigma=between,
    )


def cores(reports: Sequence[Report]) -> PlainNumber:
    """Return how many cores, each as fast as the one that operations were timed on, share work.

    A simulated phone's cores are all equal. Where a kernel ran on 1..n threads, it is the largest
    gain in rate that threads achieved, which slow cores, shared caches and heat hold below the
    number of cores; else it is that number.
    """
    count = core_count(reports)
    gains = [gain for report in reports for kernel in _LADDERS if (gain := _gain(report, kernel))]
    if not gains:
        source = f"{named(reports)}; the system counts {count}; no kernel ran on several threads"
        return _plain(float(count), 0.0, _measured(count, source))
    values, errors = np.array(gains).T
    mean = combine(values, errors)
    source = (
        f"{named(reports)}; kernels {' and '.join(_LADDERS)}: largest gain in rate of several "
        f"threads over one; the system counts {count}"
    )
    value = min(float(count), max(1.0, mean.value))
    return _plain(value, mean.standard_error, _measured(len(gains), source))


def core_count(reports: Sequence[Report]) -> int:
    """Return the number of cores that the system counts."""
    return max(1, *(len(report.document.device.cores) for report in reports))


def core_classes(reports: Sequence[Report]) -> dict[str, int]:
    """Return the cores by class as the system tells them; nothing where all are of one."""
    classes = Counter(str(core.core_class) for core in reports[-1].document.device.cores)
    return dict(sorted(classes.items())) if len(classes) > 1 else {}


def socket_buffer_bytes(reports: Sequence[Report]) -> int | None:
    """Return the receive buffer of a fresh socket as the kernel counts, if a report tells."""
    granted = [
        samples.median
        for report in reports
        for case in report.document.measurements
        if case.kernel == "udp_buffer_capacity" and case.parameters.get("buffer_bytes") == 0
        if (samples := case.quantity("granted_bytes"))
    ]
    return round(min(granted)) if granted else None


def _sleeps(report: Report) -> dict[float, Estimate]:
    """Return how much too long sleeps were, by what was asked for; shorter ones no workload has."""
    return {
        case.parameters["requested_s"]: estimate_of(case, "overshoot_s", report)
        for case in cases(report, "sleep_overshoot", "overshoot_s")
        if case.parameters.get("requested_s", 0) >= _MILLISECOND_S
    }


def _error(law: Line, term: int) -> float:
    """Return the standard error of base (0) or slope (1), lack of fit included."""
    lack = law.lack_of_fit * law.at(0.0)
    reach = max(1.0, float(np.ptp(law.places)))
    return math.hypot(law.free_errors[term], lack / (reach if term else 1.0))


def _duration(values: list[float], errors: list[float], known: Known) -> DurationNumber:
    least = max(*errors, _LEAST_S)
    mean = combine(np.array(values), np.maximum(errors, least * _LEAST_SHARE))
    error = seconds(mean.standard_error, ERROR_DIGITS)
    return DurationNumber.model_validate(
        known | {"value": seconds(mean.value), "standard_error": error}
    )


def _between(lines: list[Line], known: Known) -> PlainNumber:
    """Return what differs between reports, at a sleep in the midst of those that were measured."""
    place = float(np.median(lines[0].places))
    levels = np.array([line.at(place) for line in lines])
    mean = combine(levels, np.array([line.sampling_error(place) for line in lines]))
    sigma = mean.between_sigma()
    return _plain(sigma, between_error(mean, len(lines)), known | {"samples": len(lines)})


def _scatter(sigmas: Array, count: int) -> float:
    """Return the standard error of the mean sigma: of the cases, or of one sigma if larger."""
    among = float(np.std(sigmas, ddof=1)) / math.sqrt(sigmas.size) if sigmas.size > 1 else 0.0
    return max(among, float(sigmas.mean()) / math.sqrt(2 * count))


def _gain(report: Report, kernel: str) -> tuple[float, float] | None:
    """Return the largest rate over that of one thread, and its standard error."""
    ladder = [
        case
        for case in report.document.measurements
        if case.kernel == kernel and case.core_class is None and case.quantity("wall_s")
    ]
    alone = {
        _size(case): estimate_of(case, "wall_s", report) for case in ladder if case.threads == 1
    }
    gains = []
    for case in ladder:
        if case.threads > 1 and (one := alone.get(_size(case))):
            many = estimate_of(case, "wall_s", report)
            gain = case.threads * one.mean / many.mean
            gains.append((gain, gain * math.hypot(_relative(one), _relative(many))))
    return max(gains) if gains else None


def _size(case: Measurement) -> float:
    return case.parameters.get("bytes", 0.0)


def _relative(estimate: Estimate) -> float:
    return max(estimate.standard_error / estimate.mean, _LEAST_SHARE)


def _measured(samples: int, source: str) -> Known:
    return {"basis": "measured", "samples": samples, "source": source}


def _plain(value: float, standard_error: float, known: Known) -> PlainNumber:
    error = rounded(standard_error, ERROR_DIGITS)
    return PlainNumber.model_validate(known | {"value": rounded(value), "standard_error": error})


_LADDERS = ("ed25519_sign", "ed25519_verify")  # what a busy phone does most, on every core
_OF_A_MEDIAN = math.sqrt(math.pi / 2)  # times as uncertain as a mean, of normal samples
_EEVDF = (6, 12)
_LAW = "weighted least squares over the sleeps from 1 ms"
_MILLISECOND_S = 1e-3
_LEAST_S = 1e-9  # as the law is written: no sleep is timed better
_LEAST_SHARE = 1e-4  # relative: quartz clocks are off by some 1e-5 to 1e-4
