"""How a metric is defined: its unit, its formula, and what it is in words.

The tables of each family stand beside what computes them; docs/metrics.md is made of them by
`python -m tools.reference`, and says what the symbols of the formulas are.
"""

from __future__ import annotations

from typing import NamedTuple


class Metric(NamedTuple):
    """A metric: `unit` is "1" for counts and ratios, `formula` is of one repetition."""

    unit: str
    formula: str
    meaning: str
