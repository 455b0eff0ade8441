"""What the probe says of what `probe tokens` does beside the machine of tokens.

Signatures lie on a line through what was measured, all else between the sizes that were; beyond the
largest it goes on as before. Of one size alone, all cost the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.calibration.fit.kernels import SOURCES
from pocketsim.calibration.fit.looks import cases, look
from pocketsim.calibration.host.tokens.design import MEMORY
from pocketsim.sim.base.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.lines import Line
    from pocketsim.calibration.fit.probe_report import Measurement, Report


@dataclass(frozen=True)
class ReportPrices:
    """Prices of a host, each the median over reports that have its kernel, s.

    All raise EnvironmentMissingError where nothing has it.
    """

    reports: Sequence[Report]

    def bookkeeping_s(self, kernel: str, tokens: int) -> float:
        """Return the time of what a command does in memory for so many tokens."""
        return self._on_medians(kernel, "cpu_s", "tokens", tokens)

    def sign_s(self, size_bytes: int) -> float:
        """Return the time of an Ed25519 signature of so many bytes."""
        return self._on_line("sign", size_bytes)

    def check_s(self, size_bytes: int) -> float:
        """Return the time that an Ed25519 signature of so many bytes takes to be checked."""
        return self._on_line("verify", size_bytes)

    def open_s(self, size_bytes: int) -> float:
        """Return the time of a file of so many bytes that is opened, read and closed.

        It is in the system's memory, wherever it is kept: it was written just before.
        """
        return self._on_medians("file_open_read", "wall_s", "bytes", size_bytes)

    def append_s(self, place: str, size_bytes: int) -> float:
        """Return the time of an append of so many bytes that reaches the disk or the memory."""
        return self._written_s(place, "file_append_fsync", size_bytes)

    def replace_s(self, place: str, size_bytes: int) -> float:
        """Return the time of a file of so many bytes that is put in the place of another."""
        return self._written_s(place, "file_replace_fsync", size_bytes)

    def create_s(self, place: str, size_bytes: int) -> float:
        """Return the time of a file of so many bytes that gets a name which no other has."""
        return self._written_s(place, "file_create_fsync", size_bytes)

    def destination_s(self) -> float:
        """Return the time in which a command finds out where its output goes."""
        return self._on_medians("output_destination", "cpu_s", None, 0)

    def _written_s(self, place: str, kernel: str, size_bytes: int) -> float:
        timed = f"memory_{kernel}" if place == MEMORY else kernel
        return self._on_medians(timed, "wall_s", "bytes", size_bytes)

    def _on_line(self, operation: str, size_bytes: int) -> float:
        kernel = SOURCES[operation].kernel
        known = [
            line.at(size_bytes) for report in self.reports if (line := _line(operation, report))
        ]
        return _median(known, kernel)

    def _on_medians(self, kernel: str, quantity: str, parameter: str | None, at: float) -> float:
        """Return the price between medians: one append is no mean of many.

        A kernel without a parameter costs the same anywhere.
        """
        found = []
        for report in self.reports:
            known = sorted(
                (case.parameters[parameter] if parameter else 0.0, _median_s(case, quantity))
                for case in cases(report, kernel, quantity)
            )
            if known:
                found.append(_between(known, at))
        return _median(found, kernel)


def _line(operation: str, report: Report) -> Line | None:
    found = look(SOURCES[operation], report)
    return found.cpu.line if found else None


def _median_s(case: Measurement, quantity: str) -> float:
    samples = case.quantity(quantity)
    assert samples is not None, "that is how it was chosen"
    return samples.median


def _between(known: Sequence[tuple[float, float]], at: float) -> float:
    """Return the time at a size between those that are known, or beyond the two largest."""
    sizes, times_s = zip(*known, strict=True)
    if at <= sizes[-1] or len(known) == 1:
        return float(np.interp(at, sizes, times_s))
    slope_s = (times_s[-1] - times_s[-2]) / (sizes[-1] - sizes[-2])
    return float(times_s[-1] + max(0.0, slope_s) * (at - sizes[-1]))


def _median(known: Sequence[float], kernel: str) -> float:
    if not known:
        raise EnvironmentMissingError(f"no report of the probe has {kernel}")
    return median(known)
