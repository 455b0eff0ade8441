"""How likely counts of outcomes are, given how often each came up in simulated repetitions.

A few published runs that stall, break or complete are one draw of counts. The shares of outcomes
that a simulation has are known as well as its repetitions tell: their posterior is a Dirichlet law
(Jeffreys' prior, half a count for each outcome), and counts of n runs drawn from it follow the
Dirichlet-multinomial law. A p-value is the probability of all counts that are no likelier than the
published ones. Nothing here knows what an outcome is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Counts = Sequence[int]


def predictive(simulated: Counts, n: int) -> dict[tuple[int, ...], float]:
    """Return the probability of every vector of counts of `n` runs, after `simulated` ones."""
    from scipy import stats

    vectors = list(_vectors(n, len(simulated)))
    law = stats.dirichlet_multinomial([count + _JEFFREYS for count in simulated], n)
    return dict(zip(vectors, law.pmf(vectors).tolist(), strict=True))


def p_value(published: Counts, simulated: Counts) -> float:
    """Return the probability of counts that are no likelier than `published`."""
    law = predictive(simulated, sum(published))
    seen = law[tuple(published)] * (1 + _SAME)
    return min(1.0, sum(chance for chance in law.values() if chance <= seen))


def joint_p_value(pairs: Sequence[tuple[Counts, Counts]]) -> float:
    """Return the probability that counts of all rungs together are no likelier than published.

    `pairs` are the published and the simulated counts of each rung, which are independent. The law
    of the product of their probabilities is exact but for rounding its logarithm to 0.01.
    """
    law, seen = np.ones(1), 0
    for published, simulated in pairs:
        chances = predictive(simulated, sum(published))
        steps = {counts: round(-math.log(chance) / _STEP) for counts, chance in chances.items()}
        own = np.zeros(max(steps.values()) + 1)
        for counts, chance in chances.items():
            own[steps[counts]] += chance
        law = np.convolve(law, own)
        seen += steps[tuple(published)]
    return min(1.0, float(law[seen:].sum()))


def _vectors(n: int, kinds: int) -> Iterator[tuple[int, ...]]:
    if kinds == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in _vectors(n - first, kinds - 1):
            yield (first, *rest)


_JEFFREYS = 0.5
_SAME = 1e-9  # equal probabilities that rounding parts
_STEP = 0.01
