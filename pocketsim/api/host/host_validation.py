"""This host against its own simulation: measure it, calibrate it, trade on it, simulate the same.

What is compared and how is `calibration.host`'s; here probe reports become the profile
that both halves rest on, and files are written.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim import sim
from pocketsim.api.calibrate import calibrate_implementation, fitted
from pocketsim.api.host.host_prices import ReportPrices
from pocketsim.calibration.fit import probe_report
from pocketsim.calibration.fit.looks import cases
from pocketsim.calibration.fit.wakes import PRICED_REST_S, rested, waking_calls
from pocketsim.calibration.fit.write import write_profile
from pocketsim.calibration.host import computer, design, processes
from pocketsim.calibration.host.blocks import measure
from pocketsim.calibration.host.comparing import Comparison, Host
from pocketsim.calibration.host.measuring import Bench
from pocketsim.calibration.host.prediction import Documents
from pocketsim.calibration.host.tokens import comparing as token_comparing
from pocketsim.calibration.host.tokens import design as token_design
from pocketsim.calibration.host.tokens import measuring as token_measuring
from pocketsim.calibration.host.tokens import prediction as token_prediction
from pocketsim.calibration.inverse.journal import Journal
from pocketsim.sim.base.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pocketsim.api.host.second_device import OtherValidation
    from pocketsim.calibration.fit.probe_report import Measurement, Report
    from pocketsim.calibration.host.blocks import Measured
    from pocketsim.calibration.host.design import Effort, Point
    from pocketsim.calibration.host.tokens.comparing import TokenComparison
    from pocketsim.calibration.host.tokens.design import Batch
    from pocketsim.calibration.host.tokens.design import Effort as TokenEffort
    from pocketsim.calibration.host.tokens.measuring import Costs, Counter


@dataclass(frozen=True)
class HostValidation:
    """A comparison, and everything that it rests on as JSON has it."""

    comparison: Comparison
    tokens: TokenComparison
    is_judged: bool
    data: dict[str, Any]
    other: OtherValidation | None = None

    @property
    def cores_apart(self) -> list[str]:
        """The names of the reports in which the two cores shared no cache."""
        return [one["name"] for one in self.data["reports"] if one["cores_apart"]]

    @property
    def verdict(self) -> str:
        """`met` or `missed`; `not judged` of a quick look, or where cores shared no cache."""
        if not self.is_judged or self.cores_apart:
            return NOT_JUDGED
        met = [self.comparison.judgement.is_met, self.tokens.judgement.is_met]
        met += [self.other.is_met] if self.other else []
        return MET if all(met) else MISSED

    def as_json(self) -> str:
        """Return verdict, bars, rows and all raw figures as JSON, ending in a newline."""
        judgement = self.comparison.judgement
        rows = [
            {"point": row.point.name, "dropped": row.is_dropped, "errors": row.errors}
            for row in judgement.rows
        ]
        whole = {"schema": 3, "version": sim.__version__, "verdict": self.verdict}
        bars = [{**asdict(bar), "met": bar.is_met} for bar in judgement.bars]
        whole |= {"bars": bars, "rows": rows}
        whole |= {"discrepancies": judgement.discrepancies}
        whole |= {"tokens": self.tokens.as_json()}
        whole |= {"other": self.other.table()} if self.other else {}
        return json.dumps(plain({**whole, **self.data}), indent=1, allow_nan=False) + "\n"


MET, MISSED, NOT_JUDGED = "met", "missed", "not judged"


def validate_host(
    folder: Path,
    probe: Path,
    effort: Effort,
    jobs: int,
    told: Callable[[str], None],
) -> HostValidation:
    """Measure this host and compare it with its simulation; reports and journal go into `folder`.

    What the journal has of the same probe, host and effort is not measured again, nor is simulated
    again what depends on nothing else that has changed. `told` gets lines about how far it is.
    Raises EnvironmentMissingError where the probe, or a second core, does not do what it should.
    """
    cores = computer.cores(os.sched_getaffinity(0))
    host = computer.said(cores)
    digest = hashlib.sha256(probe.read_bytes()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    made_with = json.dumps([sim.__version__, digest, host, asdict(effort)])
    journal = Journal(folder / "host.journal", made_with)
    bench = Bench(probe, cores, effort, journal)
    files: dict[str, Path] = {}

    def report(name: str) -> None:
        files[name] = folder / f"report_{name}.json"
        whole = effort.is_judged or len(files) == 1
        bench.report(name, files[name], only=None if whole else "udp")
        told(f"probe run: {files[name]}")

    counter = token_measuring.Counter(probe, cores.dialler, token_measuring.places(folder), journal)
    counter.try_out()  # before three quarters of an hour of trades
    points = design.design(effort)
    measured = measure(bench, points, report, told)
    token_effort = token_design.FULL if effort.is_judged else token_design.QUICK
    batches, token_files = _batches(counter, token_effort, folder, told, is_judged=effort.is_judged)
    reports = [probe_report.load(file) for file in files.values()]
    token_reports = [probe_report.load(file) for file in token_files.values()]
    whole = list(files.values()) if effort.is_judged else list(files.values())[:1]
    # A scenario, which lies elsewhere, names the program's.
    device, program = folder / "profile.toml", folder.resolve() / "probe_here.toml"
    timed = [one for one in reports if one.path in whole]
    calibrate(whole, device, "this host")
    calibrate_implementation(whole, program, device=device)
    with tempfile.TemporaryDirectory(prefix="pocketsim-host-") as name:
        pinned, beside = (Path(name) / f"{one}.toml" for one in ("host", "beside_relay"))
        processes.of_a_process(device, pinned, waking_calls(timed), PRICED_REST_S)
        processes.beside_a_relay(pinned, beside)
        documents = Documents(pinned, beside, program)
        simulated = Host(documents, cores.relay_shares, effort, jobs, journal, told)
        comparison = simulated.compare(measured, lambda size: kernel_rtt_s(reports, size))
        prices = ReportPrices(token_reports)
        then = Path(name) / "then.toml"
        token_prediction.at_that_time(pinned, then, prices)
        rings = token_prediction.simulate(then, token_effort, jobs, journal, told)
        tokens = token_comparing.compare(batches, rings, prices, is_judged=effort.is_judged)
    data = {
        "host": host,
        "probe_sha256": digest,
        "effort": asdict(effort),
        "reports": [
            {**said(name, one), "kernel_rtt_s": kernel_rtt_s([one], _USUAL_BYTES)[0]}
            for name, one in zip(files, reports, strict=True)
        ],
        "token_reports": [
            said(name, one) for name, one in zip(token_files, token_reports, strict=True)
        ],
        "points": _raw(points, measured, comparison),
    }
    return HostValidation(comparison, tokens, effort.is_judged, data)


def kernel_rtt_s(reports: Sequence[Report], size_bytes: float) -> tuple[float, float]:
    """Return median and 95th percentile of a datagram's round trip, s, medians over reports.

    To a thread that sleeps on another core and back, as `udp_wake` is priced (one size); where no
    report has timed that, the echo of the nearest size, whose two threads may share a core. Raises
    EnvironmentMissingError where none has either.
    """
    woken = [case for report in reports if (case := rested(report)) and case.quantity("rtt_s")]
    known = woken or [
        min(echoes, key=lambda case: abs(case.parameters["bytes"] - size_bytes))
        for report in reports
        if (echoes := cases(report, "udp_round_trip", "rtt_s"))
    ]
    if not known:
        raise EnvironmentMissingError("no report of the probe has udp_wake_up or udp_round_trip")
    middle, late = zip(*map(_round_trip_s, known), strict=True)
    return median(middle), median(late)


def _round_trip_s(case: Measurement) -> tuple[float, float]:
    samples = case.quantity("rtt_s")
    assert samples is not None, "that is how it was chosen"
    every = samples.values or samples.quantiles or [samples.median]
    return samples.median, float(np.percentile(every, 95))


def _batches(
    counter: Counter,
    effort: TokenEffort,
    folder: Path,
    told: Callable[[str], None],
    *,
    is_judged: bool,
) -> tuple[dict[Batch, tuple[Costs, ...]], dict[str, Path]]:
    """Return what batches cost, and by name the reports before them and, if judged, after them."""
    files: dict[str, Path] = {}

    def report(name: str) -> None:
        files[name] = folder / f"report_{name}.json"
        counter.report(name, files[name])
        told(f"probe run: {files[name]}")

    report("tokens_before")
    batches = counter.measure(effort, told)
    if is_judged:
        report("tokens_after")
    return batches, files


def calibrate(files: Sequence[Path], profile: Path, name: str) -> None:
    """Write the profile of the device that reports are of.

    What spoiled them is in the profile, and counts.
    """
    # A shared or virtual machine spoils every report, and says so in the profile and in host.json.
    found = fitted(
        files,
        profile,
        None,
        name=name,
        measured_by="pocketsim validate host",
        store="file_append",
        allow_spoiled=True,
    )
    write_profile(found.profile_, profile)


def said(name: str, report: Report) -> dict[str, Any]:
    """Return what identifies a report, and what spoiled it, as JSON has it."""
    document = report.document
    return {
        "name": name,
        "file": report.path.name,
        "sha256": report.digest,
        "started_at": document.made.started_at,
        "spoiled": [f"{one.condition}: {one.detail}" for one in document.spoiled],
        "cores_apart": any(one.condition == "cores_apart" for one in document.spoiled),
        "frequencies_hz": document.conditions.after.frequencies_hz,
    }


def _raw(
    points: Sequence[Point], measured: Sequence[Measured], comparison: Comparison
) -> list[dict[str, Any]]:
    return [
        {
            **asdict(point),
            "capacity_per_s": one.capacity_per_s,
            "rate_per_s": one.rate_per_s,
            "repetitions": one.repetitions,
            "simulated": [figures.as_json() for figures in compared.simulated],
            "repeated": [figures.as_json() for figures in compared.repeated],
        }
        for point, one, compared in zip(points, measured, comparison.compared, strict=True)
    ]


def plain(value: Any) -> Any:
    """Return what JSON has for a value: tables of records, null of what is no number."""
    if hasattr(value, "__dataclass_fields__"):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


_USUAL_BYTES = 668.0  # a proposal of 100 B, as most kernels have it
