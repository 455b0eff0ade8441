"""The runs of a report as they lie on disk, grouped the way that charts show them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibration import published

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Run:
    """One run directory: a rung of a scenario, with all its repetitions."""

    path: Path
    scenario: str
    title: str
    transport: str
    rate_per_s: float
    payload_bytes: int
    metrics: dict[str, Any]
    resolved: dict[str, Any]

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric over the repetitions; None where it is undefined."""
        mean: float | None = self.metrics["metrics"][metric]["mean"]
        return mean

    def ci95(self, metric: str) -> float:
        """Return half the interval of that mean; 0 where it is undefined."""
        return self.metrics["metrics"][metric]["ci95"] or 0.0

    def values(self, metric: str) -> list[float]:
        """Return one value for each repetition; 0 where it is undefined."""
        return [value or 0.0 for value in self.metrics["metrics"][metric]["values"]]


@dataclass(frozen=True)
class Series:
    """Runs of one scenario, transport and payload, in order of rate, and their published rows."""

    scenario: str
    title: str
    transport: str
    payload_bytes: int
    runs: tuple[Run, ...]
    rows: tuple[published.Row, ...]

    @property
    def name(self) -> str:
        """Transport and payload in words."""
        return f"{transport_name(self.transport)}, {self.payload_bytes} B"

    def published(self, metric: str, statistic: str = "") -> list[published.Row]:
        """Return the rows that a metric of this series answers, in order of rate."""
        found = [row for row in self.rows if row.target.metric == metric]
        found = [row for row in found if not statistic or row.target.statistic == statistic]
        return sorted(found, key=lambda row: (row.target.rate_min_per_s, row.run or 0))


def load(run_dirs: Iterable[Path]) -> list[Run]:
    """Return the runs by scenario, transport, payload and rate, whatever the order given."""
    runs = [_run(Path(path)) for path in run_dirs]
    return sorted(runs, key=lambda of: (of.scenario, of.transport, of.payload_bytes, of.rate_per_s))


def series(runs: Sequence[Run]) -> list[Series]:
    """Return `runs`, which are in order, as series."""
    rows = published.rows()
    found: dict[tuple[str, str, int], list[Run]] = {}
    for run in runs:
        found.setdefault((run.scenario, run.transport, run.payload_bytes), []).append(run)
    return [
        Series(scenario, of[0].title, transport, payload, tuple(of), _rows(rows, key))
        for key, of in found.items()
        for scenario, transport, payload in (key,)
    ]


def transport_name(transport: str) -> str:
    """Return a transport in words."""
    return published.TRANSPORTS.get(transport, transport)


def _rows(rows: Iterable[published.Row], key: tuple[str, str, int]) -> tuple[published.Row, ...]:
    scenario, transport, payload_bytes = key
    return tuple(
        row
        for row in rows
        if Path(row.target.scenario).stem == scenario
        and row.target.transport == transport
        and row.target.payload_bytes in {None, payload_bytes}
    )


def _run(path: Path) -> Run:
    metrics = json.loads((path / "metrics.json").read_text(encoding="utf-8"))
    resolved = json.loads((path / "resolved.json").read_text(encoding="utf-8"))
    rung = metrics["rung"]
    return Run(
        path=path,
        scenario=resolved["scenario"],
        title=resolved["title"],
        transport=rung["transport"],
        rate_per_s=float(rung["rate_per_s"]),
        payload_bytes=int(rung["payload_bytes"]),
        metrics=metrics,
        resolved=resolved,
    )
