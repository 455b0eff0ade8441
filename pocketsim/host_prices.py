"""What the probe's reports say of what `probe tokens` does beside the machine of tokens.

All lie on a line through what was measured, by bytes or by a token's recipients, and beyond the
largest size go on along it; of one size alone, all cost the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.calibration.fit.kernels import SOURCES
from pocketsim.calibration.fit.looks import cases, estimate_of, line_through, look
from pocketsim.sim.base.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.probe_report import Measurement, Report
    from pocketsim.calibration.fit.samples import Estimate


@dataclass(frozen=True)
class ReportPrices:
    """Prices of a host, each the median over reports that have its kernel, s.

    All raise EnvironmentMissingError where no report has it.
    """

    reports: Sequence[Report]

    def hash_s(self, size_bytes: int) -> float:
        """Return the time of a SHA-256 of so many bytes."""
        return self._on_line("hash", size_bytes)

    def sign_s(self, size_bytes: int) -> float:
        """Return the time of an Ed25519 signature of so many bytes."""
        return self._on_line("sign", size_bytes)

    def check_s(self, size_bytes: int) -> float:
        """Return the time of an Ed25519 verification of so many bytes."""
        return self._on_line("verify", size_bytes)

    def encode_s(self, recipients: int) -> float:
        """Return the time of a token of so many recipients to bytes."""
        return self._on_medians("token_encode", "cpu_s", "recipients", recipients)

    def decode_s(self, recipients: int) -> float:
        """Return the time of a token of so many recipients from bytes."""
        return self._on_medians("token_decode", "cpu_s", "recipients", recipients)

    def sync_s(self, size_bytes: int) -> float:
        """Return the time of an append of so many bytes that reaches the disk."""
        return self._on_medians("file_append_fsync", "wall_s", "bytes", size_bytes)

    def _on_line(self, operation: str, size_bytes: int) -> float:
        source = SOURCES[operation]
        looks = [look(source, report) for report in self.reports]
        known = [one.cpu.line.at(size_bytes) for one in looks if one]
        return _median(known, source.kernel)

    def _on_medians(self, kernel: str, quantity: str, parameter: str, at: float) -> float:
        """Return the price on the lines through medians: one append is no mean of many."""
        found = []
        for report in self.reports:
            known = cases(report, kernel, quantity)
            if known:
                medians = [_at_median(case, quantity, report) for case in known]
                line = line_through(np.array([one.parameters[parameter] for one in known]), medians)
                found.append(line.at(at))
        return _median(found, kernel)


def _at_median(case: Measurement, quantity: str, report: Report) -> Estimate:
    samples = case.quantity(quantity)
    assert samples is not None, "that is how it was chosen"
    return replace(estimate_of(case, quantity, report), mean=samples.median)


def _median(known: Sequence[float], kernel: str) -> float:
    if not known:
        raise EnvironmentMissingError(f"no report of the probe has {kernel}")
    return median(known)
