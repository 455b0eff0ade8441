"""Another device on this computer against both profiles: measure it, trade on it, simulate twice.

What is compared and how is `calibration.host.other`'s. This computer's profile comes from
a file: of the comparison that was just made (`host_validation`), or of an earlier one.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim import sim
from pocketsim.api.host import host_validation
from pocketsim.calibration.fit import probe_report
from pocketsim.calibration.host import computer, other, processes
from pocketsim.calibration.host.blocks import measure
from pocketsim.calibration.host.measuring import Bench
from pocketsim.calibration.host.prediction import Documents
from pocketsim.calibration.inverse.journal import Journal
from pocketsim.sim.devices.profile import load as load_device

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.calibration.host.blocks import Measured
    from pocketsim.calibration.host.design import Effort
    from pocketsim.calibration.host.other import OtherComparison


@dataclass(frozen=True)
class OtherValidation:
    """A comparison with another device, and everything that it rests on as JSON has it."""

    comparison: OtherComparison
    is_judged: bool
    data: dict[str, Any]

    @property
    def is_met(self) -> bool:
        """Whether every bar is."""
        return self.comparison.is_met

    @property
    def verdict(self) -> str:
        """`met`, `missed`, or `not judged` of a quick look."""
        if not self.is_judged:
            return host_validation.NOT_JUDGED
        return host_validation.MET if self.is_met else host_validation.MISSED

    def table(self) -> dict[str, Any]:
        """Return verdict, bars, rows and all raw figures, as JSON has them."""
        rows = [
            {"point": own.point.name, "own": own.errors, "foreign": foreign.errors}
            for own, foreign in self.comparison.rows
        ]
        bars = [{**asdict(bar), "met": bar.is_met} for bar in self.comparison.bars]
        whole = {"verdict": self.verdict, "bars": bars, "rows": rows, **self.data}
        plain: dict[str, Any] = host_validation.plain(whole)
        return plain

    def as_json(self) -> str:
        """Return the table as JSON, ending in a newline."""
        whole = {"schema": 2, "version": sim.__version__, **self.table()}
        return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def validate_other(
    folder: Path,
    probe: Path,
    foreign: Path,
    effort: Effort,
    jobs: int,
    told: Callable[[str], None],
) -> OtherValidation:
    """Measure the device that `probe` is on one core, and compare it with two simulations.

    `foreign` is this computer's profile. Reports, the other's profile and a journal go into
    `folder`; what the journal has is not measured or simulated again. Raises ScenarioError for a
    file that is no profile, EnvironmentMissingError where the probe does not do what it should.
    """
    load_device(foreign)  # before minutes of trades
    cores = other.one_core(computer.cores(os.sched_getaffinity(0)))
    host = computer.said(cores)
    digest = hashlib.sha256(probe.read_bytes()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(
        folder / "other.journal", json.dumps([sim.__version__, digest, host, asdict(effort)])
    )
    bench = Bench(probe, cores, effort, journal, slowness=other.SLOWNESS)
    files: list[Path] = []

    def report(name: str) -> None:
        # Two, as many as the profile needs to tell how they differ.
        if name in {"before", f"turn_{effort.repetitions}"}:
            files.append(folder / f"report_other_{name}.json")
            bench.report(f"other {name}", files[-1])
            told(f"probe run: {files[-1]}")

    measured = measure(bench, other.design(effort), report, told)
    reports = [probe_report.load(file) for file in files]
    profile = folder / "profile_other.toml"
    host_validation.calibrate(files, profile, "the other device")
    with tempfile.TemporaryDirectory(prefix="pocketsim-other-") as name:
        both = [Path(name) / "other.toml", Path(name) / "this.toml"]
        # On one core waking is a change of threads, which is in no call of the sender.
        for measured_one, pinned in zip((profile, foreign), both, strict=True):
            processes.of_a_process(measured_one, pinned)
        # What the program takes itself was measured with two cores alone: as it is described.
        documents = other.Profiles(*(Documents(one, one, Path("probe")) for one in both))
        comparison = other.compare(
            documents,
            measured,
            lambda size: host_validation.kernel_rtt_s(reports, size),
            effort,
            jobs,
            journal,
            told,
        )
    told_of = {"probe_sha256": digest, "core": cores.dialler, "host": host}
    told_of |= {"effort": asdict(effort), "reports": _said(files, reports)}
    told_of |= {"points": _raw(measured, comparison)}
    return OtherValidation(comparison, effort.is_judged, told_of)


def _said(files: Sequence[Path], reports: Sequence[Report]) -> list[dict[str, Any]]:
    names = [file.stem.removeprefix("report_") for file in files]
    return [host_validation.said(name, one) for name, one in zip(names, reports, strict=True)]


def _raw(measured: Sequence[Measured], comparison: OtherComparison) -> list[dict[str, Any]]:
    both = comparison.own.compared, comparison.foreign.compared
    return [
        {
            **asdict(one.point),
            "capacity_per_s": one.capacity_per_s,
            "rate_per_s": one.rate_per_s,
            "repetitions": one.repetitions,
            "simulated": [figures.as_json() for figures in own.simulated],
            "simulated_by_this_one": [figures.as_json() for figures in foreign.simulated],
        }
        for one, own, foreign in zip(measured, *both, strict=True)
    ]
