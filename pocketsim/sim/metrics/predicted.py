"""Where 90 of 100 runs of the real thing are expected, of runs with `draw = "posterior"`.

Repetitions of such a run differ by what is not known of its numbers and by chance. What the model
leaves out is in neither: its deviation is estimated for an implementation (`model_error` of its
profile), and is added to the range of the repetitions here, in logarithms, as squares. The bounds
are of one run, not of a mean of several. Without an estimate there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base.model_error import half_log, widened

if TYPE_CHECKING:
    from pocketsim.sim.scenario.resolved import Resolved

LOW, HIGH = "predicted90_low", "predicted90_high"


def beside(estimates: dict[str, Any], resolved: Resolved) -> dict[str, Any]:
    """Return the metrics of metrics.json, with the bounds of those whose model error is known.

    Values that no repetition defines have no bounds.
    """
    errors = resolved["implementation"].get("model_error", {})
    if resolved["run"]["draw"] != "posterior" or not errors:
        return estimates
    found = dict(estimates)
    for error in errors.values():
        if resolved["rung"]["transport"] not in error["transports"]:
            continue
        half = half_log(error["sigma"], error["degrees_of_freedom"])
        for name in error["metrics"]:
            if name in estimates:
                found[name] = estimates[name] | _bounds(estimates[name]["values"], half)
    return found


def _bounds(values: list[float | None], half: float) -> dict[str, float]:
    known = [value for value in values if value is not None]
    if len(known) < _FEWEST:
        return {}
    low, middle, high = np.quantile(known, _SHARES)
    return dict(zip((LOW, HIGH), map(float, widened(low, middle, high, half)), strict=True))


_SHARES = (0.05, 0.5, 0.95)
_FEWEST = 20
"""Repetitions: of fewer the 5 % quantile is between the two lowest values."""
