"""Custom metrics: functions that a scenario names, of the rows of one repetition."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base import custom_code
from pocketsim.sim.base.custom_code import Mistake
from pocketsim.sim.metrics import (
    battery,
    energy,
    family_metrics,
    per_phone,
    presence,
    queues,
    storage,
    trades,
)
from pocketsim.sim.trace.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from pocketsim.sim.scenario.resolved import Resolved


def names(resolved: Resolved) -> list[str]:
    """Return the names of a run's custom metrics: those of their functions."""
    return [own["function"].rpartition(":")[2] for own in resolved["output"]["metrics"]]


def measure(events: pa.Table, resolved: Resolved, files: Mapping[str, str]) -> dict[str, float]:
    """Return what the functions make of the events of one repetition; NaN for what is undefined.

    Each is called with the rows as columns and the resolved scenario. Raises ProtocolError where
    one fails, answers with no number, or is called as a metric that the run has without it.
    """
    asked = resolved["output"]["metrics"]
    if not asked:
        return {}
    columns, found = Columns.of(events), dict[str, float]()
    family = family_metrics.of(resolved).names(resolved)
    beside = (
        *energy.names(resolved),
        *battery.names(resolved),
        *presence.names(resolved),
        *per_phone.names(resolved),
        *queues.names(resolved),
        *storage.names(resolved),
    )
    taken = {*trades.OF_ALL, *family, *beside}
    for own, name in zip(asked, names(resolved), strict=True):
        function = custom_code.load(own["function"], own["digest"], files)
        try:
            _refuse(name, taken)
            # A copy: what one function does to it, neither others nor the run are to see.
            found[name] = _number(function(columns, copy.deepcopy(resolved)))
        except BaseException as error:  # of any kind: it is the user's
            raise custom_code.failed(Path(files[own["digest"]]), error, f", in {name}") from error
        taken.add(name)
    return found


def _refuse(name: str, taken: set[str]) -> None:
    if name in taken:
        raise Mistake(f"the run has a metric {name} already; call yours otherwise")


def _number(value: object) -> float:
    if isinstance(value, int | float | np.integer | np.floating):
        if math.isinf(value):
            raise Mistake("a metric must be finite; None is for what is undefined")
        return float(value)
    if value is None:
        return math.nan
    raise Mistake(f"a metric must be a number, or None, not {type(value).__name__} {value!r}")
