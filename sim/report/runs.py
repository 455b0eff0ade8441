"""The runs of a report as they lie on disk, grouped the way that charts show them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibration import published
from sim import axes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Place = tuple[str, str, int, tuple[tuple[str, Any], ...]]


@dataclass(frozen=True)
class Run:
    """One run directory: a rung of a scenario, with all its repetitions."""

    path: Path
    scenario: str
    title: str
    transport: str
    rate_per_s: float
    payload_bytes: int
    axes: dict[str, Any]
    metrics: dict[str, Any]
    resolved: dict[str, Any]

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric over the repetitions; None where it is undefined."""
        mean: float | None = self.metrics["metrics"][metric]["mean"]
        return mean

    def ci95(self, metric: str) -> float:
        """Return half the interval of that mean; 0 where it is undefined."""
        of = self.metrics["metrics"][metric]
        low, high = of["ci95_low"], of["ci95_high"]
        return 0.0 if low is None or high is None else (high - low) / 2.0

    def values(self, metric: str) -> list[float]:
        """Return one value for each repetition; 0 where it is undefined."""
        return [value or 0.0 for value in self.metrics["metrics"][metric]["values"]]


@dataclass(frozen=True)
class Series:
    """Runs of one scenario, transport, payload and axes, in order of rate, and their rows."""

    scenario: str
    title: str
    transport: str
    payload_bytes: int
    axes: dict[str, Any]
    runs: tuple[Run, ...]
    rows: tuple[published.Row, ...]

    @property
    def name(self) -> str:
        """Transport, payload and axes in words."""
        parts = [transport_name(self.transport), f"{self.payload_bytes} B", axes.words(self.axes)]
        return ", ".join(part for part in parts if part)

    def published(self, metric: str, statistic: str = "") -> list[published.Row]:
        """Return the rows that a metric of this series answers, in order of rate."""
        found = [row for row in self.rows if row.target.metric == metric]
        found = [row for row in found if not statistic or row.target.statistic == statistic]
        return sorted(found, key=lambda row: (row.target.rate_min_per_s, row.run or 0))


def load(run_dirs: Iterable[Path]) -> list[Run]:
    """Return the runs by scenario, transport, payload, axes and rate, whatever the order given."""
    return sorted(
        (_run(Path(path)) for path in run_dirs), key=lambda of: (*_place(of), of.rate_per_s)
    )


def series(runs: Sequence[Run]) -> list[Series]:
    """Return `runs`, which are in order, as series."""
    rows = published.rows()
    found: dict[Place, list[Run]] = {}
    for run in runs:
        found.setdefault(_place(run), []).append(run)
    return [_series(of, rows) for of in found.values()]


def answers(run: Run, target: published.Target) -> bool:
    """Return whether a run is among those that answer a published row."""
    return (
        Path(target.scenario).stem == run.scenario
        and target.transport == run.transport
        and target.payload_bytes in {None, run.payload_bytes}
        and target.covers(run.axes)
    )


def is_of_trades(run: Run) -> bool:
    """Return whether what was run are trades, which have rates asked for and round trips."""
    return bool(run.resolved.get("protocol", {}).get("kind", "trustchain") == "trustchain")


def transport_name(transport: str) -> str:
    """Return a transport in words."""
    return published.TRANSPORTS.get(transport, transport)


def _place(run: Run) -> Place:
    return run.scenario, run.transport, run.payload_bytes, tuple(sorted(run.axes.items()))


def _series(of: Sequence[Run], rows: Iterable[published.Row]) -> Series:
    first = of[0]
    own = tuple(row for row in rows if answers(first, row.target))
    return Series(
        scenario=first.scenario,
        title=first.title,
        transport=first.transport,
        payload_bytes=first.payload_bytes,
        axes=first.axes,
        runs=tuple(of),
        rows=own,
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
        axes=rung.get("axes", {}),
        metrics=metrics,
        resolved=resolved,
    )
