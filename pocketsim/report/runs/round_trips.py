"""Round trips of a run: each of them, or a histogram where the run keeps no events.

Of a run with events, also the share of messages that is complete some time after they were sent.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pocketsim.sim import metrics
from pocketsim.sim.metrics import histograms
from pocketsim.sim.run import results
from pocketsim.sim.trace import histograms as trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pocketsim.report.runs.run import Run
    from pocketsim.sim.base.engine_output import Spread
    from pocketsim.sim.metrics.completion import Curve

    Milliseconds = np.ndarray[tuple[int], np.dtype[np.float64]]


class RoundTrips(Protocol):
    """Round trips of some repetitions."""

    @property
    def count(self) -> int:
        """How many there are."""

    def repetitions(self) -> Sequence[RoundTrips]:
        """Return those of each repetition."""

    def percentiles_ms(self, percents: Sequence[float] | Milliseconds) -> Milliseconds:
        """Return percentiles of all of them, in ms; there have to be some."""


@dataclass(frozen=True)
class _Each:
    parts_ms: tuple[Milliseconds, ...]

    @property
    def count(self) -> int:
        return sum(part.size for part in self.parts_ms)

    def repetitions(self) -> list[_Each]:
        return [_Each((part,)) for part in self.parts_ms]

    def percentiles_ms(self, percents: Sequence[float] | Milliseconds) -> Milliseconds:
        found: Milliseconds = np.percentile(np.concatenate(self.parts_ms), percents)
        return found


@dataclass(frozen=True)
class _Counted:
    parts: tuple[Spread, ...]

    @property
    def count(self) -> int:
        return sum(map(histograms.count, self.parts))

    def repetitions(self) -> list[_Counted]:
        return [_Counted((part,)) for part in self.parts]

    def percentiles_ms(self, percents: Sequence[float] | Milliseconds) -> Milliseconds:
        found: Milliseconds = 1e3 * histograms.percentiles_s(self.parts, percents)
        return found


def of_run(run: Run) -> RoundTrips:
    """Return the round trips of a run; within `quantile_error` where it keeps no events."""
    asked = run.resolved["run"]
    return _read(run.path, asked["duration_s"], asked["repetitions"])


def completions(run: Run) -> tuple[Curve, ...]:
    """Return the share done since the send in each repetition; nothing without events."""
    return _completions(run.path, run.resolved["run"]["duration_s"])


def about(runs: Sequence[Run]) -> str:
    """Return how sure quantiles are of runs that keep no events; empty where there are none."""
    error = max((run.metrics.get("quantile_error", 0.0) for run in runs), default=0.0)
    if not error:
        return ""
    return f"Quantiles of runs without events are from histograms, within {100 * error:.2g} %."


@functools.lru_cache(maxsize=64)  # each is shown twice
def _read(path: Path, duration_s: float, repetitions: int) -> RoundTrips:
    if not results.keeps_events(path):
        table = results.read_histograms(path)
        return _Counted(tuple(trace.spreads(table, "rtt", repetitions)))
    trips = metrics.round_trips(results.read_events(path), duration_s)
    return _Each(tuple(took_ms for _, took_ms in trips))


@functools.lru_cache(maxsize=64)
def _completions(path: Path, duration_s: float) -> tuple[Curve, ...]:
    if not results.keeps_events(path):
        return ()
    return tuple(metrics.completions(results.read_events(path), duration_s))
