"""The device probe from Python: its report of this computer, real trades on it, and their logs.

How a trade's processes are started is `calibration.host.ends`', how a log is read
`sim.export.phone_logs`'. What does not live here: comparing many points, which is `pocketsim
validate host`.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

from pocketsim.sim.base.errors import EnvironmentMissingError, UserError, did_you_mean, nearest
from pocketsim.sim.base.files import at_home

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from pocketsim.sim.run.results import Estimate, Fates


class LogMetrics(TypedDict):
    """What metrics.json has that a log can tell, too; `fates` are those of each repetition."""

    schema: int
    scenario: str
    repetitions: int
    metrics: dict[str, Estimate]
    counts: Fates
    fates: list[Fates]


@dataclass(frozen=True, eq=False, repr=False)
class Trade:
    """A real trade, read from its log: of two phones, that of the one that proposes.

    `events` has a row for each event, with the columns that those of a `Run` have, `metrics` what
    metrics.json has of a run and a log can tell (docs/metrics.md).
    """

    path: Path
    events: pd.DataFrame
    metrics: LogMetrics

    def __repr__(self) -> str:
        """Return the log's name and how much is in it."""
        counts, repetitions = self.metrics["counts"], self.metrics["repetitions"]
        stored = f"{counts['stored']} of {counts['sent']} stored"
        return f"<trade {self.path.name}: {stored}, {repetitions} repetitions>"

    def values(self, metric: str) -> list[float | None]:
        """Return a metric of each repetition, None where it is undefined; docs/metrics.md.

        Raises UserError for one that a log does not have.
        """
        found = self.metrics["metrics"]
        if metric not in found:
            hint = did_you_mean(nearest(metric, found))
            raise UserError(f"{self.path} has no metric {metric!r}{hint}")
        return found[metric]["values"]


def read_trade(path: str | Path) -> Trade:
    """Return a real trade from its log: JSON Lines of the probe, or the benchmark app's CSV.

    Its figures are defined as those of simulations, as `pocketsim metrics` shows them. Raises
    ScenarioError for what is no log, with the first wrong line.

    >>> read_trade("no_such_log.jsonl")
    Traceback (most recent call last):
    pocketsim.sim.base.errors.ScenarioError: no_such_log.jsonl: no such file
    """
    from pocketsim.sim.export import phone_logs
    from pocketsim.sim.metrics import of_log

    log = at_home(path)
    events = phone_logs.read(log)
    measured = cast("LogMetrics", of_log(events, log.name))
    return Trade(log, events.to_pandas(), measured)


@dataclass(frozen=True)
class Probe:
    """The device probe, a program for this computer; `find_probe` returns it."""

    path: Path

    def run(
        self, path: str | Path, *, only: Iterable[str] = (), threads: int | None = None
    ) -> Path:
        """Measure this computer, quickly, write the probe's report (JSON), and return its path.

        Args:
            path: Of the report; a file that is there is replaced.
            only: Groups of kernels, as "udp", or kernels, as "ed25519_*"; all without.
            threads: At most so many at once; as many as there are cores without.

        It measures on the two cores that `trade` uses. Raises EnvironmentMissingError, a UserError,
        where the probe fails or there is one core alone.
        """
        from pocketsim.calibration.host import computer, measuring

        target = at_home(path)
        cores = computer.cores(os.sched_getaffinity(0))
        options = [option for name in only for option in ("--only", name)]
        options += [] if threads is None else ["--threads", str(threads)]
        measuring.run_probe(self.path, cores, target, options)
        return target

    def trade(
        self,
        path: str | Path,
        *,
        carrier: str = "udp",
        rate_per_s: float = 100.0,
        payload_bytes: int = 100,
        duration_s: float = 2.0,
        repetitions: int = 3,
    ) -> Trade:
        """Trade for real on this computer, write the log (JSON Lines), and return what is in it.

        Two processes of `probe trade`, each pinned to a core of its own, over the loopback; ports
        are free ones, and both have ended when this returns.

        Args:
            path: Of the log, which ends in .jsonl; a file that is there is replaced.
            carrier: udp, quic_keep, quic_reconnect or tftp.
            rate_per_s: Proposals a second, by the clock.
            payload_bytes: Of each proposal.
            duration_s: How long each repetition proposes.
            repetitions: How often, one after the other.

        Raises EnvironmentMissingError, a UserError, where the probe fails or there is one core
        alone.
        """
        from pocketsim.calibration.host import computer, ends

        log = at_home(path)
        if log.suffix != ".jsonl":
            raise UserError(f"{log}: a log of JSON Lines ends in .jsonl")
        cores = computer.cores(os.sched_getaffinity(0))
        asked = ends.Asked(carrier, rate_per_s, payload_bytes, duration_s, None)
        ends.repeated(self.path, cores, asked, repetitions, log)
        return read_trade(log)


def find_probe() -> Probe | None:
    """Return the device probe of this computer; None where none was built.

    It is build/bin/probe here or in the project, as `make probe` builds it, or `probe` on the path.
    A wheel has none.
    """
    try:
        return Probe(probe_file())
    except EnvironmentMissingError:
        return None


def probe_file(named: Path | None = None) -> Path:
    """Return the probe: what is named, or build/bin/probe here or in the project, or on the path.

    Raises EnvironmentMissingError with what builds one.
    """
    project = Path(__file__).resolve().parents[3]
    usual = [folder / "build/bin/probe" for folder in (Path(), project)]
    on_path = shutil.which("probe")
    tried = [at_home(named)] if named else [*usual, *([Path(on_path)] if on_path else [])]
    for path in tried:
        if path.is_file() and os.access(path, os.X_OK):
            return path.resolve()
    raise EnvironmentMissingError(f"no probe at {tried[0]}: `make probe` builds build/bin/probe")
