"""What the metrics room asks of a protocol family, and what the engine tells of a repetition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypedDict, cast

from sim.base import families

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sim.scenario.resolved import Output, Resolved
    from sim.trace.columns import Columns


class Told(TypedDict):
    """What the engine tells of one repetition beside its trace; empty where nothing was told.

    `counters` by name, `cpu_s` core seconds by operation over all phones, `kept_cents` what each
    token is worth that somebody signed over and kept, by serial, `energy_j` joules by component.
    """

    counters: Mapping[str, int]
    cpu_s: Mapping[str, float]
    kept_cents: Mapping[str, int]
    energy_j: Mapping[str, float]


NOTHING: Told = {"counters": {}, "cpu_s": {}, "kept_cents": {}, "energy_j": {}}


class Part(Protocol):
    """The metrics of a family beside those that all runs have (`sim.metrics.trades`).

    `RATIOS` lie between 0 and 1, `QUANTILES` are of what happened within a repetition.
    `TRANSACTION` is what energy is counted for, `COMPLETED` the metric that counts it.
    """

    RATIOS: tuple[str, ...]
    QUANTILES: tuple[str, ...]
    TRANSACTION: str | None
    COMPLETED: str

    def names(self, resolved: Resolved) -> tuple[str, ...]:
        """Return the names of the metrics."""

    def measure(self, part: Columns, told: Told, resolved: Resolved) -> dict[str, float]:
        """Return the metrics of one repetition; NaN for what it does not define."""

    def beside(self, parts: Sequence[Columns], resolved: Resolved) -> dict[str, Any]:
        """Return what metrics.json has of all repetitions beside metrics."""


def traced_share(output: Output) -> float:
    """Return the share of transactions that the trace of a run keeps: 1 unless it is sampled.

    What is kept hangs on the message alone: all rows of a transaction, or of a token, or none.
    """
    return output["sample_ratio"] if output["trace"] == "sampled" else 1.0


def of(resolved: Resolved) -> Part:
    """Return the part of a run's family."""
    return cast("Part", families.part(resolved["protocol"]["kind"], "metrics"))
