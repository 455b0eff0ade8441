"""By how much the costs of one device err together: what all that was measured has in common.

A warm day, a slow phase, other apps: what makes one operation slower in a round or a report makes
the others slower, too. So their costs are not known independently of each other, and a sum of them
is known less well than it seems. What does not live here: what is known of one cost alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit.costs import ERROR_DIGITS, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.fit.costs import Priced
    from pocketsim.sim.devices.profile import Cost

    Array = np.ndarray[Any, Any]

MEASURED = "measured together"
"""The common factor of costs that the same reports measured."""


def together(priced: Mapping[str, Priced | None]) -> dict[str, Cost | None]:
    """Return the costs, those that all reports measured with the factor that they have in common.

    Its share of the variance is the mean correlation between two of them, over reports or over the
    rounds of one; where that is not above 0 there is none.
    """
    costs = {key: found.cost if found else None for key, found in priced.items()}
    told = {key: found.deviations for key, found in priced.items() if found}
    names = max((tuple(each) for each in told.values()), key=len, default=())
    shared = [key for key, each in told.items() if tuple(each) == names and any(each.values())]
    ratio = _mean_correlation([list(told[key].values()) for key in shared])
    if ratio <= 0:
        return costs
    for key in shared:
        cost = costs[key]
        assert cost, "it has deviations"
        said = {"common_factor": MEASURED, "common_ratio": rounded(ratio, ERROR_DIGITS)}
        costs[key] = cost.model_copy(update=said)
    return costs


def _mean_correlation(deviations: Sequence[Sequence[float]]) -> float:
    """Return the mean correlation between two rows, of which there are several or it is 0."""
    number = len(deviations)
    if number < _FEWEST or len(deviations[0]) < _FEWEST:
        return 0.0
    rows = np.array(deviations)
    scaled: Array = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))
    summed = float((scaled.sum(axis=0) ** 2).sum())
    return (summed / number - 1) / (number - 1)


_FEWEST = 2
