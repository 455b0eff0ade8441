"""The metrics of a protocol family: what its module in this folder must have."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, cast

from pocketsim.sim.base.families import family

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import (
        Resolved,
    )
    from pocketsim.sim.scenario.resolved_measures import Output
    from pocketsim.sim.trace.columns import Columns


class FamilyMetrics(Protocol):
    """The metrics of a family beside those that all runs have (`sim.metrics.trades`).

    `RATIOS` lie between 0 and 1: by name, what counts the trials that each is a share of, or None
    where it is 0 or 1 of each repetition. `QUANTILES` are of what happened within a repetition,
    `COUNTS` are whole numbers that chance may change.
    `TRANSACTION` is what energy is counted for, `COMPLETED` the metric that counts it.
    """

    RATIOS: Mapping[str, str | None]
    QUANTILES: tuple[str, ...]
    COUNTS: tuple[str, ...]
    TRANSACTION: str | None
    COMPLETED: str

    def names(self, resolved: Resolved) -> tuple[str, ...]:
        """Return the names of the metrics."""

    def measure(self, part: Columns, output: EngineOutput, resolved: Resolved) -> dict[str, Any]:
        """Return the metrics of one repetition; NaN for what it does not define.

        Beside them there may be what intervals need: the counts of `RATIOS`, and the
        `pooled.Sample` that quantiles are of, by their name without what follows `_p`.
        """

    def beside(self, parts: Sequence[Columns], resolved: Resolved) -> dict[str, Any]:
        """Return what metrics.json has of all repetitions beside metrics."""

    def of_ledger(self, output: EngineOutput, resolved: Resolved) -> dict[str, Any]:
        """Return what `measure` does, of a run without events: where a family has a ledger."""

    def beside_of_ledger(self, outputs: Sequence[EngineOutput]) -> dict[str, Any]:
        """Return what `beside` does, of such a run."""


def traced_share(output: Output) -> float:
    """Return the share of transactions that the trace of a run keeps: 1 unless it is sampled.

    What is kept hangs on the message alone: all rows of a transaction, or of a token, or none.
    """
    return output["sample_ratio"] if output["trace"] == "sampled" else 1.0


def of(resolved: Resolved) -> FamilyMetrics:
    """Return the metrics of a run's family."""
    names = ("trades", family(resolved["protocol"]["kind"]).module)
    usual, own = (importlib.import_module(f"{__package__}.{name}") for name in names)
    return cast("FamilyMetrics", SimpleNamespace(**(vars(usual) | vars(own))))
